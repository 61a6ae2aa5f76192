/** Looks at the states of agents again and again, as the `rota` command would, and keeps what changed and when. */
import { setTimeout } from "node:timers/promises";
import type { ScheduleState } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import type { Witness } from "./witness.js";

/** A state that was there in every look from the first to the last. */
export interface SeenState {
  readonly agent: string;
  readonly schedule: string;
  readonly state: ScheduleState;
  /** Just before the first look that saw it, by the database's clock. */
  readonly firstMs: number;
  /** Just before the last look that saw it: then it was still to come to an end. */
  lastMs: number;
}

const PAUSE_MS = 20;

export class StateWatch implements AsyncDisposable {
  /** In the order in which they were seen. */
  readonly seen: SeenState[] = [];
  /** When each look began, by the database's clock. */
  readonly looks: number[] = [];
  readonly #latest = new Map<string, SeenState>();
  readonly #witness: Witness;
  readonly #store: PostgresStore;
  readonly #agents: readonly string[];
  #isOver = false;
  readonly #looking: Promise<void>;

  constructor(witness: Witness, store: PostgresStore, agents: readonly string[]) {
    this.#witness = witness;
    this.#store = store;
    this.#agents = agents;
    this.#looking = this.#look();
  }

  /** The state of a schedule as it was last seen. */
  latest(agent: string, schedule: string): SeenState | undefined {
    return this.#latest.get(`${agent}/${schedule}`);
  }

  /** Looks once more, and then never again. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#store.close();
  }

  async #look(): Promise<void> {
    for (let isLast = false; !isLast;) {
      isLast = this.#isOver;
      try {
        const atMs = await this.#witness.now();
        const states = await Promise.all(this.#agents.map((agent) => this.#store.list(agent)));
        for (const [index, agent] of this.#agents.entries())
          for (const [schedule, state] of states[index] ?? []) this.#note(agent, schedule, state, atMs);
        this.looks.push(atMs);
      } catch {
        // The database may be away; who watches has time.
      }
      await setTimeout(PAUSE_MS);
    }
  }

  #note(agent: string, schedule: string, state: ScheduleState, atMs: number): void {
    const name = `${agent}/${schedule}`;
    const before = this.#latest.get(name);
    if (before !== undefined && JSON.stringify(before.state) === JSON.stringify(state)) {
      before.lastMs = atMs;
      return;
    }
    const seen = { agent, schedule, state, firstMs: atMs, lastMs: atMs };
    this.#latest.set(name, seen);
    this.seen.push(seen);
  }
}

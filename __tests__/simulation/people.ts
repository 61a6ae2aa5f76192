/** What people do with one of several schedulers, at any moment: by hand, and each told what came of it. */
import type { ScheduleKey } from "../../src/state/store.js";
import { isStatus } from "./acknowledged.js";
import type { Dice } from "./dice.js";
import type { SharedGuarantees, SimulatedNode } from "./shared-guarantees.js";
import type { SimulatedJobs } from "./simulated-jobs.js";
import type { KnownState } from "./stores.js";
import type { World } from "./world.js";

export interface PeopleOptions {
  readonly world: World;
  readonly dice: Dice;
  readonly jobs: SimulatedJobs;
  readonly guarantees: SharedGuarantees;
}

export class People {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #jobs: SimulatedJobs;
  readonly #guarantees: SharedGuarantees;

  constructor({ world, dice, jobs, guarantees }: PeopleOptions) {
    this.#world = world;
    this.#dice = dice;
    this.#jobs = jobs;
    this.#guarantees = guarantees;
  }

  trigger(node: SimulatedNode): void {
    const key = this.#anyKey(node);
    if (key === undefined) return;
    const { scheduler, clock } = node;
    const triggered = async (): Promise<void> => {
      const { success, jobId = "", skipReason, error } = await scheduler.trigger(key.agent, key.schedule);
      const isStarted = this.#jobs.find(jobId) !== undefined;
      if (success !== isStarted && !clock.isDead)
        this.#world.fail("a trigger answers what it did", `${success}, started: ${isStarted}`);
      this.#world.note(`${node.name}: triggered: ${success} ${skipReason ?? ""} ${error ?? ""}`);
    };
    this.watch(node, `trigger ${key.agent}/${key.schedule}`, triggered(), () => {});
  }

  control(node: SimulatedNode): void {
    const key = this.#anyKey(node);
    if (key === undefined) return;
    const dice = this.#dice;
    const { agent, schedule } = key;
    const name = `${agent}/${schedule}`;
    const { scheduler } = node;
    const { acknowledged } = this.#guarantees;
    const kind = dice.pick(["pause", "resume", "disable", "enable", "enable"] as const);
    const field = kind === "pause" || kind === "resume" ? "paused_until" : "status";
    const until = new Date(this.#world.clock.wallMs + dice.whole(-1_000, 30_000));
    const text = until.toISOString();
    const holds =
      field === "status"
        ? isStatus(kind === "disable" ? "disabled" : "idle")
        : (state: KnownState) =>
            [kind === "pause" ? text : null, "9999-12-31T23:59:59.999Z"].includes(state.paused_until ?? null);
    const tell = acknowledged.begin(name, field, `${kind} ${text}`, holds);
    const call =
      kind === "pause" ? scheduler.pause(agent, schedule, until) : scheduler[kind](agent, schedule);
    this.watch(node, `${kind} ${name}`, call, tell);
  }

  #anyKey({ fleet }: SimulatedNode): ScheduleKey | undefined {
    const keys = fleet.flatMap(({ name, schedules }) =>
      Object.keys(schedules).map((schedule) => ({ agent: name, schedule })),
    );
    return keys.length === 0 ? undefined : this.#dice.pick(keys);
  }

  /** Follows a call that nobody waits for. */
  watch(
    { name, clock }: SimulatedNode,
    what: string,
    call: Promise<unknown>,
    tell: (outcome: "done" | "failed" | "refused") => void,
  ): void {
    const end = (outcome: "done" | "failed" | "refused", why: string): void => {
      this.#world.note(`${name}: ${what}: ${outcome}${why}`);
      if (!clock.isDead) tell(outcome);
    };
    call.then(
      () => end("done", ""),
      (error: unknown) => {
        const code = error instanceof Error && "code" in error ? error.code : undefined;
        const isRefused = code === "NOT_RUNNING" || code === "UNKNOWN_SCHEDULE";
        end(isRefused ? "refused" : "failed", `, ${error instanceof Error ? error.message : String(error)}`);
      },
    );
  }
}

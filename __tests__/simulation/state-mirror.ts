/**
 * What a shared store holds, read anew after every statement, so that the guarantees see each change at the moment it is
 * made and know who made it. Who may end a claim is asked here: its holder, or anybody once its lease has ended.
 */
import { isDeepStrictEqual } from "node:util";
import type { PostgresStore } from "../../src/state/postgres/postgres-store.js";
import type { ScheduleKey } from "../../src/state/store.js";
import { EVERY_KEY } from "./random-fleet.js";
import type { DefinedCapacity, KnownState, StateWitness } from "./stores.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

interface HeldClaim {
  readonly key: ScheduleKey;
  readonly holder: ProcessClock;
  /** Its lease lasts at least from here, on the monotonic clock. */
  renewedMs: number;
}

interface Sender {
  readonly by: ProcessClock;
  readonly sentMs: number;
}

interface Mirrored {
  readonly key: ScheduleKey;
  state: KnownState;
  isKnown: boolean;
}

export interface StateMirrorOptions {
  /** One that is not open, and so only reads. */
  readonly observer: PostgresStore;
  readonly world: World;
  readonly witness: Pick<StateWitness, "changed">;
}

export class StateMirror {
  readonly #options: StateMirrorOptions;
  readonly #states: readonly Mirrored[];
  readonly #byName = new Map<string, Mirrored>();
  readonly #held = new Map<string, HeldClaim>();
  /** Who has ended which claim. */
  readonly #endedBy = new Map<string, ProcessClock>();
  /** When a statement of a process was last carried out. */
  readonly #lastSignMs = new Map<ProcessClock, number>();
  /** What each agent may have, as far as it is written; several while that changes. */
  readonly #capacities = new Map<string, Set<number>>();

  constructor(options: StateMirrorOptions) {
    this.#options = options;
    this.#states = EVERY_KEY.map((key) => ({ key, state: {}, isKnown: false }));
    for (const mirrored of this.#states) this.#byName.set(nameOf(mirrored.key), mirrored);
  }

  /** Reads what there is now: what is another than before was changed by this process. */
  readonly look = async (by: ProcessClock, sentMs: number): Promise<{ readonly hasClaimed: boolean }> => {
    const { observer, world } = this.#options;
    this.#lastSignMs.set(by, world.nowMs);
    const defined = await observer.define({ schedules: EVERY_KEY });
    let hasClaimed = false;
    for (const [index, mirrored] of this.#states.entries()) {
      const after = defined[index]?.state ?? {};
      const before = mirrored.state;
      if (isDeepStrictEqual(before, after)) continue;
      mirrored.state = after;
      mirrored.isKnown = true;
      hasClaimed = this.#noteClaim({ by, sentMs }, mirrored.key, before, after) || hasClaimed;
      this.#options.witness.changed(mirrored.key, before, after);
    }
    return { hasClaimed };
  };

  *keys(): Iterable<ScheduleKey> {
    for (const { key, isKnown } of this.#states) if (isKnown) yield key;
  }

  stateOf(key: ScheduleKey): KnownState {
    return this.#byName.get(nameOf(key))?.state ?? {};
  }

  /** Who holds the claim of a schedule. */
  holderOf(key: ScheduleKey): ProcessClock | undefined {
    return this.#held.get(this.stateOf(key).claim?.token ?? "")?.holder;
  }

  /** For how long a process has not renewed its claim of a schedule; 0 when it has none. */
  heldMs(key: ScheduleKey, holder: ProcessClock): number {
    const held = this.#held.get(this.stateOf(key).claim?.token ?? "");
    return held?.holder === holder ? this.#options.world.nowMs - held.renewedMs : 0;
  }

  /** A process says that it ended this claim. */
  hasEnded(token: string, by: ProcessClock): boolean {
    return this.#endedBy.get(token) === by;
  }

  /** A claim was renewed, which began at this time. */
  renewed(token: string, beganMs: number): void {
    const held = this.#held.get(token);
    if (held !== undefined) held.renewedMs = Math.max(held.renewedMs, beganMs);
  }

  /** A process begins to say what its agents may have; what it returns is to be called when that is written. */
  defining(definitions: readonly DefinedCapacity[]): () => void {
    const given = new Map(definitions.map(({ agent, maxConcurrent }) => [agent, maxConcurrent]));
    for (const [agent, capacity] of given) {
      const known = this.#capacities.get(agent) ?? new Set([1]);
      this.#capacities.set(agent, known.add(capacity));
    }
    return () => {
      for (const [agent, capacity] of given) this.#capacities.set(agent, new Set([capacity]));
    };
  }

  /**
   * Who does not renew loses its claims within its lease and two checks, where somebody else was there to see that:
   * since `seenMs`.
   */
  checkLeases(seenMs: number): void {
    const { world } = this.#options;
    for (const { key, holder } of this.#held.values()) {
      // It may have renewed with its last statement, and not later.
      const endsMs = (this.#lastSignMs.get(holder) ?? 0) + world.leaseMs;
      const lateMs = world.nowMs - Math.max(endsMs, seenMs) - 2 * world.checkMs;
      if (lateMs > 0)
        world.fail("a dead node's slot is free in time", `${nameOf(key)} is held for ${lateMs} ms too long`);
    }
  }

  /** How many more claims an agent may have. */
  roomOf(agent: string): number {
    let room = Math.min(...(this.#capacities.get(agent) ?? [1]));
    for (const { key } of this.#held.values()) if (key.agent === agent) room--;
    return room;
  }

  #noteClaim({ by, sentMs }: Sender, key: ScheduleKey, before: KnownState, after: KnownState): boolean {
    const ended = before.claim?.token;
    const claimed = after.claim?.token;
    if (ended === claimed) return false;
    if (ended !== undefined) this.#noteEnd(by, ended);
    if (claimed === undefined) return false;
    const { world } = this.#options;
    if (this.#endedBy.has(claimed) || this.#held.has(claimed))
      world.fail("one live claim", `${nameOf(key)} has a token that was used before`);
    this.#held.set(claimed, { key, holder: by, renewedMs: sentMs });
    const running = [...this.#held.values()].filter((held) => held.key.agent === key.agent).length;
    const capacity = Math.max(...(this.#capacities.get(key.agent) ?? [1]));
    if (running > capacity)
      world.fail("capacity of an agent", `${nameOf(key)}: ${running} claims, ${capacity} allowed`);
    return true;
  }

  #noteEnd(by: ProcessClock, token: string): void {
    const { world } = this.#options;
    const held = this.#held.get(token);
    this.#held.delete(token);
    this.#endedBy.set(token, by);
    if (held === undefined || held.holder === by) return;
    const leftMs = held.renewedMs + world.leaseMs - world.nowMs;
    // Leases count in whole milliseconds.
    if (leftMs >= 1)
      world.fail(
        "one live claim",
        `that of ${nameOf(held.key)} was ended by another, ${leftMs} ms too early`,
      );
  }
}

export function nameOf({ agent, schedule }: ScheduleKey): string {
  return `${agent}/${schedule}`;
}

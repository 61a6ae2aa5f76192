/**
 * The queue of due schedules and the claims that are held, in the memory of the store that owns the states: claims are
 * made, renewed and ended here, within every agent's capacity. The store makes durable what is decided here.
 */
import type { Clock } from "../../clock.js";
import { claimableMs, claimRefusal } from "../claim-rules.js";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleState } from "../schedule-state.js";
import type { ClaimRefusal, ClaimToken, Definitions, ScheduleKey, SkippedSlot } from "../store.js";
import { DueOrder } from "./due-order.js";
import { Leases, type TakenClaim } from "./leases.js";
import { NewClaims } from "./new-claims.js";
import {
  hasCapacity,
  type QueueClaim,
  isOlder,
  newEntry,
  type QueueAgent,
  type QueueEntry,
  skip,
} from "./queue-entry.js";

export interface TakenSlots {
  /** Claims that are still to be made durable. */
  readonly claims: readonly TakenClaim[];
  readonly skipped: readonly SkippedSlot[];
  /** Claims whose lease had ended: their slots are free to be claimed again. */
  readonly expired: readonly TakenClaim[];
}

/** One call of `take` under way. */
interface Taking {
  readonly now: Date;
  /** The same on the monotonic clock. */
  readonly takenMs: number;
  readonly limit: number;
  readonly claims: TakenClaim[];
}

export class ClaimQueue {
  readonly #clock: Clock;
  #entries = new ScheduleMap<QueueEntry>();
  readonly #held: Leases<QueueClaim>;
  #order = new DueOrder();
  readonly #newClaims: NewClaims;

  constructor(clock: Clock, leaseMs: number, newJobId: (at: Date) => string) {
    this.#clock = clock;
    this.#held = new Leases(clock, leaseMs);
    this.#newClaims = new NewClaims(newJobId);
  }

  /** Replaces all definitions and returns the schedules that are defined no longer. */
  define(
    { agents: capacities = [], schedules }: Definitions,
    stateOf: (key: ScheduleKey) => Partial<ScheduleState>,
  ): ScheduleKey[] {
    const before = this.#entries;
    this.#entries = new ScheduleMap();
    this.#order = new DueOrder();
    const capacityOf = new Map(capacities.map(({ agent, maxConcurrent = 1 }) => [agent, maxConcurrent]));
    const agents = new Map<string, QueueAgent>();
    for (const { agent } of this.#held.values()) {
      agent.line = undefined;
      agent.place = -1;
      agents.set(agent.name, agent);
    }
    for (const [order, key] of schedules.entries()) {
      const { agent: name, schedule } = key;
      const agent = agents.get(name) ?? { name, capacity: 0, running: 0, line: undefined, place: -1 };
      agent.capacity = capacityOf.get(name) ?? 1;
      agents.set(name, agent);
      this.#entries.set(key, newEntry(agent, schedule, order, before.get(key)));
    }
    for (const held of this.#held.values()) {
      held.entry = this.#entries.get(held.claim);
      if (held.entry !== undefined) held.entry.heldBy = held;
    }
    for (const entry of this.#entries.values()) this.#note(entry, stateOf(keyOf(entry)));
    return Array.from(before.values(), keyOf).filter((key) => !this.isDefined(key));
  }

  isDefined(key: ScheduleKey): boolean {
    return this.#entries.get(key) !== undefined;
  }

  /** To be called with a schedule's new state, which decides whether and when it is due. */
  note(key: ScheduleKey, state: Partial<ScheduleState>): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#note(entry, state);
  }

  /** Due slots become claims, oldest first, as far as capacity and `limit` allow. Leases count as of `askedMs`. */
  take(limit: number, askedMs: number = this.#clock.monotonic()): TakenSlots {
    const now = this.#clock.now();
    const nowMs = now.getTime();
    const expired = this.#endLeases(askedMs);
    const taking: Taking = { now, takenMs: this.#clock.monotonic(), limit, claims: [] };
    const lined: QueueEntry[] = [];
    for (let due = this.#order.first; due !== undefined && due.dueMs <= nowMs; due = this.#order.first) {
      this.#takeWaiting(taking, due);
      const isNew = due.seenMs === undefined;
      due.seenMs ??= nowMs;
      if (hasRoom(taking) && hasCapacity(due.agent)) {
        this.#claim(due, taking);
      } else {
        this.#order.remove(due);
        this.#order.lineUp(due);
        if (isNew) lined.push(due);
      }
    }
    this.#takeWaiting(taking);
    const waiting = lined.filter(({ standsIn }) => standsIn === "line");
    return { claims: taking.claims, skipped: waiting.flatMap((entry) => skip(entry, nowMs)), expired };
  }

  /** Whether a claim with this token is held. */
  isHeld(token: string): boolean {
    return this.#held.has(token);
  }

  /** Claims one schedule, whatever the time; `undefined` when it is not defined. */
  takeOne(key: ScheduleKey): TakenClaim | ClaimRefusal | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { agent, state, heldBy } = entry;
    const isAtCapacity = !hasCapacity(agent);
    const refusal = claimRefusal({ state, isRunning: heldBy !== undefined, isAtCapacity });
    if (refusal !== undefined) return refusal;
    const now = this.#clock.now();
    const claim = this.#newClaims.make(
      entry,
      { seenAt: now, claimedAt: now },
      { slot: now, source: "manual" },
    );
    this.#hold(entry, claim);
    return claim;
  }

  renew(claim: ClaimToken): boolean {
    return this.#held.renew(claim);
  }

  find(claim: ClaimToken): QueueClaim | undefined {
    return this.#held.find(claim);
  }

  /** Ends a claim that is held; its schedule is due again as `state` says. */
  end(claim: ClaimToken, state: Partial<ScheduleState>): void {
    const held = this.#held.find(claim);
    if (held === undefined) return;
    const { agent, entry } = held;
    this.#held.delete(claim);
    agent.running--;
    this.#order.noteCapacity(agent);
    if (entry === undefined) return;
    entry.heldBy = undefined;
    this.#note(entry, state);
  }

  /** Ends all claims that were made before ownership was taken again. */
  endAll(): void {
    for (const { claim } of this.#held.values()) this.#putBack(claim);
  }

  /** When the next slot comes due that does not wait for capacity or for a limit. */
  nextDueMs(): number | undefined {
    return this.#order.first?.dueMs;
  }

  #note(entry: QueueEntry, state: Partial<ScheduleState>): void {
    if (state.next_run_at !== entry.state.next_run_at) entry.seenMs = undefined;
    entry.state = state;
    const dueMs = entry.heldBy === undefined ? claimableMs(state) : undefined;
    this.#order.remove(entry);
    if (dueMs === undefined) return;
    entry.dueMs = dueMs;
    this.#order.place(entry);
  }

  /** Claims waiting entries whose agent has capacity, as long as they are older than `due`. */
  #takeWaiting(taking: Taking, due?: QueueEntry): void {
    while (hasRoom(taking)) {
      const first = this.#order.firstReady;
      if (first === undefined || (due !== undefined && isOlder(due, first))) return;
      this.#claim(first, taking);
    }
  }

  #claim(entry: QueueEntry, { now, takenMs, claims }: Taking): void {
    const { seenMs = now.getTime() } = entry;
    // Never later than now, also where the clock was set back meanwhile: that would be lateness.
    const seenAt = seenMs >= now.getTime() ? now : new Date(seenMs);
    const claim = this.#newClaims.make(entry, { seenAt, claimedAt: now });
    claims.push(claim);
    this.#hold(entry, claim, takenMs);
  }

  #hold(entry: QueueEntry, claim: TakenClaim, takenMs?: number): void {
    const { agent } = entry;
    const held = { claim, agent, entry, leaseEndsMs: Infinity, ending: undefined, triedState: undefined };
    this.#order.remove(entry);
    entry.heldBy = held;
    this.#held.add(held, takenMs);
    agent.running++;
    this.#order.noteCapacity(agent);
  }

  #putBack(claim: ClaimToken): void {
    this.end(claim, this.#held.find(claim)?.entry?.state ?? {});
  }

  #endLeases(nowMs: number): TakenClaim[] {
    const expired = this.#held.expired(nowMs);
    for (const { claim } of expired) this.#putBack(claim);
    return expired.map(({ claim }) => claim);
  }
}

function keyOf({ agent, schedule }: QueueEntry): ScheduleKey {
  return { agent: agent.name, schedule };
}

function hasRoom({ claims, limit }: Taking): boolean {
  return claims.length < limit;
}

/**
 * Who runs what, and what may run next: claims are taken here, reserved, renewed and ended, within every agent's capacity.
 * Kept in memory by the store that owns the schedules; what it decides, the store makes durable.
 */
import type { Clock } from "../../clock.js";
import {
  type Agent,
  confirmReservation,
  type Entry,
  hasCapacity,
  isOlder,
  keyOf,
  type LivingClaim,
  newEntry,
  skip,
  withinCapacity,
} from "./queue-entry.js";
import { claimableMs, claimRefusal } from "../claim-rules.js";
import { DueOrder } from "./due-order.js";
import { Leases, type TakenClaim } from "./leases.js";
import { NewClaims } from "./new-claims.js";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleState } from "../schedule-state.js";
import type {
  Claim,
  ClaimRefusal,
  ClaimToken,
  ScheduleDefinition,
  ScheduleKey,
  SkippedSlot,
} from "../store.js";

export interface TakenSlots {
  /** Those that were reserved: durable already. */
  readonly ready: readonly Claim[];
  /** Those that are to be made durable. None while others are ready, which need not wait for that. */
  readonly claims: readonly TakenClaim[];
  readonly skipped: readonly SkippedSlot[];
  /** Claims whose lease had ended, which others have now replaced or may replace. */
  readonly expired: readonly TakenClaim[];
  /** Slots that were reserved and have to wait all the same. */
  readonly withdrawn: readonly ScheduleKey[];
}

/** What a look at all that is due finds. */
interface Look {
  readonly now: Date;
  /** The same on the monotonic clock. */
  readonly takenMs: number;
  readonly limit: number;
  readonly ready: Claim[];
  readonly claims: TakenClaim[];
}

export class ClaimBook {
  readonly #clock: Clock;
  #entries = new ScheduleMap<Entry>();
  readonly #living: Leases<LivingClaim>;
  #order = new DueOrder();
  readonly #newClaims: NewClaims;

  constructor(clock: Clock, leaseMs: number, newJobId: (at: Date) => string) {
    this.#clock = clock;
    this.#living = new Leases(clock, leaseMs);
    this.#newClaims = new NewClaims(newJobId);
  }

  /** Replaces all definitions. `stateOf` tells what is known of each schedule. */
  define(
    definitions: readonly ScheduleDefinition[],
    stateOf: (key: ScheduleKey) => Partial<ScheduleState>,
  ): void {
    const before = this.#entries;
    this.#entries = new ScheduleMap();
    this.#order = new DueOrder();
    const agents = new Map<string, Agent>();
    for (const { agent } of this.#living.values()) {
      agent.line = undefined;
      agent.place = -1;
      agents.set(agent.name, agent);
    }
    for (const [order, definition] of definitions.entries()) {
      const { agent: name, schedule, maxConcurrent = 1 } = definition;
      const agent = agents.get(name) ?? { name, capacity: 0, running: 0, line: undefined, place: -1 };
      agent.capacity = maxConcurrent;
      agents.set(name, agent);
      this.#entries.set(definition, newEntry(agent, schedule, order, before.get(definition)));
    }
    for (const living of this.#living.values()) {
      living.entry = this.#entries.get(living.claim);
      if (living.entry !== undefined) living.entry.heldBy = living;
    }
    for (const entry of this.#entries.values())
      this.#note(entry, stateOf({ agent: entry.agent.name, schedule: entry.schedule }));
  }

  /** Takes note of a schedule's state, which decides whether and when it is due. */
  note(key: ScheduleKey, state: Partial<ScheduleState>): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#note(entry, state);
  }

  /** Due slots become claims, oldest first, as far as capacity and `limit` allow. Leases count as of `askedMs`. */
  take(limit: number, askedMs: number = this.#clock.monotonic()): TakenSlots {
    const now = this.#clock.now();
    const nowMs = now.getTime();
    const expired = this.#endLeases(askedMs);
    const look: Look = { now, takenMs: this.#clock.monotonic(), limit, ready: [], claims: [] };
    const lined: Entry[] = [];
    for (let due = this.#order.first; due !== undefined && due.dueMs <= nowMs; due = this.#order.first) {
      this.#takeWaiting(look, due);
      const isNew = due.seenMs === undefined;
      due.seenMs ??= nowMs;
      if (hasRoom(look) && hasCapacity(due.agent)) {
        this.#claim(due, look);
      } else {
        this.#order.remove(due);
        this.#order.lineUp(due);
        if (isNew) lined.push(due);
      }
    }
    this.#takeWaiting(look);
    const waiting = lined.filter(({ standsIn }) => standsIn === "line");
    const withdrawn = waiting.filter(({ reserved }) => reserved !== undefined).map(keyOf);
    for (const key of withdrawn) this.withdraw(key);
    const { ready } = look;
    if (ready.length > 0) for (const claim of look.claims) this.#putBack(claim);
    const claims = ready.length > 0 ? [] : look.claims;
    return { ready, claims, skipped: waiting.flatMap((entry) => skip(entry, nowMs)), expired, withdrawn };
  }

  /**
   * Reserves slots that come due within `aheadMs`, oldest first, as far as capacity and `limit` would allow now. Others may
   * still be claimed before them.
   */
  reserve(limit: number, aheadMs: number): TakenClaim[] {
    const nowMs = this.#clock.now().getTime();
    const chosen = withinCapacity(this.#order.until(nowMs + aheadMs), limit).filter(
      ({ reserved, dueMs }) => reserved === undefined && dueMs > nowMs,
    );
    const claims = chosen.map((entry) => this.#reserve(entry));
    this.#order.placeReserved(chosen);
    return claims;
  }

  /** Whether a slot that was reserved is still to be: its reservation has not been withdrawn. */
  isReserved(claim: ClaimToken): boolean {
    return this.#entries.get(claim)?.reserved?.claim.token === claim.token;
  }

  /** Ends a reservation, if there is one: the slot is as any other then. */
  withdraw(key: ScheduleKey): void {
    const entry = this.#entries.get(key);
    if (entry?.reserved === undefined) return;
    entry.reserved = undefined;
    if (entry.standsIn !== "reserved") return;
    this.#order.remove(entry);
    this.#order.place(entry);
  }

  /** Whether any claim is held, whose lease may end. */
  get hasClaims(): boolean {
    return this.#living.size > 0;
  }

  /** Whether a job runs under this token, so that a state which names it tells the truth. */
  isHeld(token: string): boolean {
    return this.#living.has(token);
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
    this.#hold(entry, { claim, agent, entry, leaseEndsMs: Infinity, isEnding: false });
    return claim;
  }

  renew(claim: ClaimToken): boolean {
    return this.#living.renew(claim);
  }

  /** Whether the claim is held, and its end not on the way already. If so, its lease lasts until `end` or `keep`. */
  beginEnd(claim: ClaimToken): boolean {
    return this.#living.beginEnd(claim);
  }

  /** Takes `beginEnd` back. */
  keep(claim: ClaimToken): void {
    this.#living.keep(claim);
  }

  /** Ends a claim that is held; its schedule is due again as `state` says. */
  end(claim: ClaimToken, state: Partial<ScheduleState>): void {
    const living = this.#living.find(claim);
    if (living === undefined) return;
    const { agent, entry } = living;
    this.#living.delete(claim);
    agent.running--;
    this.#order.noteCapacity(agent);
    if (entry === undefined) return;
    entry.heldBy = undefined;
    this.#note(entry, state);
  }

  /** Ends what was claimed before ownership was taken again. */
  endAll(): void {
    for (const { claim } of this.#living.values()) this.#putBack(claim);
  }

  /**
   * When something can be claimed: a line that moves counts by its oldest slot, one at capacity not at all. What stands in
   * the queue has never been looked at; what stands in a line was when it was due at `lookedMs`.
   */
  nextDueMs(lookedMs: number = -Infinity): number | undefined {
    const queuedMs = this.#order.first?.dueMs;
    const linedMs = this.#order.firstReady?.dueMs;
    const isUnseen = linedMs !== undefined && linedMs > lookedMs;
    const known = [queuedMs, isUnseen ? linedMs : undefined].filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  #note(entry: Entry, state: Partial<ScheduleState>): void {
    if (state.next_run_at !== entry.state.next_run_at) entry.seenMs = undefined;
    entry.state = state;
    const dueMs = entry.heldBy === undefined ? claimableMs(state) : undefined;
    if (confirmReservation(entry, dueMs)) return;
    entry.reserved = undefined;
    this.#order.remove(entry);
    if (dueMs === undefined) return;
    entry.dueMs = dueMs;
    this.#order.place(entry);
  }

  /** Claims those in the lines who may run and are older than `due`, or all who may. */
  #takeWaiting(look: Look, due?: Entry): void {
    while (hasRoom(look)) {
      const first = this.#order.firstReady;
      if (first === undefined || (due !== undefined && isOlder(due, first))) return;
      this.#claim(first, look);
    }
  }

  #claim(entry: Entry, { now, takenMs, ready, claims }: Look): void {
    const { agent, reserved, seenMs = now.getTime() } = entry;
    // Never later than now, also where the clock was set back meanwhile: that would be lateness.
    const seenAt = seenMs >= now.getTime() ? now : new Date(seenMs);
    if (reserved?.isDurable === true) {
      reserved.claim.seenAt = seenAt;
      reserved.claim.claimedAt = now;
      ready.push(reserved.claim);
      return this.#hold(entry, reserved, takenMs);
    }
    const claim = this.#newClaims.make(entry, { seenAt, claimedAt: now });
    claims.push(claim);
    this.#hold(entry, { claim, agent, entry, leaseEndsMs: Infinity, isEnding: false }, takenMs);
  }

  #reserve(entry: Entry): TakenClaim {
    const { agent } = entry;
    const claim = this.#newClaims.make(entry);
    entry.reserved = { claim, agent, entry, leaseEndsMs: Infinity, isEnding: false, isDurable: false };
    return claim;
  }

  #hold(entry: Entry, living: LivingClaim, takenMs?: number): void {
    const { agent } = entry;
    this.#order.remove(entry);
    entry.reserved = undefined;
    entry.heldBy = living;
    this.#living.add(living, takenMs);
    agent.running++;
    this.#order.noteCapacity(agent);
  }

  #putBack(claim: ClaimToken): void {
    this.end(claim, this.#living.find(claim)?.entry?.state ?? {});
  }

  #endLeases(nowMs: number): TakenClaim[] {
    const expired = this.#living.expired(nowMs);
    for (const { claim } of expired) this.#putBack(claim);
    return expired.map(({ claim }) => claim);
  }
}

function hasRoom({ ready, claims, limit }: Look): boolean {
  return ready.length + claims.length < limit;
}

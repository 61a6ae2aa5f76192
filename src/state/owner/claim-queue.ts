/**
 * The queue of due schedules and the claims that are held, in the memory of the store that owns the states: claims are
 * made, renewed and ended here, within every agent's capacity. The store makes durable what is decided here.
 */
import type { Clock } from "../../clock.js";
import { isoTimeMs } from "../../iso-time.js";
import { randomToken } from "../../random.js";
import { backfillSlot, claimableMs, claimRefusal } from "../claim-rules.js";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleState } from "../schedule-state.js";
import type { Claim, ClaimRefusal, ClaimToken, Definitions, ScheduleKey, SkippedSlot } from "../store.js";
import { NO_FIELDS } from "../validate-state.js";
import { DueOrder, hasCapacity, isOlder, type QueueAgent, type QueueEntry } from "./due-order.js";

/** A claim that is still to be recorded, with the state by which it was taken. */
export interface TakenClaim extends Omit<Claim, "state"> {
  readonly state: Partial<ScheduleState>;
}

/** A claim that is held, until it ends or its lease does. */
export interface HeldClaim {
  readonly claim: TakenClaim;
  readonly agent: QueueAgent;
  /** `undefined` while its schedule is not defined. */
  entry: QueueEntry | undefined;
  /** When its lease ends unless it is renewed, on the monotonic clock. */
  leaseEndsMs: number;
  /** Resolves when the end of the claim is written or that has failed; its lease lasts until then. */
  ending: Promise<unknown> | undefined;
  /** Whether a write of its end has failed, which may have taken effect all the same. */
  mayHaveEnded: boolean;
}

export interface TakenSlots {
  /** Claims that are still to be made durable. */
  readonly claims: readonly TakenClaim[];
  readonly skipped: readonly SkippedSlot[];
  /** Claims whose lease had ended: their slots are free to be claimed again. */
  readonly expired: readonly TakenClaim[];
  /** When the next slot comes due that does not wait for capacity or for a limit. */
  readonly nextDueAt: Date | undefined;
}

export class ClaimQueue {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #newJobId: (at: Date) => string;
  #entries = new ScheduleMap<QueueEntry>();
  #order = new DueOrder();
  /** By token. */
  readonly #held = new Map<string, HeldClaim>();
  /** What all tokens of this queue begin with, so that no other queue makes the same ones. */
  readonly #tokenPrefix = `claim-${randomToken()}-`;
  #tokenCount = 0;
  /** No lease ends before this. */
  #firstLeaseEndMs = Infinity;
  /** One object for all slots that are due at the same time. */
  #latestSlot = new Date(Number.NaN);

  constructor(clock: Clock, leaseMs: number, newJobId: (at: Date) => string) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#newJobId = newJobId;
  }

  /** Replaces all definitions and returns the schedules that are defined no longer. `heldUntil`: of an agent's pause. */
  define(
    { agents: capacities = [], schedules }: Definitions,
    stateOf: (key: ScheduleKey) => Partial<ScheduleState>,
    heldUntil: (agent: string) => number = () => -Infinity,
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
      const agent = agents.get(name) ?? newAgent(name, heldUntil(name));
      agent.capacity = capacityOf.get(name) ?? 1;
      agents.set(name, agent);
      this.#entries.set(key, newEntry(agent, schedule, order, before.get(key)));
    }
    for (const held of this.#held.values()) {
      held.entry = this.#entries.get(held.claim);
      if (held.entry !== undefined) held.entry.heldBy = held;
    }
    for (const entry of this.#entries.values()) {
      const key = keyOf(entry);
      this.note(key, stateOf(key));
    }
    return Array.from(before.values(), keyOf).filter((key) => !this.isDefined(key));
  }

  isDefined(key: ScheduleKey): boolean {
    return this.#entries.get(key) !== undefined;
  }

  /** To be called with a schedule's new state, which decides whether and when it is due. */
  note(key: ScheduleKey, state: Partial<ScheduleState>): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (state.next_run_at !== entry.state.next_run_at) entry.seenMs = undefined;
    entry.state = state;
    this.#place(entry);
  }

  /** To be called when an agent was paused, until a time or for good, or when its pause was ended. */
  hold(name: string, heldUntilMs: number): void {
    const nowMs = this.#clock.now().getTime();
    for (const agent of this.#agentsNamed(name)) {
      if (agent.heldUntilMs === heldUntilMs) continue;
      // A pause that has ended by itself ended then.
      if (heldUntilMs === -Infinity) agent.resumedMs = Math.min(agent.heldUntilMs, nowMs);
      agent.heldUntilMs = heldUntilMs;
    }
    for (const entry of this.#entries.values()) {
      if (entry.agent.name !== name) continue;
      // What was seen due waits for the end of the pause now, and is late then.
      if (heldUntilMs > nowMs) entry.seenMs = undefined;
      this.#place(entry);
    }
  }

  /** Due slots become claims, oldest first, as far as capacity and `limit` allow. Leases count as of `askedMs`. */
  take(limit: number, askedMs: number = this.#clock.monotonic()): TakenSlots {
    const now = this.#clock.now();
    const nowMs = now.getTime();
    const expired = askedMs < this.#firstLeaseEndMs ? [] : this.#endLeases(askedMs);
    const leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    const claims: TakenClaim[] = [];
    const lined: QueueEntry[] = [];
    for (;;) {
      const hasRoom = claims.length < limit;
      const first = this.#order.first;
      const due = first !== undefined && first.dueMs <= nowMs ? first : undefined;
      const waiting = hasRoom ? this.#order.firstReady : undefined;
      if (waiting !== undefined && (due === undefined || !isOlder(due, waiting))) {
        claims.push(this.#claim(waiting, now, leaseEndsMs));
      } else if (due === undefined) {
        break;
      } else {
        const isNew = due.seenMs === undefined;
        due.seenMs ??= nowMs;
        if (hasRoom && hasCapacity(due.agent)) claims.push(this.#claim(due, now, leaseEndsMs));
        else {
          this.#order.remove(due);
          this.#order.lineUp(due);
          if (isNew) lined.push(due);
        }
      }
    }
    const isFull = claims.length >= limit;
    const skipped = lined.flatMap((entry) => (entry.standsIn === "line" ? skip(entry, nowMs, isFull) : []));
    // Right after taking: what is due by now was taken, or waits.
    const next = this.#order.first;
    return { claims, skipped, expired, nextDueAt: next === undefined ? undefined : new Date(next.dueMs) };
  }

  /** The ids of the jobs whose claims are held. */
  *jobIds(): Iterable<string> {
    for (const { claim } of this.#held.values()) yield claim.jobId;
  }

  /** Whether a claim with this token is held. */
  isHeld(token: string): boolean {
    return this.#held.has(token);
  }

  /** Claims one schedule, whatever the time; `undefined` when it is not defined. `jobId`: drawn by the caller. */
  takeOne(key: ScheduleKey, jobId?: string): TakenClaim | ClaimRefusal | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { agent, state, heldBy } = entry;
    const isAtCapacity = !hasCapacity(agent);
    const refusal = claimRefusal({ state, isRunning: heldBy !== undefined, isAtCapacity });
    if (refusal !== undefined) return refusal;
    const now = this.#clock.now();
    const leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    return this.#hold(entry, now, "manual", now, now, leaseEndsMs, jobId);
  }

  renew(claim: ClaimToken): boolean {
    const held = this.find(claim);
    if (held === undefined) return false;
    held.leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    return true;
  }

  /** The claim with this token, if it is one of this schedule. */
  find({ token, agent, schedule }: ClaimToken): HeldClaim | undefined {
    const held = this.#held.get(token);
    return held?.claim.agent === agent && held.claim.schedule === schedule ? held : undefined;
  }

  /** Ends a claim that is held; its schedule is due again as its state says. */
  end(claim: ClaimToken): void {
    const held = this.find(claim);
    if (held === undefined) return;
    const { agent, entry } = held;
    this.#held.delete(held.claim.token);
    agent.running--;
    this.#order.noteCapacity(agent);
    if (entry === undefined) return;
    entry.heldBy = undefined;
    this.#place(entry);
  }

  /** Ends all claims that were made before ownership was taken again. */
  endAll(): void {
    for (const { claim } of this.#held.values()) this.end(claim);
  }

  /** Of an agent whose schedules were all removed, a held claim knows it still. */
  *#agentsNamed(name: string): Iterable<QueueAgent> {
    const found = new Set<QueueAgent>();
    for (const { agent } of this.#entries.values()) if (agent.name === name) found.add(agent);
    for (const { agent } of this.#held.values()) if (agent.name === name) found.add(agent);
    yield* found;
  }

  /** Puts an entry where its state, its claim and the pause of its agent say. */
  #place(entry: QueueEntry): void {
    const dueMs = entry.heldBy === undefined ? claimableMs(entry.state) : undefined;
    this.#order.remove(entry);
    const { heldUntilMs } = entry.agent;
    if (dueMs === undefined || heldUntilMs === Infinity) return;
    entry.dueMs = Math.max(dueMs, heldUntilMs);
    this.#order.place(entry);
  }

  #claim(entry: QueueEntry, now: Date, leaseEndsMs: number): TakenClaim {
    const { state, dueMs, seenMs = now.getTime() } = entry;
    // The planned time, also where a pause has put the run off.
    const past = state.retry?.slot ?? (state.backfill == null ? undefined : backfillSlot(state));
    const { heldUntilMs, resumedMs } = entry.agent;
    const isPut = state.paused_until != null || heldUntilMs !== -Infinity;
    const slotMs = isoTimeMs(past ?? (isPut ? state.next_run_at : undefined)) ?? dueMs;
    if (this.#latestSlot.getTime() !== slotMs) this.#latestSlot = new Date(slotMs);
    // Never later than now, also where the clock was set back meanwhile: that would be lateness.
    const seenAt = seenMs >= now.getTime() ? now : new Date(seenMs);
    const source = state.retry == null ? (state.next_run_source ?? undefined) : "retry";
    const claim = this.#hold(entry, this.#latestSlot, source, seenAt, now, leaseEndsMs);
    const pauseEndMs = Math.max(heldUntilMs, resumedMs);
    return slotMs < pauseEndMs ? Object.assign(claim, { heldUntil: new Date(pauseEndMs) }) : claim;
  }

  /** Without an object for its parameters: a burst makes thousands of claims at once. */
  #hold(
    entry: QueueEntry,
    slot: Date,
    source: TakenClaim["source"],
    seenAt: Date,
    claimedAt: Date,
    leaseEndsMs: number,
    jobId?: string,
  ): TakenClaim {
    const { agent, schedule } = entry;
    const claim: TakenClaim = {
      agent: agent.name,
      schedule,
      token: this.#tokenPrefix + String(++this.#tokenCount),
      jobId: jobId ?? this.#newJobId(claimedAt),
      slot,
      source,
      attempt: source === "retry" ? (entry.state.retry?.attempt ?? 1) : 1,
      seenAt,
      claimedAt,
      state: entry.state,
    };
    const held = { claim, agent, entry, leaseEndsMs, ending: undefined, mayHaveEnded: false };
    this.#order.remove(entry);
    entry.heldBy = held;
    this.#held.set(claim.token, held);
    this.#firstLeaseEndMs = Math.min(this.#firstLeaseEndMs, leaseEndsMs);
    agent.running++;
    this.#order.noteCapacity(agent);
    return claim;
  }

  /** Ends the claims whose lease has ended, and returns them. */
  #endLeases(nowMs: number): readonly TakenClaim[] {
    const expired: TakenClaim[] = [];
    this.#firstLeaseEndMs = Infinity;
    for (const { claim, leaseEndsMs, ending } of this.#held.values()) {
      if (leaseEndsMs <= nowMs && ending === undefined) expired.push(claim);
      else this.#firstLeaseEndMs = Math.min(this.#firstLeaseEndMs, leaseEndsMs);
    }
    for (const claim of expired) this.end(claim);
    return expired;
  }
}

function newAgent(name: string, heldUntilMs: number): QueueAgent {
  return { name, capacity: 0, running: 0, heldUntilMs, resumedMs: -Infinity, line: undefined, place: -1 };
}

/** A new entry; `known` is the entry of the same schedule in the definitions before. */
function newEntry(
  agent: QueueAgent,
  schedule: string,
  order: number,
  known: QueueEntry | undefined,
): QueueEntry {
  return {
    agent,
    schedule,
    state: known?.state ?? NO_FIELDS,
    // Not a small integer: V8 would rebuild every entry when it is given a time.
    dueMs: Infinity,
    standsIn: undefined,
    seenMs: known?.seenMs,
    order,
    heldBy: undefined,
    place: -1,
  };
}

function keyOf({ agent, schedule }: QueueEntry): ScheduleKey {
  return { agent: agent.name, schedule };
}

/** `isFull`: the caller's limit is reached. */
function skip({ agent, schedule, state, dueMs }: QueueEntry, nowMs: number, isFull: boolean): SkippedSlot[] {
  const isAtCapacity = isFull || !hasCapacity(agent);
  const reason = claimRefusal({ state, isRunning: false, isAtCapacity, nowMs });
  if (reason === undefined) return [];
  const { retry, next_run_at, next_run_source } = state;
  const slot = new Date(isoTimeMs(retry?.slot ?? backfillSlot(state) ?? next_run_at) ?? dueMs);
  const source = retry == null ? (next_run_source ?? undefined) : "retry";
  return [{ agent: agent.name, schedule, slot, source, reason }];
}

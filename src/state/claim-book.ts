/**
 * Who runs what, and who is next: the due queue, the line before each agent, and the claims that live.
 * Kept in memory by the store that owns the schedules; what it decides, the store makes durable.
 */
import type { Clock } from "../clock.js";
import { isoTimeMs } from "../iso-time.js";
import { randomToken } from "../random.js";
import { NO_FIELDS } from "./check-schedule.js";
import { claimableMs, claimRefusal } from "./claim-rules.js";
import { type HeapMember, IndexedHeap } from "./indexed-heap.js";
import { type Leased, Leases, type TakenClaim } from "./leases.js";
import { ScheduleMap } from "./schedule-map.js";
import type { PlanSource, ScheduleState } from "./schedule-state.js";
import type {
  ClaimRefusal,
  ClaimToken,
  ScheduleDefinition,
  ScheduleKey,
  SkippedSlot,
} from "./state-store.js";

/** A schedule that may be claimed. It stands in the due queue, then in its agent's line, and in neither while it runs. */
interface Entry extends HeapMember {
  readonly agent: Agent;
  readonly schedule: string;
  state: Partial<ScheduleState>;
  dueMs: number;
  isLined: boolean;
  /** When its slot was first seen due; what is noted while it waits does not make it later. */
  seenMs: number | undefined;
  /** Order of definition, which breaks ties. */
  readonly order: number;
  /** The claim that runs it. */
  heldBy: LivingClaim | undefined;
}

/** An agent stands among the ready ones while somebody is in its line and it has capacity. */
interface Agent extends HeapMember {
  readonly name: string;
  capacity: number;
  running: number;
  /** Made when somebody has to wait. */
  line: IndexedHeap<Entry> | undefined;
}

interface LivingClaim extends Leased {
  readonly agent: Agent;
  /** `undefined` while its schedule is not defined any more. */
  entry: Entry | undefined;
}

export interface TakenSlots {
  readonly claims: TakenClaim[];
  readonly skipped: SkippedSlot[];
  /** Claims whose lease had ended, which others have now replaced or may replace. */
  readonly expired: TakenClaim[];
}

const isOlder = (a: Entry, b: Entry): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
const headIsOlder = (a: Agent, b: Agent): boolean =>
  a.line?.first !== undefined && b.line?.first !== undefined && isOlder(a.line.first, b.line.first);

export class ClaimBook {
  readonly #clock: Clock;
  readonly #newJobId: (at: Date) => string;
  #entries = new ScheduleMap<Entry>();
  readonly #living: Leases<LivingClaim>;
  #queue = new IndexedHeap<Entry>(isOlder);
  #ready = new IndexedHeap<Agent>(headIsOlder);

  constructor(clock: Clock, leaseMs: number, newJobId: (at: Date) => string) {
    this.#clock = clock;
    this.#living = new Leases(clock, leaseMs);
    this.#newJobId = newJobId;
  }

  /** Replaces all definitions. `stateOf` tells what is known of each schedule. */
  define(
    definitions: readonly ScheduleDefinition[],
    stateOf: (key: ScheduleKey) => Partial<ScheduleState>,
  ): void {
    const before = this.#entries;
    this.#entries = new ScheduleMap();
    this.#queue = new IndexedHeap<Entry>(isOlder);
    this.#ready = new IndexedHeap<Agent>(headIsOlder);
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
      const known = before.get(definition);
      this.#entries.set(definition, {
        agent,
        schedule,
        state: known?.state ?? NO_FIELDS,
        // No small integer, or every entry would have to be rebuilt when it is given a time.
        dueMs: Infinity,
        isLined: false,
        seenMs: known?.seenMs,
        order,
        heldBy: undefined,
        place: -1,
      });
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
    const claims: TakenClaim[] = [];
    const lined: Entry[] = [];
    for (let due = this.#queue.first; due !== undefined && due.dueMs <= nowMs; due = this.#queue.first) {
      this.#takeWaiting(claims, limit, now, due);
      this.#queue.remove(due);
      const isNew = due.seenMs === undefined;
      due.seenMs ??= nowMs;
      if (claims.length < limit && hasCapacity(due.agent)) {
        claims.push(this.#claim(due, now));
      } else {
        this.#lineUp(due);
        if (isNew) lined.push(due);
      }
    }
    this.#takeWaiting(claims, limit, now);
    const skipped = lined.filter((entry) => entry.isLined).flatMap((entry) => skip(entry, nowMs));
    return { claims, skipped, expired };
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
    return this.#hold(entry, { slot: now, source: "manual", seenAt: now, claimedAt: now });
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
    this.#setReady(agent);
    if (entry === undefined) return;
    entry.heldBy = undefined;
    this.#note(entry, state);
  }

  /** Ends what was claimed before ownership was taken again. */
  endAll(): void {
    for (const { claim, entry } of this.#living.values()) this.end(claim, entry?.state ?? {});
  }

  /**
   * When something can be claimed: a line that moves counts by its oldest slot, one at capacity not at all. What stands in
   * the queue has never been looked at; what stands in a line was when it was due at `lookedMs`.
   */
  nextDueMs(lookedMs: number = -Infinity): number | undefined {
    const queuedMs = this.#queue.first?.dueMs;
    const linedMs = this.#ready.first?.line?.first?.dueMs;
    const isUnseen = linedMs !== undefined && linedMs > lookedMs;
    const known = [queuedMs, isUnseen ? linedMs : undefined].filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  #note(entry: Entry, state: Partial<ScheduleState>): void {
    this.#takeOut(entry);
    if (state.next_run_at !== entry.state.next_run_at) entry.seenMs = undefined;
    entry.state = state;
    const dueMs = entry.heldBy === undefined ? claimableMs(state) : undefined;
    if (dueMs === undefined) return;
    entry.dueMs = dueMs;
    this.#queue.place(entry);
  }

  /** Claims those in the lines who may run and are older than `due`, or all who may. */
  #takeWaiting(claims: TakenClaim[], limit: number, now: Date, due?: Entry): void {
    while (claims.length < limit) {
      const first = this.#ready.first?.line?.first;
      if (first === undefined || (due !== undefined && isOlder(due, first))) return;
      claims.push(this.#claim(first, now));
    }
  }

  #lineUp(entry: Entry): void {
    const { agent } = entry;
    entry.isLined = true;
    agent.line ??= new IndexedHeap(isOlder);
    agent.line.place(entry);
    this.#setReady(agent);
  }

  #claim(entry: Entry, now: Date): TakenClaim {
    const { state, seenMs = now.getTime() } = entry;
    const slotMs = state.paused_until == null ? entry.dueMs : isoTimeMs(state.next_run_at);
    const slot = new Date(slotMs ?? now.getTime());
    const source: PlanSource | undefined = state.next_run_source ?? undefined;
    // Never later than now, also where the clock was set back meanwhile: that would be lateness.
    const seenAt = seenMs >= now.getTime() ? now : new Date(seenMs);
    return this.#hold(entry, { slot, source, seenAt, claimedAt: now });
  }

  #hold(
    entry: Entry,
    { slot, source, seenAt, claimedAt }: Pick<TakenClaim, "slot" | "source" | "seenAt" | "claimedAt">,
  ): TakenClaim {
    const { agent, schedule } = entry;
    const token = randomToken();
    const jobId = this.#newJobId(claimedAt);
    const claim = { agent: agent.name, schedule, token, jobId, slot, source, seenAt, claimedAt };
    this.#takeOut(entry);
    entry.heldBy = { claim, agent, entry, leaseEndsMs: 0, isEnding: false };
    this.#living.add(entry.heldBy);
    agent.running++;
    this.#setReady(agent);
    return claim;
  }

  #endLeases(nowMs: number): TakenClaim[] {
    const expired = this.#living.expired(nowMs);
    for (const { claim, entry } of expired) this.end(claim, entry?.state ?? {});
    return expired.map(({ claim }) => claim);
  }

  #takeOut(entry: Entry): void {
    if (!entry.isLined) return this.#queue.remove(entry);
    const { agent } = entry;
    entry.isLined = false;
    agent.line?.remove(entry);
    if (agent.line?.size === 0) agent.line = undefined;
    this.#setReady(agent);
  }

  #setReady(agent: Agent): void {
    if (agent.line !== undefined && hasCapacity(agent)) this.#ready.place(agent);
    else this.#ready.remove(agent);
  }
}

function hasCapacity({ running, capacity }: Agent): boolean {
  return running < capacity;
}

function skip({ agent, schedule, state, dueMs }: Entry, nowMs: number): SkippedSlot[] {
  const reason = claimRefusal({ state, isRunning: false, isAtCapacity: !hasCapacity(agent), nowMs });
  if (reason === undefined) return [];
  const slot = new Date(isoTimeMs(state.next_run_at) ?? dueMs);
  return [{ agent: agent.name, schedule, slot, source: state.next_run_source ?? undefined, reason }];
}

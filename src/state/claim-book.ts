/**
 * Who runs what, and who is next: the due queue, the line before each agent, and the leases of living claims.
 * Kept in memory by the store that owns the schedules; what it decides, the store makes durable.
 */
import type { Clock } from "../clock.js";
import { isoTimeMs } from "../iso-time.js";
import { randomToken } from "../random.js";
import { claimableMs, claimRefusal } from "./claim-rules.js";
import { type HeapMember, IndexedHeap } from "./indexed-heap.js";
import type { PlanSource, ScheduleState } from "./schedule-state.js";
import type { Claim, ScheduleDefinition, ScheduleKey, SkippedSlot } from "./state-store.js";

/** A schedule that may be claimed. It stands in the due queue, then in its agent's line, and in neither while it runs. */
interface Entry extends HeapMember {
  readonly key: ScheduleKey;
  readonly agent: Agent;
  state: Partial<ScheduleState>;
  dueMs: number;
  isLined: boolean;
  /** Order of definition, which breaks ties. */
  readonly order: number;
}

/** An agent stands among the ready ones while somebody is in its line and it has capacity. */
interface Agent extends HeapMember {
  capacity: number;
  running: number;
  readonly line: IndexedHeap<Entry>;
}

interface LivingClaim {
  readonly claim: Claim;
  /** On the monotonic clock. */
  leaseEndsMs: number;
  /** Its outcome is being recorded, which nobody may overtake. */
  isEnding: boolean;
}

export interface TakenSlots {
  readonly claims: Claim[];
  readonly skipped: SkippedSlot[];
  /** Claims whose lease had ended, which others have now replaced or may replace. */
  readonly expired: Claim[];
}

const isOlder = (a: Entry, b: Entry): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
const headIsOlder = (a: Agent, b: Agent): boolean =>
  a.line.first !== undefined && b.line.first !== undefined && isOlder(a.line.first, b.line.first);

export class ClaimBook {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #newJobId: (at: Date) => string;
  readonly #entries = new Map<string, Entry>();
  readonly #agents = new Map<string, Agent>();
  readonly #living = new Map<string, LivingClaim>();
  readonly #queue = new IndexedHeap<Entry>(isOlder);
  readonly #ready = new IndexedHeap<Agent>(headIsOlder);
  /** No lease ends before this. */
  #leasesEndMs = Infinity;

  constructor(clock: Clock, leaseMs: number, newJobId: (at: Date) => string) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#newJobId = newJobId;
  }

  /** Replaces all definitions. `stateOf` tells what is known of each schedule. */
  define(
    definitions: readonly ScheduleDefinition[],
    stateOf: (key: ScheduleKey) => Partial<ScheduleState>,
  ): void {
    for (const entry of this.#entries.values()) this.#takeOut(entry);
    this.#entries.clear();
    for (const [name, { running }] of this.#agents) if (running === 0) this.#agents.delete(name);
    for (const { agent: name, schedule, maxConcurrent = 1 } of definitions) {
      const agent = this.#agent(name);
      agent.capacity = maxConcurrent;
      const key = { agent: name, schedule };
      const order = this.#entries.size;
      const entry: Entry = { key, agent, state: {}, dueMs: 0, isLined: false, order, place: -1 };
      this.#entries.set(textOf(key), entry);
    }
    for (const entry of this.#entries.values()) this.note(entry.key, stateOf(entry.key));
  }

  /** Takes note of a schedule's state, which decides whether and when it is due. */
  note(key: ScheduleKey, state: Partial<ScheduleState>): void {
    const entry = this.#entries.get(textOf(key));
    if (entry === undefined) return;
    this.#takeOut(entry);
    entry.state = state;
    const dueMs = claimableMs(state);
    if (dueMs === undefined || this.#living.has(textOf(key))) return;
    entry.dueMs = dueMs;
    this.#queue.place(entry);
  }

  /** Due slots become claims, oldest first, as far as capacity and `limit` allow. */
  take(limit: number): TakenSlots {
    const now = this.#clock.now();
    const expired = this.#endLeases();
    const lined = this.#lineUp(now.getTime());
    const claims: Claim[] = [];
    while (claims.length < limit) {
      const entry = this.#ready.first?.line.first;
      if (entry === undefined) break;
      claims.push(this.#claim(entry, now));
    }
    const skipped = lined.filter((entry) => entry.isLined).flatMap((entry) => this.#skip(entry, now));
    return { claims, skipped, expired };
  }

  /** Whether this claim, and no later one, holds its schedule. */
  isHeld(claim: Claim): boolean {
    return this.#living.get(textOf(claim))?.claim.token === claim.token;
  }

  renew(claim: Claim): boolean {
    const living = this.#living.get(textOf(claim));
    if (living?.claim.token !== claim.token) return false;
    living.leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    return true;
  }

  /** Whether the claim is held, and its end not on the way already. If so, its lease lasts until `end` or `keep`. */
  beginEnd(claim: Claim): boolean {
    const living = this.#living.get(textOf(claim));
    if (living?.claim.token !== claim.token || living.isEnding) return false;
    living.isEnding = true;
    return true;
  }

  /** Takes `beginEnd` back. */
  keep(claim: Claim): void {
    const living = this.#living.get(textOf(claim));
    if (living?.claim.token === claim.token) living.isEnding = false;
  }

  /** Ends a claim that is held; its schedule is due again as `state` says. */
  end(claim: Claim, state: Partial<ScheduleState>): void {
    if (!this.isHeld(claim)) return;
    this.#living.delete(textOf(claim));
    const agent = this.#agents.get(claim.agent);
    if (agent !== undefined) {
      agent.running--;
      this.#setReady(agent);
    }
    this.note(claim, state);
  }

  /** When something can be claimed: a line that moves counts by its oldest slot, one at capacity not at all. */
  nextDueMs(): number | undefined {
    const times = [this.#queue.first?.dueMs, this.#ready.first?.line.first?.dueMs];
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** Moves what is due from the queue into the lines. */
  #lineUp(nowMs: number): Entry[] {
    const lined: Entry[] = [];
    for (
      let entry = this.#queue.first;
      entry !== undefined && entry.dueMs <= nowMs;
      entry = this.#queue.first
    ) {
      this.#queue.remove(entry);
      entry.isLined = true;
      entry.agent.line.place(entry);
      this.#setReady(entry.agent);
      lined.push(entry);
    }
    return lined;
  }

  #claim(entry: Entry, now: Date): Claim {
    const { key, agent, state } = entry;
    const slot = new Date(isoTimeMs(state.next_run_at) ?? now.getTime());
    const source: PlanSource | undefined = state.next_run_source ?? undefined;
    const claim: Claim = { ...key, token: randomToken(), jobId: this.#newJobId(now), slot, source };
    this.#takeOut(entry);
    const leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    this.#living.set(textOf(key), { claim, leaseEndsMs, isEnding: false });
    this.#leasesEndMs = Math.min(this.#leasesEndMs, leaseEndsMs);
    agent.running++;
    this.#setReady(agent);
    return claim;
  }

  #skip({ key, agent, state, dueMs }: Entry, now: Date): SkippedSlot[] {
    const isAtCapacity = agent.running >= agent.capacity;
    const reason = claimRefusal({ state, isRunning: false, isAtCapacity, nowMs: now.getTime() });
    return reason === undefined ? [] : [{ ...key, slot: new Date(dueMs), reason }];
  }

  #endLeases(): Claim[] {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#leasesEndMs) return [];
    const expired = [...this.#living.values()].filter(
      ({ leaseEndsMs, isEnding }) => leaseEndsMs <= nowMs && !isEnding,
    );
    for (const { claim } of expired) this.end(claim, this.#entries.get(textOf(claim))?.state ?? {});
    this.#leasesEndMs = Math.min(
      Infinity,
      ...Array.from(this.#living.values(), (living) => living.leaseEndsMs),
    );
    return expired.map(({ claim }) => claim);
  }

  #agent(name: string): Agent {
    let agent = this.#agents.get(name);
    if (agent === undefined) {
      agent = { capacity: 0, running: 0, line: new IndexedHeap(isOlder), place: -1 };
      this.#agents.set(name, agent);
    }
    return agent;
  }

  #takeOut(entry: Entry): void {
    (entry.isLined ? entry.agent.line : this.#queue).remove(entry);
    entry.isLined = false;
    this.#setReady(entry.agent);
  }

  #setReady(agent: Agent): void {
    if (agent.line.size > 0 && agent.running < agent.capacity) this.#ready.place(agent);
    else this.#ready.remove(agent);
  }
}

function textOf({ agent, schedule }: ScheduleKey): string {
  return JSON.stringify([agent, schedule]);
}

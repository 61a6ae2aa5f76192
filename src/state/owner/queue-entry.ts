/** What the claim book knows of a schedule and of its agent: who is older, who has capacity, who has to wait and why. */
import { isoTimeMs } from "../../iso-time.js";
import { NO_FIELDS } from "../validate-state.js";
import { claimRefusal } from "../claim-rules.js";
import type { HeapMember, IndexedHeap } from "./indexed-heap.js";
import type { Leased } from "./leases.js";
import type { ScheduleState } from "../schedule-state.js";
import type { ScheduleKey, SkippedSlot } from "../store.js";
import { wholeState } from "../whole-state.js";

/** A schedule that may be claimed. */
export interface Entry extends HeapMember {
  readonly agent: Agent;
  readonly schedule: string;
  state: Partial<ScheduleState>;
  dueMs: number;
  /** Kept by the order. */
  standsIn: "queue" | "reserved" | "line" | undefined;
  /** When its slot was first seen due; what is noted while it waits does not make it later. */
  seenMs: number | undefined;
  /** Order of definition, which breaks ties. */
  readonly order: number;
  /** The claim that runs it. */
  heldBy: LivingClaim | undefined;
  /** The claim that will run its slot when that is due. */
  reserved: Reservation | undefined;
}

/** An entry as it begins; `known` is what was known of the same schedule before it was defined anew. */
export function newEntry(agent: Agent, schedule: string, order: number, known: Entry | undefined): Entry {
  return {
    agent,
    schedule,
    state: known?.state ?? NO_FIELDS,
    // No small integer, or every entry would have to be rebuilt when it is given a time.
    dueMs: Infinity,
    standsIn: undefined,
    seenMs: known?.seenMs,
    order,
    heldBy: undefined,
    reserved: undefined,
    place: -1,
  };
}

/** An agent stands among the ready ones while somebody is in its line and it has capacity. */
export interface Agent extends HeapMember {
  readonly name: string;
  capacity: number;
  running: number;
  /** Made when somebody has to wait. */
  line: IndexedHeap<Entry> | undefined;
}

export interface LivingClaim extends Leased {
  readonly agent: Agent;
  /** `undefined` while its schedule is not defined any more. */
  entry: Entry | undefined;
}

/** A claim that is made before its slot is due, and held from then on. */
export interface Reservation extends LivingClaim {
  /** Whether it has been written: before that the slot cannot be claimed by it. */
  isDurable: boolean;
}

export const isOlder = (a: Entry, b: Entry): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
export const byAge = (a: Entry, b: Entry): number => a.dueMs - b.dueMs || a.order - b.order;

export function hasCapacity({ running, capacity }: Agent): boolean {
  return running < capacity;
}

export function skip({ agent, schedule, state, dueMs }: Entry, nowMs: number): SkippedSlot[] {
  const reason = claimRefusal({ state, isRunning: false, isAtCapacity: !hasCapacity(agent), nowMs });
  if (reason === undefined) return [];
  const slot = new Date(isoTimeMs(state.next_run_at) ?? dueMs);
  return [{ agent: agent.name, schedule, slot, source: state.next_run_source ?? undefined, reason }];
}

export function keyOf({ agent, schedule }: Entry): ScheduleKey {
  return { agent: agent.name, schedule };
}

/** Those who could run if they were claimed in this order, at most `limit`. Whoever waits in line already comes before. */
export function withinCapacity(entries: readonly Entry[], limit: number): Entry[] {
  const counts = new Map<Agent, number>();
  const fitting: Entry[] = [];
  for (const entry of entries) {
    if (fitting.length >= limit) break;
    const { agent } = entry;
    const count = (counts.get(agent) ?? agent.running) + 1;
    if (agent.line !== undefined || count > agent.capacity) continue;
    counts.set(agent, count);
    fitting.push(entry);
  }
  return fitting;
}

/** Whether the state, as it was written, has the slot reserved that is due at `dueMs`: durable from now on. */
export function confirmReservation(entry: Entry, dueMs: number | undefined): boolean {
  const { reserved, state } = entry;
  if (reserved === undefined || dueMs !== entry.dueMs) return false;
  const { token, slot } = reserved.claim;
  if (state.claim?.token !== token || isoTimeMs(state.next_run_at) !== slot.getTime()) return false;
  reserved.isDurable = true;
  reserved.claim.state = wholeState(state);
  return true;
}

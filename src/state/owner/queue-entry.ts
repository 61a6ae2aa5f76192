/** What the claim queue knows of a schedule and of its agent, and which of two schedules comes first. */
import { isoTimeMs } from "../../iso-time.js";
import { claimRefusal } from "../claim-rules.js";
import type { ScheduleState } from "../schedule-state.js";
import type { SkippedSlot } from "../store.js";
import { NO_FIELDS } from "../validate-state.js";
import type { HeapMember, IndexedHeap } from "./indexed-heap.js";
import type { Leased } from "./leases.js";

/** A schedule that may be claimed. */
export interface QueueEntry extends HeapMember {
  readonly agent: QueueAgent;
  readonly schedule: string;
  state: Partial<ScheduleState>;
  dueMs: number;
  /** Kept by DueOrder. */
  standsIn: "queue" | "line" | undefined;
  /** When its slot was first seen due; a write of its state does not make it later. */
  seenMs: number | undefined;
  /** Order of definition, which breaks ties. */
  readonly order: number;
  /** The claim under which it runs. */
  heldBy: QueueClaim | undefined;
}

/** A new entry; `known` is the entry of the same schedule in the definitions before. */
export function newEntry(
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

/** An agent stands among the ready ones while a schedule waits in its line and it has capacity. */
export interface QueueAgent extends HeapMember {
  readonly name: string;
  capacity: number;
  running: number;
  /** Made for the first schedule that has to wait. */
  line: IndexedHeap<QueueEntry> | undefined;
}

export interface QueueClaim extends Leased {
  readonly agent: QueueAgent;
  /** `undefined` while its schedule is not defined. */
  entry: QueueEntry | undefined;
  /** The state that a failed write of its end may have left. */
  triedState: Partial<ScheduleState> | undefined;
}

export const isOlder = (a: QueueEntry, b: QueueEntry): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

export function hasCapacity({ running, capacity }: QueueAgent): boolean {
  return running < capacity;
}

export function skip({ agent, schedule, state, dueMs }: QueueEntry, nowMs: number): SkippedSlot[] {
  const reason = claimRefusal({ state, isRunning: false, isAtCapacity: !hasCapacity(agent), nowMs });
  if (reason === undefined) return [];
  const slot = new Date(isoTimeMs(state.next_run_at) ?? dueMs);
  return [{ agent: agent.name, schedule, slot, source: state.next_run_source ?? undefined, reason }];
}

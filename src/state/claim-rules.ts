/** May a schedule be claimed, and if not, why? When a claim was cut off, what becomes of its schedule? Pure. */
import { isoTimeMs } from "../iso-time.js";
import { mergedFields } from "./file/yaml/state-text.js";
import type { ScheduleState, ScheduleStatePatch } from "./schedule-state.js";
import type { ClaimRefusal } from "./store.js";

export interface ClaimQuestion {
  readonly state: Partial<ScheduleState>;
  /** Whether a claim of this schedule is alive. */
  readonly isRunning: boolean;
  /** Whether its agent runs as many jobs as it may. */
  readonly isAtCapacity: boolean;
  /** Absent where time does not matter, for a claim by hand. */
  readonly nowMs?: number | undefined;
}

/** The first reason against a claim; `undefined` when there is none. */
export function claimRefusal({
  state,
  isRunning,
  isAtCapacity,
  nowMs,
}: ClaimQuestion): ClaimRefusal | undefined {
  if (state.status === "disabled") return "disabled";
  if (isRunning) return "already_running";
  if (isAtCapacity) return "at_capacity";
  if (nowMs === undefined) return undefined;
  if ((isoTimeMs(state.next_run_at) ?? Infinity) > nowMs) return "not_due";
  if ((isoTimeMs(state.paused_until) ?? -Infinity) > nowMs) return "paused";
  return undefined;
}

/** When a schedule that is not running can be claimed, as far as its own state goes; `undefined` for never. */
export function claimableMs(state: Partial<ScheduleState>): number | undefined {
  const dueMs = isoTimeMs(state.next_run_at);
  if (dueMs === undefined || state.status === "disabled") return undefined;
  return Math.max(dueMs, isoTimeMs(state.paused_until) ?? -Infinity);
}

/** What ends a claim: the slot is used up, and the schedule idle again unless somebody disabled it meanwhile. */
export function completion(state: Partial<ScheduleState>, patch: ScheduleStatePatch): ScheduleStatePatch {
  const end: ScheduleStatePatch = {
    status: state.status === "disabled" ? "disabled" : "idle",
    claim: null,
    interrupted_count: null,
    next_run_at: null,
    next_run_source: null,
  };
  return mergedFields(end, patch);
}

/** What a claim that is given back unused leaves behind: the slot, as it was. */
export function givenBack(state: Partial<ScheduleState>): ScheduleStatePatch {
  return { status: state.status === "disabled" ? "disabled" : "idle", claim: null };
}

/** What a stored state tells: a claim is one only while a job runs under it. Before that its slot is but reserved. */
export function seenState(
  state: Partial<ScheduleState>,
  isHeld: (token: string) => boolean,
): Partial<ScheduleState> {
  if (state.claim == null || isHeld(state.claim.token)) return state;
  return mergedFields(mergedFields({}, state), givenBack(state));
}

/** Whether a slot was only reserved: its time had not come when the process died that would have run it. */
export function isAhead({ claim }: Partial<ScheduleState>, now: Date): boolean {
  return claim != null && claim.claimed_at == null && (isoTimeMs(claim.slot) ?? -Infinity) > now.getTime();
}

/**
 * What a claim whose process died leaves behind. The first time its schedule is due at once. After that the job
 * may be what kills the process, so it counts as failed: the failure count slows it down, and the time is planned anew.
 */
export function interruption(state: Partial<ScheduleState>, now: Date): ScheduleStatePatch {
  const times = (state.interrupted_count ?? 0) + 1;
  const startedAt = state.claim?.claimed_at ?? state.claim?.slot;
  const common: ScheduleStatePatch = {
    ...givenBack(state),
    ...(startedAt == null ? {} : { last_run_at: startedAt, last_started_at: startedAt }),
    interrupted_count: times,
    last_error: "interrupted: the process that ran the job ended",
  };
  if (times === 1) return { ...common, next_run_at: now.toISOString(), next_run_source: "catch-up" };
  return {
    ...common,
    failure_count: (state.failure_count ?? 0) + 1,
    last_completed_at: now.toISOString(),
    next_run_at: null,
    next_run_source: null,
  };
}

/**
 * May a schedule be claimed, and if not, why? What does a job, and the end of its claim, leave in its schedule's state?
 * Pure. The next run is planned from that state, by the governor.
 */
import { mergedFields } from "../fields.js";
import { isoText, isoTimeMs } from "../iso-time.js";
import type { EndedJobRecord } from "./job-log/job-log.js";
import type { LastJob, ScheduleHint, ScheduleState, ScheduleStatePatch } from "./schedule-state.js";
import type { ClaimRefusal, ScheduleKey } from "./store.js";

export interface ClaimQuestion {
  readonly state: Partial<ScheduleState>;
  /** Whether a claim of this schedule is held. */
  readonly isRunning: boolean;
  /** Whether its agent runs as many jobs as it may. */
  readonly isAtCapacity: boolean;
  /** Absent for a manual claim, which is not bound to a time. */
  readonly nowMs?: number | undefined;
}

/** The first reason against a claim; `undefined` when it may be made. */
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

/** What removes the plan of a schedule: it is not due again until it is planned anew. */
export const NO_PLAN = { next_run_at: null, next_run_source: null } as const;

/** What ends a claim: the slot is used up, and the schedule idle again unless it was disabled meanwhile. */
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

/**
 * The state without a claim that is not held: one whose write failed after its effect, or whose lease ended while the
 * disk failed. No job runs under it.
 */
export function seenState(
  state: Partial<ScheduleState>,
  isHeld: (token: string) => boolean,
): Partial<ScheduleState> {
  if (state.claim == null || isHeld(state.claim.token)) return state;
  return mergedFields(mergedFields({}, state), givenBack(state));
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

/**
 * What a claim leaves behind whose process died after it had written the job's final record: the job is not run again,
 * unless it was interrupted itself. The next run is left to be planned.
 */
export function recordedEnd(
  state: Partial<ScheduleState>,
  record: EndedJobRecord,
  now: Date,
): ScheduleStatePatch {
  const last_job = lastJobOf(record);
  const { status, error } = record;
  if (status === "interrupted") {
    const patch = interruption(state, now);
    return { ...patch, last_error: error ?? patch.last_error, last_job };
  }
  const outcome = recordOutcome(state, {
    startedAt: new Date(record.started_at),
    completedAt: new Date(record.finished_at),
    error: status === "completed" ? undefined : (error ?? status),
  });
  const isFailure = status !== "cancelled";
  const failure_count = isFailure ? outcome.failure_count : (state.failure_count ?? null);
  return completion(state, { ...outcome, failure_count, last_job });
}

export interface JobOutcome {
  readonly startedAt: Date;
  readonly completedAt: Date;
  /** Why the job failed; absent when it succeeded. */
  readonly error?: string | undefined;
}

/**
 * The changes to record, given the state at completion. They come before the plan, so the first failure already
 * doubles the wait; a hint that the job did not use up is not among them, so a newer one is never overwritten.
 */
export function recordOutcome(state: Partial<ScheduleState>, outcome: JobOutcome): ScheduleStatePatch {
  const startedAt = isoText(outcome.startedAt);
  const hint = state.hint == null ? state.hint : remainingHint(state.hint, outcome);
  const changes = {
    last_run_at: startedAt,
    last_started_at: startedAt,
    last_completed_at: isoText(outcome.completedAt),
    last_error: outcome.error ?? null,
    failure_count: outcome.error === undefined ? 0 : (state.failure_count ?? 0) + 1,
  };
  return hint === state.hint ? changes : { ...changes, hint };
}

/** An expired hint is gone as a whole; a one-shot is used up by a job that started at or after its time. */
function remainingHint(hint: ScheduleHint, { startedAt, completedAt }: JobOutcome): ScheduleHint | null {
  if (isOver(hint.expires_at, completedAt)) return null;
  const { next_run_at, ...rest } = hint;
  if (next_run_at == null || !isOver(next_run_at, startedAt)) return hint;
  return rest.interval == null ? null : rest;
}

function isOver(text: string, at: Date): boolean {
  return (isoTimeMs(text) ?? -Infinity) <= at.getTime();
}

/** What the write that ends a claim keeps of its job. */
export function lastJobOf({ id, slot, trigger, attempt, status }: EndedJobRecord): LastJob {
  return { id, slot, trigger, attempt, status };
}

/** The record of a schedule's last job, made from the state that its end left; less than the job's own record says. */
export function recordOfLastJob(
  { agent, schedule }: ScheduleKey,
  state: Partial<ScheduleState>,
  job: LastJob,
  now: Date,
): EndedJobRecord {
  const finishedAt = state.last_completed_at ?? state.last_started_at ?? now.toISOString();
  const startedAt = state.last_started_at ?? finishedAt;
  const { id, slot = null, trigger, attempt, status } = job;
  return {
    id,
    agent,
    schedule,
    trigger: trigger ?? "interval",
    slot,
    source: null,
    attempt: Math.max(1, attempt ?? 1),
    prompt: null,
    work_item: null,
    started_at: startedAt,
    status,
    finished_at: finishedAt,
    duration_ms: durationOf(startedAt, finishedAt),
    error: status === "completed" ? null : (state.last_error ?? null),
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

function durationOf(startedAt: string, finishedAt: string): number | null {
  const ms = (isoTimeMs(finishedAt) ?? Number.NaN) - (isoTimeMs(startedAt) ?? Number.NaN);
  return ms >= 0 ? ms : null;
}

/**
 * Whether a final record is the end that `record` tells of, and not one that the store wrote because the claim's lease
 * had ended.
 */
export function isSameEnd(final: EndedJobRecord, record: EndedJobRecord): boolean {
  return final.status === record.status && isoTimeMs(final.finished_at) === isoTimeMs(record.finished_at);
}

/**
 * What a finished run changes in its schedule's state: the failure count, and the hints it used up.
 * The plan that follows is the governor's, made from the state with these changes.
 */
import type { ScheduleHint, ScheduleState, ScheduleStatePatch } from "../state/schedule-state.js";

export interface RunOutcome {
  readonly startedAt: Date;
  readonly completedAt: Date;
  /** Why the run failed; absent when it succeeded. */
  readonly error?: string;
}

/** The changes to record. They come before the plan, so the first failure already doubles the wait. */
export function recordOutcome(state: Partial<ScheduleState>, outcome: RunOutcome): ScheduleStatePatch {
  const startedAt = outcome.startedAt.toISOString();
  return {
    last_run_at: startedAt,
    last_started_at: startedAt,
    last_completed_at: outcome.completedAt.toISOString(),
    last_error: outcome.error ?? null,
    failure_count: outcome.error === undefined ? 0 : (state.failure_count ?? 0) + 1,
    hint: state.hint == null ? null : remainingHint(state.hint, outcome),
  };
}

/** An expired hint is gone as a whole; a one-shot is used up by a run that started at or after its time. */
function remainingHint(hint: ScheduleHint, { startedAt, completedAt }: RunOutcome): ScheduleHint | null {
  if (Date.parse(hint.expires_at) <= completedAt.getTime()) return null;
  const { next_run_at, ...rest } = hint;
  if (next_run_at == null || Date.parse(next_run_at) > startedAt.getTime()) return hint;
  return rest.interval == null ? null : rest;
}

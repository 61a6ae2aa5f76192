/**
 * What a finished job changes in its schedule's state: the failure count, and the hints it used up. The governor then
 * plans the next run from the state with these changes.
 */
import { isoText, isoTimeMs } from "../iso-time.js";
import type { ScheduleHint, ScheduleState, ScheduleStatePatch } from "./schedule-state.js";

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

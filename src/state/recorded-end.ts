/** The end of a claim whose process died after it had written the job's final record. Pure. */
import { isFields } from "../fields.js";
import type { EndedJobRecord } from "./job-log/job-log.js";
import {
  backfillAfter,
  backfillSlot,
  completion,
  gridBeside,
  interruptedSlot,
  interruption,
  isBesideRetry,
  isRetried,
  lastJobOf,
  recordOutcome,
} from "./claim-rules.js";
import type { ScheduleState, ScheduleStatePatch } from "./schedule-state.js";

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
  const isOpen =
    (status === "failed" || status === "timeout") && state.claim != null && !isBesideRetry(state);
  // How often it is tried, the scheduler knows.
  if (isOpen) {
    const known = state.retry ?? { ...interruptedSlot(state, now), attempt: 1 };
    const id = isFields(record.work_item) ? record.work_item["id"] : undefined;
    const retry = typeof id === "string" ? { ...known, work_item: id } : known;
    const { interrupted_count = null } = state;
    const { slot, attempt } = retry;
    const ended = { ...last_job, slot, attempt };
    return completion(state, {
      ...outcome,
      last_job: ended,
      retry,
      interrupted_count,
      ...gridBeside(state),
    });
  }
  return completion(state, {
    ...outcome,
    failure_count,
    last_job,
    ...unplannedSince(state),
    ...(state.backfill == null ? {} : backfillAfter(state, status !== "completed")),
  });
}

/**
 * What is known of the slots of a schedule whose job has ended, and whose next run is still to be planned: the plan beside
 * which a job was triggered, or else up to when slots are accounted for.
 */
function unplannedSince(state: Partial<ScheduleState>): ScheduleStatePatch {
  const { claim, retry, next_run_at, next_run_source } = state;
  // A backfill counts from where it was planned.
  if (claim == null || backfillSlot(state) !== undefined) return {};
  if (claim.source !== "manual")
    return { accounted_until: retry != null && isRetried(state) ? retry.slot : claim.slot };
  if (next_run_source === "manual") return { accounted_until: claim.claimed_at ?? claim.slot };
  return retry == null ? { next_run_at, next_run_source } : {};
}

/**
 * Whether the next attempt at the slot in `retry` has ended already, as `last_job`: its process died before it was decided
 * whether the slot is tried again. `failure_count` has that failure.
 */
export function isUndecided({ claim, retry, last_job, next_run_at }: Partial<ScheduleState>): boolean {
  if (claim != null || retry == null || next_run_at != null) return false;
  return last_job?.slot === retry.slot && last_job.attempt === retry.attempt;
}

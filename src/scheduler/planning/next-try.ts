/** Is a slot whose job failed tried again, and when? Pure. */
import { isoTimeMs } from "../../iso-time.js";
import { failedTry, isBesideRetry } from "../../state/claim-rules.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { nextCronRun } from "../timing/cron.js";
import { isTriedAgain, retryDelayMs } from "../timing/retries.js";
import { cronExpression, type Schedule } from "../timing/schedule.js";

export interface FailedJob {
  readonly status: string;
  readonly failedAt: Date;
  /** The id of the item that it worked on. */
  readonly workItem?: string | undefined;
}

/** The slot with its next attempt; `undefined` when its failure counts. `state` has the claim of the job. */
export function nextTry(
  { schedule, state }: { readonly schedule: Schedule | undefined; readonly state: Partial<ScheduleState> },
  { status, failedAt, workItem }: FailedJob,
): ScheduleStatePatch | undefined {
  const { claim, retry } = state;
  if (schedule?.retries === undefined || state.status === "disabled") return undefined;
  if (claim == null || isBesideRetry(state)) return undefined;
  const failures = (retry?.failures ?? 0) + 1;
  const delayMs = retryDelayMs(schedule.retries, failures);
  if (delayMs === undefined || !isTriedAgain(schedule.retries, failures, status)) return undefined;
  const at = new Date(failedAt.getTime() + delayMs);
  return at.getTime() < nextTimeOf(schedule, state, failedAt)
    ? failedTry(state, { failures, failedAt, at, workItem })
    : undefined;
}

/** The next time of a cron schedule, or of a `once` whose job was requested before: no try holds it up. */
function nextTimeOf(
  schedule: Schedule,
  { claim, next_run_at, next_run_source }: Partial<ScheduleState>,
  after: Date,
): number {
  if (schedule.type === "cron")
    return nextCronRun(cronExpression(schedule), after, schedule.timezone).getTime();
  const isAhead = claim?.source === "manual" && next_run_source === "once";
  return (isAhead ? isoTimeMs(next_run_at) : undefined) ?? Infinity;
}

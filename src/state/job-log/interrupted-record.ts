/** The record of a job whose process died before it was written, made from the job's claim. Pure. */
import { isoText } from "../../iso-time.js";
import type { JobTrigger, PlanSource, ScheduleState } from "../schedule-state.js";
import type { ScheduleKey } from "../store.js";
import { isJobId } from "./job-id.js";
import type { EndedJobRecord } from "./job-log.js";

/** Less than the job's own record says. `undefined` for a claim that names no job. */
export function interruptedRecord(
  { agent, schedule }: ScheduleKey,
  state: Partial<ScheduleState>,
  { now, error }: { readonly now: Date; readonly error: string },
): EndedJobRecord | undefined {
  const { claim } = state;
  if (claim == null || !isJobId(claim.job_id)) return undefined;
  const source = claim.source ?? null;
  return {
    id: claim.job_id,
    agent,
    schedule,
    trigger: triggerOf(source, state),
    slot: claim.slot,
    source,
    attempt: source === "retry" ? (state.retry?.attempt ?? 1) : 1,
    prompt: null,
    work_item: null,
    started_at: claim.claimed_at ?? claim.slot,
    status: "interrupted",
    finished_at: isoText(now),
    duration_ms: null,
    error,
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

/** What started the job. A claim does not name the type of its schedule, but its source or the job before it may. */
function triggerOf(source: PlanSource | null, { last_job }: Partial<ScheduleState>): JobTrigger {
  if (source === "manual" || source === "once" || source === "retry") return source;
  if (source === "baseline-cron") return "cron";
  const last = last_job?.trigger ?? "interval";
  return last === "manual" ? "interval" : last;
}

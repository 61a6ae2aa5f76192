/** What a job's record says at its start and at its end. Pure. */
import { messageOf } from "../errors.js";
import { isoText } from "../iso-time.js";
import type { JobEndStatus, JobRecord } from "../state/jobs/job-log.js";
import type { Claim } from "../state/state-store.js";
import type { AgentSchedule, RunnerResult } from "./agent.js";

/** The record of a job that has ended. */
export interface EndedRecord extends JobRecord {
  readonly status: JobEndStatus;
  readonly finished_at: string;
}

export interface RunOutcome {
  readonly status: JobEndStatus;
  readonly error?: string | undefined;
  readonly summary?: string | undefined;
}

export function startRecord(
  { agent, schedule: name, state, jobId, slot, claimedAt }: Claim,
  { type, prompt }: AgentSchedule,
  source: JobRecord["source"],
): JobRecord {
  return {
    id: jobId,
    agent,
    schedule: name,
    trigger: source === "manual" ? "manual" : type,
    slot: isoText(slot),
    source,
    attempt: (state.failure_count ?? 0) + 1,
    prompt: prompt ?? null,
    work_item: null,
    started_at: isoText(claimedAt),
    status: "running",
    finished_at: null,
    duration_ms: null,
    error: null,
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

export function endRecord(
  job: JobRecord,
  { status, error, summary }: RunOutcome,
  finishedAt: Date,
  durationMs: number,
): EndedRecord {
  // One by one: a spread takes several times as long, and a burst has thousands of them.
  return {
    id: job.id,
    agent: job.agent,
    schedule: job.schedule,
    trigger: job.trigger,
    slot: job.slot,
    source: job.source,
    attempt: job.attempt,
    prompt: job.prompt,
    work_item: job.work_item,
    started_at: job.started_at,
    status,
    finished_at: isoText(finishedAt),
    duration_ms: Math.round(durationMs),
    error: error ?? null,
    summary: summary ?? null,
    exit_code: job.exit_code,
    response_body: job.response_body,
  };
}

const COMPLETED: RunOutcome = { status: "completed" };

/** What whoever ran the job says of it; nothing at all is success. */
export function outcomeOf(result: RunnerResult | void): RunOutcome {
  if (result === undefined) return COMPLETED;
  if (result.success)
    return result.summary === undefined ? COMPLETED : { status: "completed", summary: result.summary };
  return { status: "failed", error: result.error ?? "the job failed", summary: result.summary };
}

/** A job that throws has failed, unless it was told to end. */
export function failureOf(error: unknown, isAborted: boolean): RunOutcome {
  return { status: isAborted ? "cancelled" : "failed", error: messageOf(error) };
}

/** What a job's record says at its start and at its end. Pure. */
import { messageOf } from "../errors.js";
import { isoText } from "../iso-time.js";
import type { JobEndStatus, JobRecord } from "../state/jobs/job-log.js";
import type { Claim } from "../state/state-store.js";
import type { WorkItem } from "../work-sources/work-source.js";
import type { AgentSchedule, RunResult } from "./agent.js";

/** The record of a job that has ended. */
export interface EndedRecord extends JobRecord {
  readonly status: JobEndStatus;
  readonly finished_at: string;
}

export interface RunOutcome {
  readonly status: JobEndStatus;
  readonly error?: string | undefined;
  readonly summary?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly responseBody?: unknown;
  readonly workItem?: WorkItem | undefined;
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
  { status, error, summary, exitCode, responseBody, workItem }: RunOutcome,
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
    work_item: workItem ?? job.work_item,
    started_at: job.started_at,
    status,
    finished_at: isoText(finishedAt),
    duration_ms: Math.round(durationMs),
    error: error ?? null,
    summary: summary ?? null,
    exit_code: exitCode ?? null,
    response_body: responseBody ?? null,
  };
}

const COMPLETED: RunOutcome = { status: "completed" };

/** What whoever ran the job says of it; nothing at all is success. */
export function outcomeOf(result: RunResult | void): RunOutcome {
  if (result === undefined) return COMPLETED;
  const { success, status, error, summary, exitCode, responseBody, workItem } = result;
  const isPlain = (summary ?? exitCode ?? responseBody ?? workItem) === undefined;
  if (success && isPlain) return COMPLETED;
  const said = { summary, exitCode, responseBody, workItem };
  if (success) return { ...said, status: "completed" };
  const isKnown = status === "timeout" || status === "cancelled";
  return { ...said, status: isKnown ? status : "failed", error: error ?? "the job failed" };
}

/** A job that throws has failed, unless it was told to end. */
export function failureOf(error: unknown, isAborted: boolean): RunOutcome {
  return { status: isAborted ? "cancelled" : "failed", error: messageOf(error) };
}

/** What a job's record says at its start and at its end. Pure. */
import { messageOf } from "../../errors.js";
import { isoText } from "../../iso-time.js";
import type { EndedJobRecord, JobEndStatus, JobRecord } from "../../state/job-log/job-log.js";
import type { Claim } from "../../state/store.js";
import type { WorkItem } from "../../work-sources/work-source.js";
import type { AgentSchedule, RunResult } from "../agent.js";

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
): EndedJobRecord {
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

/** A job that was told to end because its claim could not be renewed has not failed, unless it ended of itself. */
export function cutOffOutcome(outcome: RunOutcome, reason: string): RunOutcome {
  if (outcome.status === "completed" || outcome.status === "timeout") return outcome;
  return { ...outcome, status: "interrupted", error: `interrupted: ${reason}` };
}

/** What came of a job whose slot another has taken changes nothing, but is told. */
export function supersededOutcome(outcome: RunOutcome): RunOutcome {
  const { status, error } = outcome;
  const end = error === undefined ? status : `${status}: ${error}`;
  return {
    ...outcome,
    status: "interrupted",
    error: `superseded: another has taken over its slot, where this job ended as ${end}`,
  };
}

/** A job that throws has failed, unless it was told to end. */
export function failureOf(error: unknown, isAborted: boolean): RunOutcome {
  return { status: isAborted ? "cancelled" : "failed", error: messageOf(error) };
}

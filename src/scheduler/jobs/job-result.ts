/** The result of a job from what its executor returned or threw, and its record at its start and at its end. Pure. */
import { messageOf } from "../../errors.js";
import { isoText } from "../../iso-time.js";
import type { JobResult } from "../../runner/result.js";
import type { EndedJobRecord, JobRecord } from "../../state/job-log/job-log.js";
import type { Claim } from "../../state/store.js";
import type { AgentSchedule, RunResult } from "../agent.js";

const COMPLETED: JobResult = { status: "completed" };

/** The result that an executor or a host returned; returning nothing is success. */
export function resultOf(returned: RunResult | void): JobResult {
  if (returned === undefined) return COMPLETED;
  const { success, status, error, summary, exitCode, responseBody, workItem, durationMs } = returned;
  const said = { summary, exitCode, responseBody, workItem, durationMs };
  if (success) return { ...said, status: "completed" };
  const isKnown = status === "timeout" || status === "cancelled";
  return { ...said, status: isKnown ? status : "failed", error: error ?? "the job failed" };
}

/** A job that throws has failed, unless it was told to stop. */
export function failureOf(error: unknown, isStopped: boolean): JobResult {
  return { status: isStopped ? "cancelled" : "failed", error: messageOf(error) };
}

/** A job that was stopped because its claim could not be renewed has not failed, unless it ended by itself. */
export function interruptedResult(result: JobResult, reason: string): JobResult {
  if (result.status === "completed" || result.status === "timeout") return result;
  return { ...result, status: "interrupted", error: `interrupted: ${reason}` };
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
  { status, error, summary, exitCode, responseBody, workItem, durationMs }: JobResult,
  finishedAt: Date,
  elapsedMs: number,
): EndedJobRecord {
  // Key by key: a spread takes several times as long, and a burst has thousands of them.
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
    // Measured closer to the job where its runner did: jobs that start together delay each other.
    duration_ms: Math.round(durationMs ?? elapsedMs),
    error: error ?? null,
    summary: summary ?? null,
    exit_code: exitCode ?? null,
    response_body: responseBody ?? null,
  };
}

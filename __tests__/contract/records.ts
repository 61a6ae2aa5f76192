/** Records of jobs as a scheduler would write them. */
import type { EndedJobRecord, JobRecord } from "../../src/state/job-log/job-log.js";

export const STARTED_AT = "2026-11-15T09:00:00.000Z";
export const FINISHED_AT = "2026-11-15T09:00:01.500Z";

export function startedRecord(id: string, fields: Partial<JobRecord> = {}): JobRecord {
  return {
    id,
    agent: "writer",
    schedule: "hourly",
    trigger: "interval",
    slot: STARTED_AT,
    source: "baseline-interval",
    attempt: 1,
    prompt: null,
    work_item: null,
    started_at: STARTED_AT,
    status: "running",
    finished_at: null,
    duration_ms: null,
    error: null,
    summary: null,
    exit_code: null,
    response_body: null,
    ...fields,
  };
}

export function endedRecord(id: string, fields: Partial<EndedJobRecord> = {}): EndedJobRecord {
  return {
    ...startedRecord(id),
    status: "completed",
    finished_at: FINISHED_AT,
    duration_ms: 1500,
    ...fields,
  };
}

/** A job's status and duration in tables and messages. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { JobRecord, JobStatus } from "../../state/job-log/job-log.js";
import type { Style } from "./style.js";
import { shortDuration } from "./when.js";

export const JOB_STYLES: Readonly<Record<JobStatus, Style>> = {
  running: "cyan",
  completed: "green",
  failed: "red",
  timeout: "red",
  cancelled: "yellow",
  interrupted: "yellow",
};

/** The duration of a job, or with "…" the time that a running job has taken so far. */
export function tookText({ status, duration_ms, started_at }: JobRecord, now: Date): string {
  if (status === "running") return `${shortDuration(now.getTime() - (isoTimeMs(started_at) ?? 0))}…`;
  return duration_ms === null ? "-" : shortDuration(duration_ms);
}

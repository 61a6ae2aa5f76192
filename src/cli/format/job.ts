/** A job's status, duration and reason in tables and messages. Pure. */
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

/** Replaces job ids by their ends, which commands accept too. */
export function shortIds(text: string): string {
  return text.replaceAll(/job-\d{4}-\d\d-\d\d-(?=[0-9a-z]{6})/g, "");
}

/** A delay that is worth a word. */
const LATE_MS = 60_000;

const SOURCES: Readonly<Record<string, string>> = {
  "baseline-interval": "its interval",
  "baseline-cron": "its cron time",
  "ai-interval": "hint, changed interval",
  "ai-oneshot": "hint, one extra run",
  "clamped-min": "not sooner than min_interval",
  "clamped-max": "not later than max_interval",
  paused: "end of a pause",
  "first-run": "first run",
  once: "once",
  "catch-up": "catch-up for a missed run",
  manual: "triggered manually",
  retry: "tried again",
  budget: "the budget allowed it again",
  event: "events were pending",
  workflow: "a step of a workflow",
};

/** Why a job ran, from its record alone: "its cron time, attempt 2, 5m late". */
export function whyRan({ source, trigger, attempt, slot, started_at }: JobRecord): string {
  const lateMs = (isoTimeMs(started_at) ?? 0) - (isoTimeMs(slot) ?? Infinity);
  const isLate = lateMs >= LATE_MS;
  // A caller's slot is the time of the call; only a backfill runs an earlier one.
  if (isLate && source === "manual") return "backfill of a past slot";
  return [
    source === null ? trigger : (SOURCES[source] ?? source),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(isLate ? [`${shortDuration(lateMs)} late`] : []),
  ].join(", ");
}

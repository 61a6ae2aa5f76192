/** What `rota why` says about a job and a schedule. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { counted } from "../format/counted.js";
import { tookText, whyRan } from "../format/job.js";
import { zonedTime } from "../format/when.js";
import type { FleetSchedule } from "./fleet.js";

/** "It found no work 3 times, the last time at …"; `undefined` where it always found some. */
export function noWorkText(schedule: FleetSchedule): string | undefined {
  const ms = isoTimeMs(schedule.state.last_no_work_at);
  if (ms === undefined) return undefined;
  const times = counted(schedule.state.no_work_count ?? 1, "time");
  return `It found no work ${times}, the last time at ${spoken(new Date(ms), zoneOf(schedule))}`;
}

export function startMs({ started_at }: JobRecord): number {
  return isoTimeMs(started_at) ?? 0;
}

export function endMs({ finished_at }: JobRecord): number {
  return isoTimeMs(finished_at) ?? Infinity;
}

/** "job-… ran at 03:47:00 because of its cron time, and failed after 3s: no such file" */
export function ended(job: JobRecord, now: Date, timezone: string | undefined): string {
  const { id, status, error } = job;
  const took = tookText(job, now).replace("…", "");
  const how =
    status === "running"
      ? `has been running for ${took}`
      : `${status === "timeout" ? "timed out" : status}${took === "-" ? "" : ` after ${took}`}`;
  const why = error === null ? "" : `: ${error}`;
  return `${id} started at ${spoken(new Date(startMs(job)), timezone)} (${whyRan(job)}) and ${how}${why}`;
}

/** "2026-11-16T09:00:00+01:00" */
export function spoken(at: Date, timezone: string | undefined): string {
  return zonedTime(at, timezone);
}

export function zoneOf({ definition }: FleetSchedule): string | undefined {
  return definition?.type === "cron" ? definition.timezone : undefined;
}

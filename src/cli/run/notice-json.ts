/** A notice as one JSON object for programs. Its keys are a stable interface. Pure. */
import { RotaError } from "../../errors.js";
import type { Differences } from "../../config/watch/config-changes.js";
import { nameOf } from "../fleet/fleet.js";
import type { Notice } from "./notice.js";

/** `time` and `event` always come first. Times are ISO, durations milliseconds, and a missing value is `null`. */
export function noticeJson(notice: Notice, at: Date): Readonly<Record<string, unknown>> {
  return { time: at.toISOString(), event: notice.event, ...detailsOf(notice) };
}

function detailsOf({ event, details }: Notice): Readonly<Record<string, unknown>> {
  switch (event) {
    case "scheduler:started":
      return { pid: process.pid };
    case "scheduler:stopping":
      return { reason: details.reason, timeout_ms: details.timeoutMs, jobs: details.jobs };
    case "scheduler:stopped":
      return { running_job_count: details.runningJobCount };
    case "scheduler:error":
      return { ...keyOf(details), error: details.error.message, code: codeOf(details.error) };
    case "job:started":
    case "job:finished":
      return { agent: details.job.agent, schedule: details.job.schedule, job: details.job };
    case "schedule:planned":
      return {
        ...keyOf(details),
        next_run_at: details.nextRunAt?.toISOString() ?? null,
        source: details.source ?? null,
      };
    case "schedule:skipped":
      return {
        ...keyOf(details),
        reason: details.reason,
        slot: details.slot?.toISOString() ?? null,
        last_slot: details.lastSlot?.toISOString() ?? null,
        count: details.count ?? null,
      };
    case "schedule:missed":
      return {
        ...keyOf(details),
        slot: details.slot.toISOString(),
        last_slot: details.lastSlot.toISOString(),
        count: details.count,
        late_ms: details.lateMs,
        grace_ms: details.graceMs,
      };
    case "schedule:abandoned":
      return { ...keyOf(details), slot: details.slot.toISOString(), attempts: details.attempts };
    case "config:reloaded":
      return {
        agents: listsOf(details.agents, (name) => name),
        schedules: listsOf(details.schedules, nameOf),
        options: details.options,
      };
    case "config:refused":
    default:
      return { problems: details.error.problems };
  }
}

function keyOf({
  agent,
  schedule,
}: {
  agent?: string;
  schedule?: string;
}): Readonly<Record<string, unknown>> {
  return { agent: agent ?? null, schedule: schedule ?? null };
}

function codeOf(error: Error): string | null {
  return error instanceof RotaError ? error.code : null;
}

function listsOf<Item>(
  { added, removed, changed }: Differences<Item>,
  say: (item: Item) => string,
): Differences<string> {
  return { added: added.map(say), removed: removed.map(say), changed: changed.map(say) };
}

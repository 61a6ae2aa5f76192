/** A notice as one line for the terminal, with its reason. Notices of no interest to a person have no line. Pure. */
import type { AgentSchedule } from "../../scheduler/agent.js";
import type { ScheduleSkipReason } from "../../scheduler/control/schedule-check.js";
import type { SchedulerEvents } from "../../scheduler/events.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleKey } from "../../state/store.js";
import { nameOf } from "../fleet/fleet.js";
import { formatPlan } from "../format/plan.js";
import type { Style } from "../format/style.js";
import { oneLine } from "../format/text-width.js";
import { shortDuration, zonedTime } from "../format/when.js";
import type { Notice } from "./notice.js";

export interface NoticeLine {
  /** "reports/hourly" */
  readonly subject: string;
  /** One word: "completed". */
  readonly what: string;
  readonly style: Style | undefined;
  /** Details; may be empty. */
  readonly more: string;
  /** Whether it reports a failure. */
  readonly isBad: boolean;
  /** Whether it reports a job that found no work. */
  readonly isIdleRun: boolean;
}

export interface LineContext {
  readonly definitionOf: (key: ScheduleKey) => AgentSchedule | undefined;
  /** Whether the ended job found no work. */
  readonly isIdleRun: boolean;
}

/** `undefined` for missed and abandoned slots and errors too, because the scheduler logs these. */
export function noticeLine({ event, details }: Notice, about: LineContext): NoticeLine | undefined {
  if (event === "job:started") return started(details.job, about);
  if (event === "job:finished") return finished(details.job, about);
  if (event !== "schedule:skipped") return undefined;
  const words = (details.count === undefined ? WAITS : NOT_RUN)[details.reason];
  if (words === undefined) return undefined;
  const more = `${slotsOf(details)}${words}`;
  const subject = oneLine(nameOf(details));
  return { subject, what: "skipped", style: "dim", more, isBad: false, isIdleRun: false };
}

type SkipWords = Readonly<Partial<Record<ScheduleSkipReason, string>>>;

/** Of a slot that only waits. Skip reasons without an entry show in the schedule's state or in the line of the ended job. */
const WAITS: SkipWords = { at_capacity: "waits for capacity", paused: "waits for the end of the pause" };
/** Of slots that were counted. */
const NOT_RUN: SkipWords = {
  already_running: "came due while the previous job was still running",
  at_capacity: "came due while there was no capacity",
  paused: "came due while the schedule was paused",
  disabled: "came due before the schedule was disabled",
};

function slotsOf({ slot, lastSlot = slot, count = 1 }: SchedulerEvents["schedule:skipped"]): string {
  if (slot === undefined || lastSlot === undefined) return "";
  if (count === 1) return `the run of ${zonedTime(slot)} `;
  return `${count} runs from ${zonedTime(slot)} to ${zonedTime(lastSlot)} `;
}

function started(job: JobRecord, { definitionOf }: LineContext): NoticeLine {
  const why = whyOf(job, definitionOf);
  const more = oneLine(why === "" ? job.id : `${job.id}: ${why}`);
  return { subject: subjectOf(job), what: "started", style: "cyan", more, isBad: false, isIdleRun: false };
}

function finished(job: JobRecord, { isIdleRun }: LineContext): NoticeLine {
  const isGood = job.status === "completed";
  const took = job.duration_ms === null ? "" : ` after ${shortDuration(job.duration_ms)}`;
  const said = isGood ? (isIdleRun ? "found no work" : job.summary) : (job.error ?? job.summary);
  return {
    subject: subjectOf(job),
    what: job.status,
    style: isGood ? "green" : "red",
    more: oneLine(`${job.id}${took}${said === null || said === "" ? "" : `: ${said}`}`),
    isBad: !isGood,
    isIdleRun: isGood && isIdleRun,
  };
}

function subjectOf({ agent, schedule }: JobRecord): string {
  return oneLine(schedule === null ? agent : nameOf({ agent, schedule }));
}

/** The state no longer holds the hint once its run has started, so the line names only its kind. */
function whyOf(
  { agent, schedule, source, attempt }: JobRecord,
  definitionOf: LineContext["definitionOf"],
): string {
  if (source === "ai-interval") return "hint, changed interval";
  if (source === "ai-oneshot") return "hint, one extra run";
  const definition = schedule === null ? undefined : definitionOf({ agent, schedule });
  return formatPlan({
    definition,
    state: { status: "idle", next_run_source: source, failure_count: attempt - 1 },
  });
}

/** What happens as people read it: one line each, with why it happened. What is no news to them has no line. Pure. */
import type { AgentSchedule } from "../../scheduler/agent.js";
import type { ScheduleSkipReason } from "../../scheduler/control/schedule-check.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleKey } from "../../state/store.js";
import { nameOf } from "../fleet/fleet.js";
import { planWords } from "../format/plan.js";
import type { Style } from "../format/style.js";
import { oneLine } from "../format/text-width.js";
import { shortDuration, zonedTime } from "../format/when.js";
import type { News } from "./notice.js";

export interface NewsLine {
  /** "reports/hourly" */
  readonly subject: string;
  /** In a word: "completed". */
  readonly what: string;
  readonly style: Style | undefined;
  /** What else there is to say, or nothing. */
  readonly more: string;
  /** Whether something has gone wrong. */
  readonly isBad: boolean;
  /** Whether it tells of a job that has found nothing to do. */
  readonly isIdleRun: boolean;
}

export interface LineSurroundings {
  readonly definitionOf: (key: ScheduleKey) => AgentSchedule | undefined;
  /** Whether the job that ends had found nothing to do. */
  readonly isIdleRun: boolean;
}

/** Slots that were missed, and errors, are what the log tells. */
export function newsLine({ event, details }: News, about: LineSurroundings): NewsLine | undefined {
  if (event === "job:started") return started(details.job, about);
  if (event === "job:finished") return finished(details.job, about);
  if (event !== "schedule:skipped") return undefined;
  const words = SKIP_WORDS[details.reason];
  if (words === undefined) return undefined;
  const slot = details.slot === undefined ? "" : `the run of ${zonedTime(details.slot)} `;
  const more = `${slot}${words}`;
  const subject = oneLine(nameOf(details));
  return { subject, what: "skipped", style: "dim", more, isBad: false, isIdleRun: false };
}

/** Of those that have no words here, the state of the schedule tells, or the job that ends. */
const SKIP_WORDS: Readonly<Partial<Record<ScheduleSkipReason, string>>> = {
  already_running: "passed while the one before was still running",
  at_capacity: "waits for capacity",
  paused: "is dropped by a pause",
};

function started(job: JobRecord, { definitionOf }: LineSurroundings): NewsLine {
  const why = whyOf(job, definitionOf);
  const more = oneLine(why === "" ? job.id : `${job.id}: ${why}`);
  return { subject: subjectOf(job), what: "started", style: "cyan", more, isBad: false, isIdleRun: false };
}

function finished(job: JobRecord, { isIdleRun }: LineSurroundings): NewsLine {
  const isGood = job.status === "completed";
  const took = job.duration_ms === null ? "" : ` after ${shortDuration(job.duration_ms)}`;
  const said = isGood ? (isIdleRun ? "there was no work" : job.summary) : (job.error ?? job.summary);
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

/** Which hint it was is no longer known when its run has begun. */
function whyOf(
  { agent, schedule, source, attempt }: JobRecord,
  definitionOf: LineSurroundings["definitionOf"],
): string {
  if (source === "ai-interval") return "a hint asked for another interval";
  if (source === "ai-oneshot") return "a hint asked for an extra run";
  const definition = schedule === null ? undefined : definitionOf({ agent, schedule });
  return planWords({
    definition,
    state: { status: "idle", next_run_source: source, failure_count: attempt - 1 },
  });
}

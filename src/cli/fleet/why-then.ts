/**
 * Why a schedule ran or did not run at a time: from its definition, its state and the records of jobs. The state keeps no history
 * of pauses, so an answer says what is not recorded instead of guessing. Pure.
 */
import { isoTimeMs } from "../../iso-time.js";
import { nextCronRun, previousCronRun } from "../../scheduler/timing/cron.js";
import { parseInterval } from "../../scheduler/timing/interval.js";
import { cronExpression, isAutomatic } from "../../scheduler/timing/schedule.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import {
  agentPauseText,
  displayStatus,
  formatRule,
  isPausedIndefinitely,
  pausedUntil,
  type PlanContext,
  whyOf,
} from "../format/plan.js";
import { shortDuration } from "../format/when.js";
import type { FleetSchedule } from "./fleet.js";
import { forecast } from "./forecast.js";
import { endMs, ended, noWorkText, spoken, startMs, zoneOf } from "./why-words.js";

export type WhyVerdict =
  | "disabled"
  | "missed"
  | "not_due"
  | "on_request"
  | "paused"
  | "planned"
  | "ran"
  | "running"
  | "skipped"
  | "unknown"
  | "waiting";

export interface WhyAnswer {
  readonly verdict: WhyVerdict;
  readonly sentences: readonly string[];
  readonly jobs: readonly JobRecord[];
}

export interface WhyQuestion extends PlanContext {
  readonly schedule: FleetSchedule;
  /** The jobs of its agent, including its own, newest first. */
  readonly jobs: readonly JobRecord[];
  /** When the running schedulers started, the earliest. */
  readonly runningSince: Date | undefined;
}

const MINUTE_MS = 60_000;
const MOST_JOBS = 5;
const MOST_FORECAST = 5_000;

/** About a time in the past or to come; why-now.ts answers for now. */
export function whyThen(question: WhyQuestion, at: Date): WhyAnswer {
  const moment = new Moment(question, at);
  return at > question.now ? moment.future() : moment.past();
}

/** A question about one time: a whole minute where it has no seconds. */
class Moment {
  readonly #question: WhyQuestion;
  readonly #atMs: number;
  readonly #endMs: number;
  readonly #own: readonly JobRecord[];

  constructor(question: WhyQuestion, at: Date) {
    this.#question = question;
    this.#atMs = at.getTime();
    this.#endMs = this.#atMs + (this.#atMs % MINUTE_MS === 0 ? MINUTE_MS : 1_000);
    this.#own = ownJobs(question);
  }

  past(): WhyAnswer {
    const ran = this.#own.filter((job) => this.#has(isoTimeMs(job.slot)) || this.#has(startMs(job)));
    if (ran.length > 0) {
      const shown = ran.slice(0, MOST_JOBS).toReversed();
      return { verdict: "ran", sentences: shown.flatMap((job) => this.#told(job)), jobs: shown };
    }
    const slot = this.#slot();
    const over = this.#own.find((job) => isRunningAt(job, slot?.getTime() ?? this.#atMs));
    if (over !== undefined)
      return slot === undefined
        ? { verdict: "running", sentences: [`It was running: ${this.#ended(over)}`], jobs: [over] }
        : {
            verdict: "skipped",
            sentences: [
              `The slot of ${this.#spoken(slot)} was skipped: the job before was still running, and a schedule never overlaps itself`,
              this.#ended(over),
            ],
            jobs: [over],
          };
    return (
      this.#withoutWork(slot ?? new Date(this.#atMs)) ??
      (slot === undefined ? this.#notDue() : this.#notRun(slot))
    );
  }

  future(): WhyAnswer {
    const { schedule, now } = this.#question;
    const { definition, state, pause } = schedule;
    if (displayStatus(schedule, now) === "disabled")
      return said("disabled", `It will not run: it is disabled. \`rota enable\` enables it`);
    if (isPausedIndefinitely(schedule))
      return said(
        "paused",
        `It will not run: it is ${pause === undefined ? "paused until it is resumed" : agentPauseText(pause)}`,
      );
    const until = pausedUntil(schedule, now);
    if (until !== undefined && until.getTime() > this.#atMs)
      return said("paused", `It will not run: it is paused until ${this.#spoken(until)}`);
    if (definition === undefined)
      return said("unknown", "The configuration does not define it, so it is not planned");
    if (!isAutomatic(definition)) return said("on_request", "It runs on request only");
    const runs = forecast({ definition, state, pause, now, count: MOST_FORECAST });
    const next = runs.find(({ nextRunAt }) => nextRunAt.getTime() >= this.#atMs);
    if (next === undefined && runs.length === MOST_FORECAST)
      return said("unknown", `That is more than ${MOST_FORECAST} runs away`);
    if (next === undefined) return said("not_due", "It will not run: no run is planned from then on");
    const { nextRunAt, source } = next;
    const assumption = definition.type === "interval" ? ", if every job until then succeeds at once" : "";
    if (this.#has(nextRunAt.getTime()))
      return said("planned", `It is planned to run at ${this.#spoken(nextRunAt)} (${source})${assumption}`);
    return said(
      "not_due",
      `It is not due then. The next run is at ${this.#spoken(nextRunAt)} (${source})${assumption}`,
    );
  }

  #has(ms: number | undefined): boolean {
    return ms !== undefined && ms >= this.#atMs && ms < this.#endMs;
  }

  /** The slot at this time, as the definition has it now. */
  #slot(): Date | undefined {
    const { definition } = this.#question.schedule;
    if (definition?.type === "once") {
      const ms = isoTimeMs(definition.at);
      return ms !== undefined && this.#has(ms) ? new Date(ms) : undefined;
    }
    if (definition?.type !== "cron") return undefined;
    const slot = nextCronRun(cronExpression(definition), new Date(this.#atMs - 1), definition.timezone);
    return this.#has(slot.getTime()) ? slot : undefined;
  }

  /** A slot that found no work makes no job; only the last one is recorded. */
  #withoutWork(slot: Date): WhyAnswer | undefined {
    const { last_no_work_at } = this.#question.schedule.state;
    const waitedMs = (isoTimeMs(last_no_work_at) ?? -Infinity) - slot.getTime();
    if (waitedMs < 0 || waitedMs >= MINUTE_MS) return undefined;
    return said("skipped", "It found no work, so no job was started", ...this.#noWork());
  }

  #noWork(): readonly string[] {
    const text = noWorkText(this.#question.schedule);
    return text === undefined ? [] : [text];
  }

  /** A slot without a job. */
  #notRun(slot: Date): WhyAnswer {
    const { schedule, now, isSchedulerRunning, runningSince } = this.#question;
    const { state } = schedule;
    const name = `The slot of ${this.#spoken(slot)}`;
    const busy = this.#busyAt(slot.getTime());
    if (busy.length > 0)
      return {
        verdict: "skipped",
        sentences: [`${name} was not run: its agent was at capacity`, ...busy.map((job) => this.#ended(job))],
        jobs: busy,
      };
    const missedMs = isoTimeMs(state.last_missed_at) ?? -Infinity;
    if (missedMs >= slot.getTime()) {
      const total = `${state.missed_count ?? 1} in all, the latest at ${this.#spoken(new Date(missedMs))}`;
      if (runningSince !== undefined && runningSince <= slot)
        return said(
          "missed",
          `${name} was dropped although a scheduler ran (slots not run: ${total})`,
          "The schedule may have been paused or disabled then, or had no capacity; which of these is not recorded",
        );
      return said(
        "missed",
        `${name} was missed: no scheduler could start it in time, so it was dropped (slots not run: ${total})`,
        "`missed: once` would run it late, and `grace` says how late a slot may start",
      );
    }
    if (displayStatus(schedule, now) === "disabled")
      return said("disabled", `${name} was not run. The schedule is disabled; since when is not recorded`);
    const { pause } = schedule;
    if (pause !== undefined && (isoTimeMs(pause.since) ?? Infinity) <= slot.getTime())
      return said(
        "paused",
        `${name} was not run: the schedule is ${agentPauseText(pause)}. The pause began at ${this.#spoken(new Date(pause.since))}`,
      );
    const until = pausedUntil(schedule, now);
    if (until !== undefined)
      return said(
        "paused",
        `${name} was not run. The schedule is paused ${isPausedIndefinitely(schedule) ? "until it is resumed" : `until ${this.#spoken(until)}`}; since when is not recorded`,
      );
    if (slot.getTime() + MINUTE_MS > now.getTime())
      return said("waiting", `${name} has not started yet: ${whyOf(schedule, this.#question)}`);
    return said(
      "unknown",
      `${name} has no job, and why is not recorded`,
      ...this.#hints(slot, { isSchedulerRunning, runningSince }),
      ...this.#noWork(),
    );
  }

  /** What may explain a slot without a job. */
  #hints(
    slot: Date,
    { isSchedulerRunning, runningSince }: Pick<WhyQuestion, "isSchedulerRunning" | "runningSince">,
  ): readonly string[] {
    const oldest = this.#own.at(-1);
    if (oldest === undefined)
      return [
        "No job of this schedule is recorded",
        ...(isSchedulerRunning ? [] : ["No scheduler runs now"]),
      ];
    if (startMs(oldest) > slot.getTime())
      return [
        `The oldest recorded job started at ${this.#spoken(new Date(startMs(oldest)))}; older ones may have been removed`,
      ];
    if (!isSchedulerRunning) return ["No scheduler runs now. The next one counts the slots that it missed"];
    if (runningSince !== undefined && runningSince > slot)
      return [`The running scheduler started later, at ${this.#spoken(runningSince)}`];
    return ["The schedule may have been paused, disabled or changed since"];
  }

  #notDue(): WhyAnswer {
    const { schedule } = this.#question;
    const { definition } = schedule;
    if (definition === undefined)
      return said("unknown", "The configuration does not define it, so its times are not known");
    if (!isAutomatic(definition)) return said("on_request", "It did not run: it runs on request only");
    const before = this.#own.find((job) => startMs(job) < this.#atMs);
    const after = this.#own.findLast((job) => startMs(job) >= this.#endMs);
    const around = [
      ...(before === undefined ? [] : [`The job before: ${this.#ended(before)}`]),
      ...(after === undefined ? [] : [`The job after: ${this.#ended(after)}`]),
    ];
    const jobs = [before, after].filter((job) => job !== undefined);
    if (definition.type === "cron") {
      const expression = cronExpression(definition);
      const [earlier, later] = [
        previousCronRun(expression, new Date(this.#atMs), definition.timezone),
        nextCronRun(expression, new Date(this.#endMs - 1), definition.timezone),
      ];
      const times = `The time before is ${this.#spoken(earlier)}, the next ${this.#spoken(later)}`;
      return {
        verdict: "not_due",
        sentences: [`It was not due: ${formatRule(definition)}. ${times}`, ...around],
        jobs,
      };
    }
    if (definition.type !== "interval")
      return {
        verdict: "not_due",
        sentences: [`It was not due: ${formatRule(definition)}`, ...around],
        jobs,
      };
    if (before === undefined)
      return { verdict: "unknown", sentences: ["No job before that time is recorded", ...around], jobs };
    const anchorMs = definition.anchor === "start" ? startMs(before) : endMs(before);
    const dueMs = anchorMs + parseInterval(definition.interval);
    if (this.#atMs < dueMs) {
      const from = `${formatRule(definition)}, counted from the ${definition.anchor === "start" ? "start" : "end"} of ${before.id}`;
      return {
        verdict: "not_due",
        sentences: [`It was not due before ${this.#spoken(new Date(dueMs))}: ${from}`, ...around],
        jobs,
      };
    }
    const busy = this.#busyAt(this.#atMs);
    if (busy.length > 0)
      return {
        verdict: "waiting",
        sentences: [
          "It waited: its agent was at capacity",
          ...busy.map((job) => this.#ended(job)),
          ...around,
        ],
        jobs: [...busy, ...jobs],
      };
    return {
      verdict: "unknown",
      sentences: [
        "Why it did not run then is not recorded: failures, a hint, a pause or a stopped scheduler may have put it off",
        ...this.#noWork(),
        ...around,
      ],
      jobs,
    };
  }

  /** The jobs that filled the agent's capacity at a time. */
  #busyAt(ms: number): readonly JobRecord[] {
    const { jobs, load } = this.#question;
    const running = jobs.filter((job) => isRunningAt(job, ms));
    return load?.most !== undefined && running.length >= load.most ? running.slice(0, MOST_JOBS) : [];
  }

  /** A job that ran at this time, with what held it up. */
  #told(job: JobRecord): readonly string[] {
    const slotMs = isoTimeMs(job.slot);
    const waitedMs = startMs(job) - (slotMs ?? Infinity);
    const busy =
      slotMs === undefined || waitedMs < 1_000 ? [] : this.#busyAt(slotMs).filter(({ id }) => id !== job.id);
    const [first] = busy;
    return [
      this.#ended(job),
      ...(first === undefined
        ? []
        : [
            `It waited ${shortDuration(waitedMs)}: its agent was at capacity with ${first.id} of ${first.agent}/${first.schedule ?? ""}`,
          ]),
    ];
  }

  #ended(job: JobRecord): string {
    return ended(job, this.#question.now, zoneOf(this.#question.schedule));
  }

  #spoken(at: Date): string {
    return spoken(at, zoneOf(this.#question.schedule));
  }
}

function said(verdict: WhyVerdict, ...sentences: readonly string[]): WhyAnswer {
  return { verdict, sentences, jobs: [] };
}

export function ownJobs({ jobs, schedule }: WhyQuestion): readonly JobRecord[] {
  return jobs.filter((job) => job.schedule === schedule.schedule);
}

function isRunningAt(job: JobRecord, ms: number): boolean {
  return startMs(job) <= ms && endMs(job) > ms;
}

/**
 * What a schedule is, and which ones are refused: everything wrong with one is said when it is defined, never when it
 * is due. Keys are spelled as the configuration spells them; durations are interval texts such as "5m".
 */
import { quote } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import { parseCronExpression } from "./cron.js";
import { ScheduleDefinitionError } from "../errors.js";
import { isJitterPercent, parseInterval, readInterval } from "./interval.js";
import { type RetryOptions, validateRetries } from "./retries.js";
import { timeZone } from "./time-zone.js";

export type Schedule = IntervalSchedule | CronSchedule | OnceSchedule | WebhookSchedule | ChatSchedule;
/** The schedules that always have a next run. */
export type RecurringSchedule = IntervalSchedule | CronSchedule;

export interface IntervalSchedule extends Limits, MissedSlots, Busy, Failures, Attempts {
  readonly type: "interval";
  readonly interval: string;
  /**
   * What the interval counts from: the end of the last run, or its start (its end, where the run took longer).
   * @default "completion"
   */
  readonly anchor?: "completion" | "start" | undefined;
  /**
   * Percent of the wait, 0 to 10, that is added at random so that a herd does not wake at once.
   * @default 0
   */
  readonly jitter?: number | undefined;
  /**
   * The longest wait after failures, with `on_failure: backoff`.
   * @default the longer of the interval and 6h
   */
  readonly max_backoff?: string | undefined;
}

export type CronSchedule = Limits &
  MissedSlots &
  Busy &
  Failures &
  Attempts & {
    readonly type: "cron";
    /** @default the system's time zone */
    readonly timezone?: string | undefined;
  } & (
    | { readonly expression: string; readonly cron?: undefined }
    /** The same as `expression`. */
    | { readonly cron: string; readonly expression?: undefined }
  );

export interface OnceSchedule extends MissedSlots, Busy, Attempts {
  readonly type: "once";
  /** ISO time with its offset, such as "2026-03-01T09:00:00Z". */
  readonly at: string;
}

/** Started by a request from outside, never by the loop. */
export interface WebhookSchedule extends Attempts {
  readonly type: "webhook";
}

/** Started by a message, never by the loop. */
export interface ChatSchedule extends Attempts {
  readonly type: "chat";
}

interface Limits {
  /** The next run is at least this far away when it is planned. */
  readonly min_interval?: string | undefined;
  /** The next run is at most this far away when it is planned. */
  readonly max_interval?: string | undefined;
}

interface MissedSlots {
  /**
   * Whether a slot that no scheduler was there to run is dropped, or run one time late.
   * @default "skip"; "once" for intervals
   */
  readonly missed?: "skip" | "once" | undefined;
  /**
   * How late a slot may start without counting as missed.
   * @default half the period up to a minute, else a sixtieth of it, at most 5m
   */
  readonly grace?: string | undefined;
}

interface Busy {
  /**
   * Whether a slot that comes due while its agent is at capacity waits for its turn, or is dropped.
   * @default "wait"
   */
  readonly when_busy?: "wait" | "skip" | undefined;
}

interface Failures {
  /**
   * What a failed job does to the next run: doubles the wait of an interval, nothing, or pauses the schedule until
   * somebody resumes it.
   * @default "backoff"
   */
  readonly on_failure?: "backoff" | "continue" | "pause" | undefined;
}

interface Attempts {
  /**
   * Whether a slot whose process died runs again, or is given up: then it runs at most once.
   * @default "retry"
   */
  readonly on_interrupt?: "retry" | "skip" | undefined;
  /**
   * Tries a slot whose job failed again, before it counts as a failure: how many times, or more precisely how.
   * @default the agent's, which is 0
   */
  readonly retries?: number | RetryOptions | undefined;
}

/** Which keys make sense for which type; `type` itself always does. */
const KEYS: Readonly<Record<Schedule["type"], readonly string[]>> = {
  interval: [
    "interval",
    "anchor",
    "jitter",
    "max_backoff",
    "min_interval",
    "max_interval",
    "missed",
    "grace",
    "when_busy",
    "on_failure",
  ],
  cron: [
    "expression",
    "cron",
    "timezone",
    "min_interval",
    "max_interval",
    "missed",
    "grace",
    "when_busy",
    "on_failure",
  ],
  once: ["at", "missed", "grace", "when_busy"],
  webhook: [],
  chat: [],
};
const ON_FAILURE: ReadonlySet<unknown> = new Set(["backoff", "continue", "pause"]);
const TIMING_KEYS = new Set(Object.values(KEYS).flat());

/** Throws the error that explains what is wrong; keys that have nothing to do with time are not checked. */
export function validateSchedule(schedule: unknown): asserts schedule is Schedule {
  if (!isTyped(schedule)) {
    const type =
      typeof schedule === "object" && schedule !== null && "type" in schedule ? schedule.type : undefined;
    throw wrong("type", type, `one of ${Object.keys(KEYS).join(", ")}`);
  }
  validateAttempts(schedule);
  for (const key of Object.keys(schedule)) {
    if (KEYS[schedule.type].includes(key) || !TIMING_KEYS.has(key)) continue;
    if (Reflect.get(schedule, key) !== undefined) {
      throw new ScheduleDefinitionError(
        `A schedule of type ${schedule.type} cannot have the key ${key}: remove it`,
        key,
      );
    }
  }
  if (schedule.type === "interval") validateInterval(schedule);
  if (schedule.type === "cron") validateCron(schedule);
  if (schedule.type === "once") {
    onceTimeMs(schedule);
    validateMissed(schedule);
    validateBusy(schedule);
  }
}

/** Says only that the type is known: what the other keys hold is still to be checked. */
function isTyped(schedule: unknown): schedule is Schedule {
  if (typeof schedule !== "object" || schedule === null || !("type" in schedule)) return false;
  return typeof schedule.type === "string" && Object.hasOwn(KEYS, schedule.type);
}

/** The expression under either of its two keys. */
export function cronExpression(schedule: CronSchedule): string {
  return schedule.expression ?? schedule.cron;
}

/** The one time of a `once` schedule; throws ScheduleDefinitionError when it is not a time. */
export function onceTimeMs({ at }: OnceSchedule): number {
  const ms = isoTimeMs(at);
  if (ms === undefined) throw wrong("at", at, 'an ISO time with its offset, such as "2026-03-01T09:00:00Z"');
  return ms;
}

function validateInterval(schedule: IntervalSchedule): void {
  parseInterval(schedule.interval);
  const { anchor = "completion", jitter = 0 } = schedule;
  if (anchor !== "completion" && anchor !== "start") throw wrong("anchor", anchor, '"completion" or "start"');
  if (!isJitterPercent(jitter)) throw wrong("jitter", jitter, "0 to 10 percent");
  validateLimits(schedule);
  validateMissed(schedule);
  validateBusy(schedule);
  validateFailures(schedule);
  const longestMs = intervalUnder("max_backoff", schedule) ?? Infinity;
  if (longestMs < parseInterval(schedule.interval))
    throw wrong(
      "max_backoff",
      schedule.max_backoff,
      `at least interval, which is ${quote(schedule.interval)}`,
    );
}

function validateCron(schedule: CronSchedule): void {
  if (schedule.expression !== undefined && schedule.cron !== undefined) {
    throw new ScheduleDefinitionError(
      "A schedule has either expression or cron, which mean the same: remove one",
      "cron",
    );
  }
  parseCronExpression(cronExpression(schedule));
  if (schedule.timezone !== undefined) timeZone(schedule.timezone);
  validateLimits(schedule);
  validateMissed(schedule);
  validateBusy(schedule);
  validateFailures(schedule);
}

function validateLimits(schedule: Limits): void {
  const minMs = intervalUnder("min_interval", schedule) ?? 0;
  const maxMs = intervalUnder("max_interval", schedule) ?? Infinity;
  const { min_interval, max_interval } = schedule;
  if (minMs > maxMs)
    throw wrong("min_interval", min_interval, `at most max_interval, which is ${quote(max_interval)}`);
}

function validateMissed(schedule: MissedSlots): void {
  const { missed = "skip" } = schedule;
  if (missed !== "skip" && missed !== "once") throw wrong("missed", missed, '"skip" or "once"');
  intervalUnder("grace", schedule);
}

function validateBusy({ when_busy = "wait" }: Busy): void {
  if (when_busy !== "wait" && when_busy !== "skip") throw wrong("when_busy", when_busy, '"wait" or "skip"');
}

function validateFailures({ on_failure = "backoff" }: Failures): void {
  if (!ON_FAILURE.has(on_failure)) throw wrong("on_failure", on_failure, '"backoff", "continue" or "pause"');
}

function validateAttempts({ on_interrupt = "retry", retries }: Attempts): void {
  if (on_interrupt !== "retry" && on_interrupt !== "skip")
    throw wrong("on_interrupt", on_interrupt, '"retry" or "skip"');
  validateRetries(retries);
}

/** The interval a key holds, in milliseconds; an error names the key, because a schedule has several. */
function intervalUnder<Key extends string>(
  key: Key,
  holder: { readonly [K in Key]?: string | undefined },
): number | undefined {
  const text = holder[key];
  if (text === undefined) return undefined;
  return readInterval(
    text,
    (fault) => new ScheduleDefinitionError(`Invalid ${key} ${quote(text)}: ${fault}`, key),
  );
}

function wrong(key: string, value: unknown, expected: string): ScheduleDefinitionError {
  return new ScheduleDefinitionError(`Invalid ${key} ${quote(value)}: expected ${expected}`, key);
}

/** Whether the loop starts it. Webhook and chat schedules wait for a request. */
export function isAutomatic({ type }: Pick<Schedule, "type">): boolean {
  return type !== "webhook" && type !== "chat";
}

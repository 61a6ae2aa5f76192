/**
 * What a schedule is, and which ones are refused: everything wrong with one is said when it is defined, never when it
 * is due. Keys are spelled as the configuration spells them; durations are interval texts such as "5m".
 */
import { quote } from "../errors.js";
import { parseCronExpression } from "./cron.js";
import { ScheduleDefinitionError } from "./errors.js";
import { isJitterPercent, parseInterval } from "./interval.js";
import { timeZone } from "./time-zone.js";

export type Schedule = IntervalSchedule | CronSchedule | OnceSchedule | WebhookSchedule | ChatSchedule;
/** The schedules that always have a next run. */
export type RecurringSchedule = IntervalSchedule | CronSchedule;

export interface IntervalSchedule extends Limits, MissedSlots {
  readonly type: "interval";
  readonly interval: string;
  /**
   * What the interval counts from: the end of the last run, or its start (its end, where the run took longer).
   * @default "completion"
   */
  readonly anchor?: "completion" | "start";
  /**
   * Percent of the interval, 0 to 10, that is added at random so that a herd does not wake at once.
   * @default 0
   */
  readonly jitter?: number;
}

export type CronSchedule = Limits &
  MissedSlots & {
    readonly type: "cron";
    /** @default the system's time zone */
    readonly timezone?: string;
  } & (
    | { readonly expression: string; readonly cron?: never }
    /** Another word for `expression`. */
    | { readonly cron: string; readonly expression?: never }
  );

export interface OnceSchedule extends MissedSlots {
  readonly type: "once";
  /** ISO time with its offset, such as "2026-03-01T09:00:00Z". */
  readonly at: string;
}

/** Started by a request from outside, never by the loop. */
export interface WebhookSchedule {
  readonly type: "webhook";
}

/** Started by a message, never by the loop. */
export interface ChatSchedule {
  readonly type: "chat";
}

interface Limits {
  /** The next run is at least this far away when it is planned. */
  readonly min_interval?: string;
  /** The next run is at most this far away when it is planned. */
  readonly max_interval?: string;
}

interface MissedSlots {
  /**
   * Whether a slot that nobody was there to run is dropped, or run one time late.
   * @default "skip"; "once" for intervals
   */
  readonly missed?: "skip" | "once";
  /**
   * How late a slot may start without counting as missed.
   * @default half the period up to a minute, else a sixtieth of it, at most 5m
   */
  readonly grace?: string;
}

/** Which keys make sense for which type; `type` itself always does. */
const KEYS: Readonly<Record<Schedule["type"], readonly string[]>> = {
  interval: ["interval", "anchor", "jitter", "min_interval", "max_interval", "missed", "grace"],
  cron: ["expression", "cron", "timezone", "min_interval", "max_interval", "missed", "grace"],
  once: ["at", "missed", "grace"],
  webhook: [],
  chat: [],
};
const TIMING_KEYS = new Set(Object.values(KEYS).flat());

/** Throws the error that explains what is wrong; keys that have nothing to do with time are left to others. */
export function validateSchedule(schedule: Schedule): void {
  if (!Object.hasOwn(KEYS, schedule.type))
    throw wrong("type", schedule.type, `one of ${Object.keys(KEYS).join(", ")}`);
  const allowed = KEYS[schedule.type];
  for (const [key, value] of Object.entries(schedule)) {
    if (value !== undefined && TIMING_KEYS.has(key) && !allowed.includes(key)) {
      throw new ScheduleDefinitionError(
        `A schedule of type ${schedule.type} cannot have the key ${key}: remove it`,
        key,
      );
    }
  }
  if (schedule.type === "interval") validateInterval(schedule);
  if (schedule.type === "cron") validateCron(schedule);
  if (schedule.type === "once") validateOnce(schedule);
}

/** The expression under either of its two keys. */
export function cronExpression(schedule: CronSchedule): string {
  return schedule.expression ?? schedule.cron;
}

function validateInterval(schedule: IntervalSchedule): void {
  parseInterval(schedule.interval);
  const { anchor = "completion", jitter = 0 } = schedule;
  if (anchor !== "completion" && anchor !== "start") throw wrong("anchor", anchor, '"completion" or "start"');
  if (!isJitterPercent(jitter)) throw wrong("jitter", jitter, "0 to 10 percent");
  validateLimits(schedule);
  validateMissed(schedule);
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
}

function validateOnce(schedule: OnceSchedule): void {
  if (!isIsoTime(schedule.at)) {
    throw wrong("at", schedule.at, 'an ISO time with its offset, such as "2026-03-01T09:00:00Z"');
  }
  validateMissed(schedule);
}

/** Stricter than `Date.parse`, which takes other notations, local time, and 30 February. */
function isIsoTime(text: unknown): boolean {
  const [, date] =
    /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.exec(String(text)) ?? [];
  if (date === undefined || Number.isNaN(Date.parse(String(text)))) return false;
  return new Date(date).toISOString().startsWith(date);
}

function validateLimits({ min_interval, max_interval }: Limits): void {
  const minMs = min_interval === undefined ? 0 : parseInterval(min_interval);
  const maxMs = max_interval === undefined ? Infinity : parseInterval(max_interval);
  if (minMs > maxMs)
    throw wrong("min_interval", min_interval, `at most max_interval, which is ${quote(max_interval)}`);
}

function validateMissed({ missed, grace }: MissedSlots): void {
  if (missed !== undefined && missed !== "skip" && missed !== "once")
    throw wrong("missed", missed, '"skip" or "once"');
  if (grace !== undefined) parseInterval(grace);
}

function wrong(key: string, value: unknown, expected: string): ScheduleDefinitionError {
  return new ScheduleDefinitionError(`Invalid ${key} ${quote(value)}: expected ${expected}`, key);
}

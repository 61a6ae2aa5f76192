/**
 * Interval schedules: the text form ("5m") and the next due time.
 * Counted from the last completion, so that a slow job never piles up on itself. Backoff and hints are the governor's.
 */
import { BoundedCache } from "../../bounded-cache.js";
import { systemClock } from "../../clock.js";
import { durationMs, UNIT_MS } from "../../duration.js";
import { quote } from "../../errors.js";
import { type Random, systemRandom } from "../../random.js";
import { IntervalParseError, SchedulerError } from "../errors.js";

/** A hundred years: with backoff and jitter on top, every plan is still a valid `Date`. */
const LONGEST_MS = 36_500 * UNIT_MS.d;
const FORMAT = '"{number}{unit}"';
const UNITS = Object.keys(UNIT_MS).join(", ");

/** Intervals that were parsed before: every plan needs one, and a herd has few different ones. */
const known = new BoundedCache<string, number>(1_000);

/** The milliseconds in `{positive integer}{s|m|h|d}`; throws IntervalParseError for everything else. */
export function parseInterval(text: string): number {
  const cached = known.get(text);
  if (cached !== undefined) return cached;
  return known.keep(
    text,
    readInterval(text, (fault) => refusalOf(text, fault)),
  );
}

function refusalOf(text: unknown, fault: string): IntervalParseError {
  return new IntervalParseError(fault, typeof text === "string" ? text : quote(text));
}

/** The same with the caller's own error, which may name the key that holds the text. */
export function readInterval(text: unknown, refusal: (fault: string) => Error): number {
  const ms = typeof text === "string" ? durationMs(text) : undefined;
  if (ms === undefined || ms === 0 || ms > LONGEST_MS) throw refusal(explain(text, ms));
  return ms;
}

function explain(text: unknown, ms: number | undefined): string {
  if (typeof text !== "string") return `An interval is text such as "5m", got ${quote(text)}`;
  if (ms === 0) return "Zero interval is not allowed";
  if (ms !== undefined) return `Interval ${quote(text)} is too long. The longest is 36500d`;
  if (text.trim() === "") return `Interval is empty. Expected format: ${FORMAT}`;
  if (/^-\d/.test(text)) return "Negative intervals are not allowed";
  if (/^\d*[.,]\d/.test(text)) return "Decimal values are not supported";
  if (/^\d+$/.test(text)) return `Missing time unit. Expected format: ${FORMAT}`;
  const [, unit] = /^\d+([^\s\d].*)$/s.exec(text) ?? [];
  const meant = spelledOut(text);
  if (unit !== undefined && meant === undefined)
    return `Invalid time unit ${quote(unit)}. Valid units are: ${UNITS}`;
  if (meant !== undefined)
    return `Invalid interval ${quote(text)}. Expected format: ${FORMAT}; did you mean ${quote(meant)}?`;
  return `Invalid interval ${quote(text)}. Expected format: ${FORMAT}, for example "5m"`;
}

/** "10 minutes" and "5min" in the format that was probably meant. */
function spelledOut(text: string): string | undefined {
  const [, count, word] = /^(\d{1,9})(?: {1,3}(?=[smhd]$)| {0,3}(?=[a-z]{2}))([a-z]{1,7})$/i.exec(text) ?? [];
  const unit = /^(?:(s)(?:ecs?|econds?)?|(m)(?:ins?|inutes?)?|(h)(?:rs?|ours?)?|(d)(?:ays?)?)$/i.exec(
    word ?? "",
  );
  const [letter] = unit?.slice(1).filter((part) => part !== undefined) ?? [];
  return letter === undefined || Number(count) === 0 ? undefined : `${Number(count)}${letter.toLowerCase()}`;
}

export interface NextTriggerOptions {
  /** @default the system's time */
  readonly now?: Date | undefined;
  /** @default Math.random */
  readonly random?: Random | undefined;
}

/**
 * When an interval schedule is due again: its last completion + interval, plus up to `jitterPercent` (0–10) of it.
 * Due now when it never ran or that time has passed: one run, however many intervals went by.
 */
export function calculateNextTrigger(
  lastCompletedAt: Date | null,
  interval: string,
  jitterPercent = 0,
  { now = systemClock.now(), random = systemRandom }: NextTriggerOptions = {},
): Date {
  const intervalMs = parseInterval(interval);
  if (!isJitterPercent(jitterPercent)) {
    throw new SchedulerError(`Jitter ${quote(jitterPercent)} is out of range. Expected 0 to 10 percent`, {
      code: "INVALID_ARGUMENT",
    });
  }
  if (lastCompletedAt === null) return now;
  if (Number.isNaN(lastCompletedAt.getTime())) {
    throw new SchedulerError("The last completion is not a valid Date", { code: "INVALID_ARGUMENT" });
  }
  const dueMs = lastCompletedAt.getTime() + withJitter(intervalMs, jitterPercent, random);
  return new Date(Math.max(dueMs, now.getTime()));
}

/** Whether the time has come; a time equal to `now` has. */
export function isScheduleDue(nextRunAt: Date, now: Date = systemClock.now()): boolean {
  return nextRunAt <= now;
}

export function isJitterPercent(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 10;
}

/** The delay lengthened by a random share of it, `percent` at most; never shortened. */
export function withJitter(delayMs: number, percent: number, random: Random): number {
  return percent === 0 ? delayMs : delayMs + Math.floor((delayMs * percent * random()) / 100);
}

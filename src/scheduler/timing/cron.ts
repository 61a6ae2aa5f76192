/**
 * Cron schedules: when an expression runs next, and when it ran before, in a time zone.
 * At a clock change a fixed time that is skipped runs once where the gap ends, and one that comes twice runs the first
 * time; with a `*` in minute or hour the elapsed time counts instead, so every matching local time runs.
 */
import { BoundedCache } from "../../bounded-cache.js";
import { systemClock } from "../../clock.js";
import { quote } from "../../errors.js";
import { countMatches, nextMatch, previousMatch } from "./cron-calendar.js";
import {
  type CompiledCron,
  type CronExpression,
  neverMatchingError,
  readCronExpression,
} from "./cron-expression.js";
import { CronParseError, SchedulerError } from "../errors.js";
import { type TimeZone, timeZone } from "./time-zone.js";

const EXPRESSIONS_KEPT = 2048;
const expressions = new BoundedCache<string, CompiledCron>(EXPRESSIONS_KEPT);

/** The expression, to be used in place of its text; throws CronParseError for a text that is none or never matches. */
export function parseCronExpression(text: string): CronExpression {
  return compiled(text);
}

function compiled(text: string): CompiledCron {
  return expressions.get(text) ?? expressions.keep(text, compile(text));
}

function compile(text: string): CompiledCron {
  const cron = readCronExpression(text);
  if (nextMatch(cron, 0) === Infinity) throw neverMatchingError(text);
  return cron;
}

export function isValidCronExpression(text: string): boolean {
  try {
    parseCronExpression(text);
    return true;
  } catch (error) {
    if (error instanceof CronParseError) return false;
    throw error;
  }
}

/** The first run strictly after `after`. Without `timezone` the system's zone counts. */
export function nextCronRun(expression: string | CronExpression, after: Date, timezone?: string): Date {
  const afterSecond = Math.floor(checkedTime(after) / 1000);
  return new Date(nextInstant(compiled(textOf(expression)), afterSecond, timeZone(timezone)) * 1000);
}

/** The last run strictly before `before`. */
export function previousCronRun(expression: string | CronExpression, before: Date, timezone?: string): Date {
  const beforeSecond = Math.ceil(checkedTime(before) / 1000);
  return new Date(previousInstant(compiled(textOf(expression)), beforeSecond, timeZone(timezone)) * 1000);
}

/** The next `count` runs after `after`, earliest first. */
export function nextCronRuns(
  expression: string | CronExpression,
  count: number,
  after: Date = systemClock.now(),
  timezone?: string,
): Date[] {
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new SchedulerError(`Cannot list ${quote(count)} runs. Expected a whole number from 0`, {
      code: "INVALID_ARGUMENT",
    });
  }
  const runs: Date[] = [];
  for (let latest = after; runs.length < count; runs.push(latest))
    latest = nextCronRun(expression, latest, timezone);
  return runs;
}

/** How many runs there are after `after`, up to and including `until`; counted by days, so that years cost little. */
export function countCronRuns(
  expression: string | CronExpression,
  after: Date,
  until: Date,
  timezone?: string,
): number {
  const cron = compiled(textOf(expression));
  const zone = timeZone(timezone);
  const end = Math.floor(checkedTime(until) / 1000);
  let count = 0;
  for (let at = Math.floor(checkedTime(after) / 1000) + 1; at <= end;) {
    const span = zone.spanAt(at);
    let from = at + span.offset;
    if (cron.fixedTime) {
      // Times that the change skipped run once where the gap ends; times that come a second time have run.
      if (at === span.start && span.resumedFrom < from && nextMatch(cron, span.resumedFrom) < from) {
        count++;
        from++;
      }
      from = Math.max(from, span.resumedFrom);
    }
    count += countMatches(cron, from, Math.min(span.end - 1, end) + span.offset);
    at = span.end;
  }
  return count;
}

/** Whether `at` is one of its times. None is outside the years for which time zones are known. */
export function isCronRun(expression: string | CronExpression, at: Date, timezone?: string): boolean {
  const ms = at.getTime();
  if (!(ms > EARLIEST_MS && ms < LATEST_MS)) return false;
  return nextCronRun(expression, new Date(ms - 1), timezone).getTime() === ms;
}

function textOf(expression: string | CronExpression): string {
  return typeof expression === "object" && expression !== null ? expression.text : expression;
}

/** More than any two offsets can differ. All in seconds, here and below. */
const OFFSETS_APART = 2 * 86_400;

function nextInstant(cron: CompiledCron, after: number, zone: TimeZone): number {
  let span = zone.spanAt(after);
  let from = after + 1 + span.offset;
  for (;;) {
    if (cron.fixedTime) from = Math.max(from, span.resumedFrom); // what comes a second time has run
    const local = nextMatch(cron, from);
    const spanEnd = span.end + span.offset;
    if (local < spanEnd) return local - span.offset;
    // Far from a clock change no earlier local time can come again, so the search goes on close to the match.
    const at =
      from + OFFSETS_APART < spanEnd ? Math.max(span.end, local - span.offset - OFFSETS_APART) : span.end;
    span = zone.spanAt(at);
    from = at + span.offset;
    if (cron.fixedTime && local < from) return span.start; // skipped by the change: once, where the gap ends
  }
}

function previousInstant(cron: CompiledCron, before: number, zone: TimeZone): number {
  let until = before - 1;
  for (;;) {
    const span = zone.spanAt(until);
    const local = previousMatch(cron, until + span.offset);
    const from = span.start + span.offset;
    if (local >= (cron.fixedTime ? Math.max(from, span.resumedFrom) : from)) return local - span.offset;
    if (cron.fixedTime && local >= span.resumedFrom) return span.start;
    until = span.start - 1;
  }
}

/** Time zones are known from the first to the last of the two. */
const EARLIEST_MS = Date.UTC(1000, 0, 1);
const LATEST_MS = Date.UTC(9999, 0, 1);

function checkedTime(instant: Date): number {
  const ms = instant instanceof Date ? instant.getTime() : NaN;
  if (ms >= EARLIEST_MS && ms < LATEST_MS) return ms;
  throw new SchedulerError(
    `Cron runs cannot be found from ${quote(instant)}. Expected a Date in the years 1000 to 9998`,
    {
      code: "INVALID_ARGUMENT",
    },
  );
}

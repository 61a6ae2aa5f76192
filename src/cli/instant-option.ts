/**
 * Options for a time as people write it: "03:47", "2026-11-17 23:47", "tomorrow 9:00", an ISO time, or a duration before or
 * after now. Pure.
 */
import { durationMs, UNIT_MS } from "../duration.js";
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { timeZone } from "../scheduler/timing/time-zone.js";
import { option, type Option } from "./command.js";
import { usageError } from "./errors.js";

/** The time that was typed, resolved against now. A time without an offset is local in `timezone`, or in the system's zone. */
export type TypedTime = (now: Date, timezone?: string) => Date;

/** Whether "2h" means two hours ago or two hours from now, and "03:47" the latest or the next one. */
export type TimeDirection = "future" | "past";

const MOST_MS = 8.64e15;
const DAY_SECONDS = 86_400;

/** `direction`: whether "2h" means two hours ago or two hours from now. */
export function instantOption(
  name: string,
  direction: TimeDirection,
  summary: string,
): Option<TypedTime | undefined> {
  return option(name, "time", { summary }, (text) => {
    const typed = typedTime(text, direction);
    if (typed === undefined)
      throw usageError(
        `Invalid --${name} ${quote(text)}: expected a time such as "09:00", "2026-03-01 09:00", "tomorrow" or ` +
          `"2026-03-01T09:00:00Z", or "2h" for two hours ${direction === "past" ? "ago" : "from now"}`,
      );
    return (now, timezone) => {
      const ms = typed(now, timezone);
      if (Math.abs(ms) <= MOST_MS) return new Date(ms);
      throw usageError(`Invalid --${name} ${quote(text)}: it is outside the range of dates`);
    };
  });
}

const MOST_LENGTH_MS = 100 * 366 * UNIT_MS.d;

/** A length of time in milliseconds: "90m", or several units such as "1h30m". */
export function lengthOption(name: string, summary: string): Option<number | undefined> {
  return option(name, "duration", { summary }, (text) => {
    const ms = wholeDurationMs(text.trim());
    if (ms !== undefined && ms > 0 && ms <= MOST_LENGTH_MS) return ms;
    throw usageError(`Invalid --${name} ${quote(text)}: expected a duration such as "90m", "2h" or "1h30m"`);
  });
}

const DAYS: ReadonlyMap<string, number> = new Map([
  ["yesterday", -1],
  ["today", 0],
  ["tomorrow", 1],
]);
const TIME_OF_DAY = String.raw`(\d{1,2}):(\d\d)(?::(\d\d))?`;
const DAY_AND_TIME = new RegExp(`^(yesterday|today|tomorrow|\\d{4}-\\d\\d-\\d\\d)(?:[ T]${TIME_OF_DAY})?$`);
const TIME_ALONE = new RegExp(`^${TIME_OF_DAY}$`);

/** `undefined` for a text that is not a time. */
function typedTime(
  text: string,
  direction: TimeDirection,
): ((now: Date, timezone: string | undefined) => number) | undefined {
  const trimmed = text.trim();
  const isoMs = isoTimeMs(trimmed);
  if (isoMs !== undefined) return () => isoMs;
  if (trimmed === "now") return (now) => now.getTime();
  const [, relative = trimmed] = /^in (.+)$/.exec(trimmed) ?? /^(.+) ago$/.exec(trimmed) ?? [];
  const awayMs = wholeDurationMs(relative);
  if (awayMs !== undefined) {
    const isPast = relative === trimmed ? direction === "past" : trimmed.endsWith(" ago");
    return (now) => now.getTime() + (isPast ? -awayMs : awayMs);
  }
  const [, ...alone] = TIME_ALONE.exec(trimmed) ?? [];
  if (alone.length > 0) {
    const second = secondOfDay(alone);
    if (second === undefined) return undefined;
    return (now, timezone) => nearest(second, { now, timezone, direction });
  }
  const [, day = "", ...timeOfDay] = DAY_AND_TIME.exec(trimmed) ?? [];
  const second = secondOfDay(timeOfDay);
  const away = DAYS.get(day);
  const dateMs = isoTimeMs(`${day}T00:00:00Z`);
  if (second === undefined || (away === undefined && dateMs === undefined)) return undefined;
  return (now, timezone) => {
    const date = dateMs === undefined ? startOfDay(now, timezone) + (away ?? 0) * DAY_SECONDS : dateMs / 1000;
    return instantOf(date + second, timezone);
  };
}

/** "90m", or several units such as "1h30m"; `undefined` for a text that is not a duration. */
function wholeDurationMs(text: string): number | undefined {
  const parts = /^(?:\d+[smhd] ?)+$/.test(text) ? text.match(/\d+[smhd]/g) : null;
  return parts?.reduce((sum, part) => sum + (durationMs(part) ?? 0), 0);
}

/** 0 without a time; `undefined` for a time that no day has. */
function secondOfDay([hour = "0", minute = "0", second = "0"]: readonly (string | undefined)[]):
  | number
  | undefined {
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  return h <= 23 && m <= 59 && s <= 59 ? h * 3600 + m * 60 + s : undefined;
}

interface Place {
  readonly now: Date;
  readonly timezone: string | undefined;
  readonly direction: TimeDirection;
}

/** The latest such time of day up to now, or the next after now. */
function nearest(second: number, { now, timezone, direction }: Place): number {
  const today = startOfDay(now, timezone);
  const times = [-1, 0, 1].map((day) => instantOf(today + day * DAY_SECONDS + second, timezone));
  const nowMs = now.getTime();
  const fitting = direction === "past" ? times.findLast((ms) => ms <= nowMs) : times.find((ms) => ms > nowMs);
  return fitting ?? nowMs;
}

/** The local midnight before `now`, in seconds of local time since 1970. */
function startOfDay(now: Date, timezone: string | undefined): number {
  const second = Math.floor(now.getTime() / 1000);
  const local = second + timeZone(timezone).spanAt(second).offset;
  return Math.floor(local / DAY_SECONDS) * DAY_SECONDS;
}

/** The instant of a local time, in milliseconds: the first where clocks show it twice, the end of the gap where they skip it. */
function instantOf(local: number, timezone: string | undefined): number {
  const zone = timeZone(timezone);
  // Offsets are at most a day away from each other.
  const before = zone.spanAt(local - DAY_SECONDS);
  const first = local - before.offset;
  if (first < before.end) return first * 1000;
  const after = zone.spanAt(first);
  return Math.max(local - after.offset, after.start) * 1000;
}

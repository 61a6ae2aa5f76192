/**
 * Where on a calendar without time zones a cron expression matches: the nearest second at or after, at or before.
 * A local time is a number of seconds since 1970-01-01 00:00 local; cron.ts maps it to an instant.
 */
import type { CompiledCron, TimeMask } from "./cron-expression.js";

const DAY_SECONDS = 86_400;
/** The Gregorian calendar repeats, weekdays included, after 400 years: what is not found in them never comes. */
const CALENDAR_MONTHS = 400 * 12;
/** Bit n is set when month n has 31 days. */
const LONG_MONTHS = 0b1_0101_1010_1010;
const NONE = -1;

/** The first match at or after `from`; Infinity when the expression never matches. */
export function nextMatch(cron: CompiledCron, from: number): number {
  const today = Math.floor(from / DAY_SECONDS);
  let day = nextDay(cron, today);
  if (day === today) {
    const time = nextTime(cron, from - today * DAY_SECONDS);
    if (time !== NONE) return today * DAY_SECONDS + time;
    day = nextDay(cron, today + 1);
  }
  return day * DAY_SECONDS + nextTime(cron, 0);
}

/** The last match at or before `until`; -Infinity when the expression never matches. */
export function previousMatch(cron: CompiledCron, until: number): number {
  const today = Math.floor(until / DAY_SECONDS);
  let day = previousDay(cron, today);
  if (day === today) {
    const time = previousTime(cron, until - today * DAY_SECONDS);
    if (time !== NONE) return today * DAY_SECONDS + time;
    day = previousDay(cron, today - 1);
  }
  return day * DAY_SECONDS + previousTime(cron, DAY_SECONDS - 1);
}

/** How many matches there are from `from` to `until`, both included: matching days times the times of a day. */
export function countMatches(cron: CompiledCron, from: number, until: number): number {
  if (from > until) return 0;
  const firstDay = Math.floor(from / DAY_SECONDS);
  const lastDay = Math.floor(until / DAY_SECONDS);
  // Whole days, the last one included, less what lies before and behind.
  const before = isMatchingDay(cron, firstDay) ? timesBefore(cron, from - firstDay * DAY_SECONDS) : 0;
  const upTo = isMatchingDay(cron, lastDay) ? timesBefore(cron, until - lastDay * DAY_SECONDS + 1) : 0;
  return countDays(cron, firstDay, lastDay - 1) * timesBefore(cron, DAY_SECONDS) + upTo - before;
}

function isMatchingDay(cron: CompiledCron, day: number): boolean {
  return countDays(cron, day, day) === 1;
}

/** How many days match from `first` to `last`, both included. */
function countDays(cron: CompiledCron, first: number, last: number): number {
  if (cron.everyDay || first > last) return Math.max(0, last - first + 1);
  let { year, month, monthStart } = monthOf(first);
  let mask = -1 << (first - monthStart);
  let count = 0;
  while (monthStart <= last) {
    const length = monthLength(year, month);
    const days = matchingDays(cron, month, monthStart, length) & firstBits(last - monthStart + 1);
    count += bitCount(days & mask);
    monthStart += length;
    mask = -1;
    month = (month % 12) + 1;
    if (month === 1) year++;
  }
  return count;
}

/** How many allowed seconds of a day lie before `time`. */
function timesBefore({ hours, minutes, seconds }: CompiledCron, time: number): number {
  const hour = Math.floor(time / 3600);
  const minute = Math.floor(time / 60) % 60;
  const perMinute = valuesBefore(seconds, 60);
  let count = valuesBefore(hours, hour) * valuesBefore(minutes, 60) * perMinute;
  if (!isAllowed(hours, hour)) return count;
  count += valuesBefore(minutes, minute) * perMinute;
  return isAllowed(minutes, minute) ? count + valuesBefore(seconds, time % 60) : count;
}

function valuesBefore({ low, high }: TimeMask, end: number): number {
  return bitCount(low & firstBits(end)) + (end > 32 ? bitCount(high & firstBits(end - 32)) : 0);
}

function isAllowed({ low, high }: TimeMask, value: number): boolean {
  return value < 32 ? (low & (1 << value)) !== 0 : (high & (1 << (value - 32))) !== 0;
}

/** The first matching day at or after `day`, both counted from 1970-01-01. */
function nextDay(cron: CompiledCron, day: number): number {
  if (cron.everyDay) return day;
  let { year, month, monthStart } = monthOf(day);
  let passed = day - monthStart;
  for (let months = 0; months <= CALENDAR_MONTHS; months++) {
    const length = monthLength(year, month);
    const left = matchingDays(cron, month, monthStart, length) & (-1 << passed);
    if (left !== 0) return monthStart + lowestBit(left);
    monthStart += length;
    passed = 0;
    month++;
    if (month > 12) {
      month = 1;
      year++;
    }
  }
  return Infinity;
}

function previousDay(cron: CompiledCron, day: number): number {
  if (cron.everyDay) return day;
  let { year, month, monthStart } = monthOf(day);
  let kept = day - monthStart + 1;
  for (let months = 0; months <= CALENDAR_MONTHS; months++) {
    const left = matchingDays(cron, month, monthStart, monthLength(year, month)) & firstBits(kept);
    if (left !== 0) return monthStart + highestBit(left);
    month--;
    if (month < 1) {
      month = 12;
      year--;
    }
    kept = monthLength(year, month);
    monthStart -= kept;
  }
  return -Infinity;
}

/** The days of one month that match: bit 0 is its first day. */
function matchingDays(cron: CompiledCron, month: number, monthStart: number, length: number): number {
  if ((cron.months & (1 << month)) === 0) return 0;
  const firstWeekday = (((monthStart + 4) % 7) + 7) % 7; // 1970-01-01 was a Thursday
  let weekdays = everyWeek(cron.weekdays, firstWeekday);
  for (const { nth, weekday } of cron.nthWeekdays) {
    const week = nth === "last" ? length - 7 : 7 * (nth - 1);
    weekdays |= everyWeek(1 << weekday, firstWeekday) & (0x7f << week);
  }
  const days = (cron.days >>> 1) | (cron.lastDay ? 1 << (length - 1) : 0);
  return (cron.eitherDay ? days | weekdays : days & weekdays) & firstBits(length);
}

/** Spreads a mask of weekdays over a month that begins on weekday `first`. */
function everyWeek(weekdays: number, first: number): number {
  const week = ((weekdays | (weekdays << 7)) >>> first) & 0x7f;
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
}

/** The first allowed second of the day at or after `time`, or NONE. A unit without one left carries into the next. */
function nextTime({ hours, minutes, seconds }: CompiledCron, time: number): number {
  const currentHour = Math.floor(time / 3600);
  const currentMinute = Math.floor(time / 60) % 60;
  const second = nextIn(seconds, time % 60);
  const minute = nextIn(minutes, second === NONE ? currentMinute + 1 : currentMinute);
  const hour = nextIn(hours, minute === NONE ? currentHour + 1 : currentHour);
  if (hour === NONE) return NONE;
  if (hour !== currentHour) return hour * 3600 + nextIn(minutes, 0) * 60 + nextIn(seconds, 0);
  return hour * 3600 + minute * 60 + (minute === currentMinute ? second : nextIn(seconds, 0));
}

/** The last allowed second of the day at or before `time`, or NONE. */
function previousTime({ hours, minutes, seconds }: CompiledCron, time: number): number {
  const currentHour = Math.floor(time / 3600);
  const currentMinute = Math.floor(time / 60) % 60;
  const second = previousIn(seconds, time % 60);
  const minute = previousIn(minutes, second === NONE ? currentMinute - 1 : currentMinute);
  const hour = previousIn(hours, minute === NONE ? currentHour - 1 : currentHour);
  if (hour === NONE) return NONE;
  if (hour !== currentHour) return hour * 3600 + previousIn(minutes, 59) * 60 + previousIn(seconds, 59);
  return hour * 3600 + minute * 60 + (minute === currentMinute ? second : previousIn(seconds, 59));
}

function nextIn(mask: TimeMask, from: number): number {
  const low = from < 32 ? mask.low & (-1 << from) : 0;
  if (low !== 0) return lowestBit(low);
  const high = mask.high & (from > 32 ? -1 << (from - 32) : -1);
  return high === 0 ? NONE : 32 + lowestBit(high);
}

function previousIn(mask: TimeMask, until: number): number {
  const high = until >= 32 ? mask.high & firstBits(until - 31) : 0;
  if (high !== 0) return 32 + highestBit(high);
  const low = mask.low & firstBits(until + 1);
  return low === 0 ? NONE : highestBit(low);
}

/** The month a day lies in. Counted in years that begin on 1 March, a leap day is the last day and disturbs no other. */
function monthOf(day: number): { year: number; month: number; monthStart: number } {
  const sinceCycle = day + 719_468; // from 0000-03-01, where a 400-year cycle begins
  const cycle = Math.floor(sinceCycle / 146_097);
  const dayOfCycle = sinceCycle - cycle * 146_097;
  const leapDays = idiv(dayOfCycle, 1_460) - idiv(dayOfCycle, 36_524) + idiv(dayOfCycle, 146_096);
  const yearOfCycle = idiv(dayOfCycle - leapDays, 365);
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + idiv(yearOfCycle, 4) - idiv(yearOfCycle, 100));
  const monthFromMarch = idiv(5 * dayOfYear + 2, 153); // 153 days to five months, all the way through
  const dayOfMonth = dayOfYear - idiv(153 * monthFromMarch + 2, 5);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return { year: cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, monthStart: day - dayOfMonth };
}

function idiv(a: number, b: number): number {
  return (a / b) | 0;
}

function monthLength(year: number, month: number): number {
  if (month !== 2) return LONG_MONTHS & (1 << month) ? 31 : 30;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** A mask of the lowest `count` bits; all 32 from 32 on. */
function firstBits(count: number): number {
  return count >= 32 ? -1 : (1 << count) - 1;
}

function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}

function highestBit(mask: number): number {
  return 31 - Math.clz32(mask);
}

function bitCount(mask: number): number {
  let pairs = mask - ((mask >>> 1) & 0x5555_5555);
  pairs = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((pairs + (pairs >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

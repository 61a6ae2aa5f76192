/** ISO times with an offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** What `toISOString` writes, except on 29 February. A text that matches needs no further check; most times in state files do. */
export const CERTAIN_TIME: string =
  "\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)" +
  "T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z";
const LENGTH = "2026-03-01T09:00:00.000Z".length;
/** Codes of characters. */
const [ZERO, DASH, COLON, POINT, T, Z] = [48, 45, 58, 46, 84, 90] as const;
/** From 1 March of the year 0 to 31 December 1969. */
const DAYS_UNTIL_1970 = 719_469;
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Hash caches of the latest times: schedules share their due times, and jobs of one pass share `now`. */
const read: (KnownTime | undefined)[] = [];
const written: (KnownTime | undefined)[] = [];
const PLACES = 1024;

interface KnownTime {
  readonly ms: number;
  readonly text: string;
}

/**
 * Like `isoTimeMs`, but only for what `isoText` writes: `undefined` for a different notation, and on 29 February. A
 * fraction of the cost of `Date.parse`: every plan and every record has several times.
 */
export function plainTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string" || text.length !== LENGTH) return undefined;
  // The digits that change most: seconds and milliseconds.
  const digits = (text.charCodeAt(18) * 11 + text.charCodeAt(20)) * 11 + text.charCodeAt(21);
  const place = (digits * 11 + text.charCodeAt(22)) & (PLACES - 1);
  const known = read[place];
  if (known?.text === text) return known.ms;
  const ms = parsedMs(text);
  if (ms !== undefined) read[place] = { ms, text };
  return ms;
}

function parsedMs(text: string): number | undefined {
  if (!hasMarks(text)) return undefined;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  const ms = twoDigits(text, 20) * 10 + digit(text, 22);
  const isDay = year >= 0 && day >= 1 && day <= (DAYS_OF_MONTH[month - 1] ?? 0);
  const isTime = hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59;
  if (!isDay || !isTime || ms < 0) return undefined;
  return (daysSince1970(year, month, day) * 24 + hour) * 3_600_000 + (minute * 60 + second) * 1_000 + ms;
}

function hasMarks(text: string): boolean {
  const isDate = text.charCodeAt(4) === DASH && text.charCodeAt(7) === DASH && text.charCodeAt(10) === T;
  const isTime = text.charCodeAt(13) === COLON && text.charCodeAt(16) === COLON;
  return isDate && isTime && text.charCodeAt(19) === POINT && text.charCodeAt(23) === Z;
}

function twoDigits(text: string, at: number): number {
  return digit(text, at) * 10 + digit(text, at + 1);
}

/** A number so low that every sum with it is negative, for a character that is not a digit. */
function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : -1_000_000;
}

/** In the Gregorian calendar. Counts years from March, so that a leap day is the last day of its year. */
function daysSince1970(year: number, month: number, day: number): number {
  const years = month > 2 ? year : year - 1;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  const daysBeforeMonth = Math.floor((153 * ((month + 9) % 12) + 2) / 5);
  return years * 365 + leapDays + daysBeforeMonth + day - DAYS_UNTIL_1970;
}

/** The same milliseconds as decimal text. */
export function plainTimeDigits(text: unknown): string | undefined {
  return plainTimeMs(text)?.toString();
}

/** Milliseconds since 1970. Stricter than `Date.parse`, which accepts other notations, local time and 30 February. */
export function isoTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  const plainMs = plainTimeMs(text);
  if (plainMs !== undefined) return plainMs;
  const [, date = ""] = ISO_TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (date === "" || Number.isNaN(ms)) return undefined;
  return new Date(date).toISOString().startsWith(date) ? ms : undefined;
}

/** The same time as `isoText` writes it; `undefined` for other text. */
export function normalTime(text: unknown): string | undefined {
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : isoText(ms);
}

/** Like `toISOString`, at a fraction of the cost for a recently written time. */
export function isoText(at: Date | number): string {
  const ms = typeof at === "number" ? at : at.getTime();
  const place = (ms ^ (ms >>> 10)) & (PLACES - 1);
  const known = written[place];
  if (known?.ms === ms) return known.text;
  const text = new Date(ms).toISOString();
  written[place] = { ms, text };
  return text;
}

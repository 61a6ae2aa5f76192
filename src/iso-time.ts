/** ISO times with an offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** What `toISOString` writes, except on 29 February. A text that matches needs no further check; most times in state files do. */
export const CERTAIN_TIME: string =
  "\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)" +
  "T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z";
const LENGTH = "2026-03-01T09:00:00.000Z".length;
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
  // Of day, hour, minute and second the last digit, and all of the milliseconds.
  const minutes = (text.charCodeAt(9) * 11 + text.charCodeAt(12)) * 11 + text.charCodeAt(15);
  const tenths = (minutes * 11 + text.charCodeAt(18)) * 11 + text.charCodeAt(20);
  const place = ((tenths * 11 + text.charCodeAt(21)) * 11 + text.charCodeAt(22)) & (PLACES - 1);
  const known = read[place];
  if (known?.text === text) return known.ms;
  const ms = parsedMs(text);
  if (ms !== undefined) read[place] = { ms, text };
  return ms;
}

function parsedMs(text: string): number | undefined {
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T" || text[13] !== ":") return undefined;
  if (text[16] !== ":" || text[19] !== "." || text[23] !== "Z") return undefined;
  const year = digit(text, 0) * 1_000 + digit(text, 1) * 100 + digit(text, 2) * 10 + digit(text, 3);
  const month = digit(text, 5) * 10 + digit(text, 6) - 1;
  const day = digit(text, 8) * 10 + digit(text, 9);
  const hour = digit(text, 11) * 10 + digit(text, 12);
  const minute = digit(text, 14) * 10 + digit(text, 15);
  const second = digit(text, 17) * 10 + digit(text, 18);
  const ms = digit(text, 20) * 100 + digit(text, 21) * 10 + digit(text, 22);
  // `Date.UTC` takes the years 0 to 99 for those of the last century.
  const isDay = year >= 100 && day >= 1 && day <= (DAYS_OF_MONTH[month] ?? 0);
  if (!isDay || !(hour <= 23 && minute <= 59 && second <= 59 && ms >= 0)) return undefined;
  return Date.UTC(year, month, day, hour, minute, second, ms);
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - 48;
  return value >= 0 && value <= 9 ? value : Number.NaN;
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

/** ISO times with their offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** What `toISOString` writes, save on 29 February: nothing is left to check, and state files are full of it. */
export const CERTAIN_TIME: string =
  "\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)" +
  "T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z";
const CERTAIN = new RegExp(`^${CERTAIN_TIME}$`);

/** The times that were read last: the states of what happens together are full of the same two. */
let latestRead = { ms: 0, text: "1970-01-01T00:00:00.000Z" };
let formerRead = latestRead;

/** Milliseconds since 1970. Stricter than `Date.parse`, which takes other notations, local time, and 30 February. */
export function isoTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  if (text === formerRead.text) return formerRead.ms;
  if (text === latestRead.text) return latestRead.ms;
  if (CERTAIN.test(text)) {
    const ms = Date.parse(text);
    formerRead = latestRead;
    latestRead = { ms, text };
    return ms;
  }
  const [, date = ""] = ISO_TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (date === "" || Number.isNaN(ms)) return undefined;
  return new Date(date).toISOString().startsWith(date) ? ms : undefined;
}

/** As `isoTimeMs`, of what `isoText` writes: `undefined` for a time in another notation, or a rare one. */
export function plainTimeMs(text: unknown): number | undefined {
  if (
    typeof text !== "string" ||
    (text !== formerRead.text && text !== latestRead.text && !CERTAIN.test(text))
  )
    return undefined;
  return isoTimeMs(text);
}

/** The same time as `isoText` writes it; `undefined` for what is none. */
export function normalTime(text: unknown): string | undefined {
  if (typeof text === "string" && CERTAIN.test(text)) return text;
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : isoText(new Date(ms));
}

export function isIsoTime(text: unknown): boolean {
  if (text === formerRead.text || text === latestRead.text) return true;
  return (typeof text === "string" && CERTAIN.test(text)) || isoTimeMs(text) !== undefined;
}

interface WrittenTime {
  readonly ms: number;
  readonly text: string;
}

/** The times that were written last, each in its place: schedules share their times, and what happens together has one now. */
const written: (WrittenTime | undefined)[] = [];
/** A prime, so that neither milliseconds nor seconds nor minutes nor hours in a row meet in one place. */
const PLACES = 1021;

/** What `toISOString` writes, for a fraction of the cost when that was asked of the same time not long ago. */
export function isoText(at: Date): string {
  return isoTextOfMs(at.getTime());
}

/** The same of milliseconds since 1970. */
export function isoTextOfMs(ms: number): string {
  const place = Math.abs(ms) % PLACES;
  const known = written[place];
  if (known?.ms === ms) return known.text;
  const text = new Date(ms).toISOString();
  written[place] = { ms, text };
  return text;
}

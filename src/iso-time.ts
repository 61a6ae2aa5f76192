/** ISO times with their offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** What `toISOString` writes, save on 29 February: nothing is left to check, and state files are full of it. */
export const CERTAIN_TIME: string =
  "\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)" +
  "T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z";
const CERTAIN = new RegExp(`^${CERTAIN_TIME}$`);
const LENGTH = "2026-03-01T09:00:00.000Z".length;

interface KnownTime {
  readonly ms: number;
  readonly text: string;
}

/** The times that were read and written last, each in its place: schedules share their times, and what happens together has one now. */
const read: (KnownTime | undefined)[] = [];
const written: (KnownTime | undefined)[] = [];
/** A prime, so that neither milliseconds nor seconds nor minutes nor hours in a row meet in one place. */
const PLACES = 1021;

/** The place of a time that `isoText` wrote, by its seconds and milliseconds. */
function placeOf(text: string): number {
  const seconds = text.charCodeAt(17) * 10 + text.charCodeAt(18);
  return (
    (seconds * 1_000 + text.charCodeAt(20) * 100 + text.charCodeAt(21) * 10 + text.charCodeAt(22)) % PLACES
  );
}

/** As `isoTimeMs`, of what `isoText` writes: `undefined` for a time in another notation, or a rare one. */
export function plainTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string" || text.length !== LENGTH) return undefined;
  const place = placeOf(text);
  const known = read[place];
  if (known?.text === text) return known.ms;
  if (!CERTAIN.test(text)) return undefined;
  const ms = Date.parse(text);
  read[place] = { ms, text };
  return ms;
}

/** Milliseconds since 1970. Stricter than `Date.parse`, which takes other notations, local time, and 30 February. */
export function isoTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  const plainMs = plainTimeMs(text);
  if (plainMs !== undefined) return plainMs;
  const [, date = ""] = ISO_TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (date === "" || Number.isNaN(ms)) return undefined;
  return new Date(date).toISOString().startsWith(date) ? ms : undefined;
}

/** The same time as `isoText` writes it; `undefined` for what is none. */
export function normalTime(text: unknown): string | undefined {
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : isoTextOfMs(ms);
}

export function isIsoTime(text: unknown): boolean {
  return isoTimeMs(text) !== undefined;
}

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

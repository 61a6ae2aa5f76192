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

interface ReadTime extends KnownTime {
  /** The milliseconds as text, once somebody has asked for it. */
  digits: string | undefined;
}

/** The times that were read and written last, each in its place: schedules share their times, and what happens together has one now. */
const read: (ReadTime | undefined)[] = [];
const written: (KnownTime | undefined)[] = [];
/** A prime, so that neither milliseconds nor seconds nor minutes nor hours in a row meet in one place. */
const PLACES = 1021;

/**
 * The place of a time that `isoText` wrote. Day, hour and minute count too, each times a prime: a run and the next one are
 * mostly whole minutes, hours or days apart, and would take each other's place for ever.
 */
function placeOf(text: string): number {
  const days = text.charCodeAt(8) * 10 + text.charCodeAt(9);
  const hours = text.charCodeAt(11) * 10 + text.charCodeAt(12);
  const minutes = text.charCodeAt(14) * 10 + text.charCodeAt(15);
  const seconds = text.charCodeAt(17) * 10 + text.charCodeAt(18);
  const ms = text.charCodeAt(20) * 100 + text.charCodeAt(21) * 10 + text.charCodeAt(22);
  return (days * 1_299_709 + hours * 104_729 + minutes * 7_919 + seconds * 1_000 + ms) % PLACES;
}

/** As `isoTimeMs`, of what `isoText` writes: `undefined` for a time in another notation, or a rare one. */
export function plainTimeMs(text: unknown): number | undefined {
  return readPlain(text)?.ms;
}

/** The same milliseconds as they are written. */
export function plainTimeDigits(text: unknown): string | undefined {
  const known = readPlain(text);
  if (known === undefined) return undefined;
  known.digits ??= known.ms.toString();
  return known.digits;
}

function readPlain(text: unknown): ReadTime | undefined {
  if (typeof text !== "string" || text.length !== LENGTH) return undefined;
  const place = placeOf(text);
  const known = read[place];
  if (known?.text === text) return known;
  if (!CERTAIN.test(text)) return undefined;
  const found: ReadTime = { ms: Date.parse(text), text, digits: undefined };
  read[place] = found;
  return found;
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

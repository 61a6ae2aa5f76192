/** ISO times with an offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** What `toISOString` writes, except on 29 February. A text that matches needs no further check; most times in state files do. */
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
  /** The milliseconds as text, made on first use. */
  digits: string | undefined;
}

/** Hash caches of the latest times: schedules share their due times, and jobs of one pass share `now`. */
const read: (ReadTime | undefined)[] = [];
const written: (KnownTime | undefined)[] = [];
/** A prime, so that consecutive milliseconds, seconds, minutes or hours have different places. */
const PLACES = 1021;

/**
 * The cache's place for a text of `isoText`. Day, hour and minute count too, each times a prime: a run and the next one
 * are mostly whole minutes, hours or days apart, and would otherwise evict each other.
 */
function placeOf(text: string): number {
  const days = text.charCodeAt(8) * 10 + text.charCodeAt(9);
  const hours = text.charCodeAt(11) * 10 + text.charCodeAt(12);
  const minutes = text.charCodeAt(14) * 10 + text.charCodeAt(15);
  const seconds = text.charCodeAt(17) * 10 + text.charCodeAt(18);
  const ms = text.charCodeAt(20) * 100 + text.charCodeAt(21) * 10 + text.charCodeAt(22);
  return (days * 1_299_709 + hours * 104_729 + minutes * 7_919 + seconds * 1_000 + ms) % PLACES;
}

/** Like `isoTimeMs`, but only for what `isoText` writes: `undefined` for a different notation, and on 29 February. */
export function plainTimeMs(text: unknown): number | undefined {
  return readPlain(text)?.ms;
}

/** The same milliseconds as decimal text. */
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
  return ms === undefined ? undefined : isoTextOfMs(ms);
}

export function isIsoTime(text: unknown): boolean {
  return isoTimeMs(text) !== undefined;
}

/** Like `toISOString`, at a fraction of the cost for a recently written time. */
export function isoText(at: Date): string {
  return isoTextOfMs(at.getTime());
}

/** Like `isoText`, for milliseconds since 1970. */
export function isoTextOfMs(ms: number): string {
  const place = Math.abs(ms) % PLACES;
  const known = written[place];
  if (known?.ms === ms) return known.text;
  const text = new Date(ms).toISOString();
  written[place] = { ms, text };
  return text;
}

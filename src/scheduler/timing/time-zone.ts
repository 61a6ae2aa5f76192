/**
 * Time zones as spans of constant offset, found through Intl and remembered.
 * Intl knows every zone's rules but answers in microseconds; a span answers for months in nanoseconds.
 */
import { BoundedCache } from "../../bounded-cache.js";
import { closest } from "../../closest.js";
import { quote } from "../../errors.js";
import { TimezoneError } from "../errors.js";

/** A stretch of time with one offset. All in seconds; `start` and `end` (exclusive) since 1970 UTC. */
export interface OffsetSpan {
  readonly start: number;
  readonly end: number;
  /** Local time minus UTC. */
  readonly offset: number;
  /**
   * The local time the previous span had reached when this one began. Local times from here to `start + offset`
   * were skipped by the clock change; local times from `start + offset` to here come a second time.
   */
  readonly resumedFrom: number;
}

export interface TimeZone {
  /** The span that contains the instant `utc`, in seconds since 1970. */
  spanAt(utc: number): OffsetSpan;
}

/** About a year, so that one search for clock changes serves a long time; a power of two, so that the index is exact. */
export const CHUNK_SECONDS: number = 2 ** 25;
const CHUNKS_KEPT = 512;
const ZONES_KEPT = 1024;
/** The shortest stretch between two clock changes in the whole tz database is 3.99 days (Freetown, 1939). */
const STEP_SECONDS = 3 * 86_400;

const ALWAYS: OffsetSpan = { start: -Infinity, end: Infinity, offset: 0, resumedFrom: -Infinity };
const UTC: TimeZone = { spanAt: () => ALWAYS };

const zones = new BoundedCache<string, TimeZone>(ZONES_KEPT);
let systemZone: TimeZone | undefined;

/** The zone of that name, or the system's (as it was at the first call); throws TimezoneError for an unknown name. */
export function timeZone(name?: string): TimeZone {
  if (name === undefined) return (systemZone ??= openZone(undefined));
  return zones.get(name) ?? zones.keep(name, openZone(name));
}

function openZone(name: string | undefined): TimeZone {
  const format = localTimeFormat(name);
  return format.resolvedOptions().timeZone === "UTC"
    ? UTC
    : new SearchedZone((utc) => offsetShown(format, utc));
}

function localTimeFormat(name: string | undefined): Intl.DateTimeFormat {
  try {
    // Newer Nodes take "+05:30" for a zone. A schedule must mean the same on every node of a fleet.
    if (name?.match(/^[+-]/)) throw new RangeError("An offset is not the name of a time zone");
    return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  } catch (cause) {
    const meant = probableZone(name);
    throw new TimezoneError(
      `Unknown time zone ${quote(name)}. Expected an IANA name such as "Europe/London" or "UTC"` +
        (meant === undefined ? "" : `; did you mean ${quote(meant)}?`),
      String(name),
      cause,
    );
  }
}

/** Reads the offset off the local time that a format shows. */
function offsetShown(format: Intl.DateTimeFormat, utc: number): number {
  const parts = format
    .format(utc * 1000)
    .split(/\D+/)
    .map(Number);
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - utc;
}

/** A zone known only by asking for its offset at one instant after the other. */
export class SearchedZone implements TimeZone {
  readonly #offsetAt: (utc: number) => number;
  readonly #chunks = new BoundedCache<number, readonly OffsetSpan[]>(CHUNKS_KEPT);
  #latest: OffsetSpan = { start: 0, end: 0, offset: 0, resumedFrom: 0 };

  constructor(offsetAt: (utc: number) => number) {
    this.#offsetAt = offsetAt;
  }

  spanAt(utc: number): OffsetSpan {
    if (utc >= this.#latest.start && utc < this.#latest.end) return this.#latest;
    const index = Math.floor(utc / CHUNK_SECONDS);
    const spans = this.#chunks.get(index) ?? this.#chunks.keep(index, this.#findSpans(index));
    for (const span of spans) {
      this.#latest = span;
      if (utc < span.end) break;
    }
    return this.#latest;
  }

  /** The spans of one chunk, sought from a step before it: a change just there still makes local times come twice here. */
  #findSpans(index: number): OffsetSpan[] {
    const first = index * CHUNK_SECONDS;
    const end = first + CHUNK_SECONDS;
    const changes: number[] = [];
    let before = this.#offsetAt(first - STEP_SECONDS);
    for (let from = first - STEP_SECONDS; from < end; from += STEP_SECONDS) {
      const until = Math.min(from + STEP_SECONDS, end - 1);
      const after = this.#offsetAt(until);
      this.#findChanges(from, before, until, after, changes);
      before = after;
    }
    const spans: OffsetSpan[] = [];
    let start = first - STEP_SECONDS;
    let resumedFrom = -Infinity;
    for (const change of [...changes, end]) {
      const offset = this.#offsetAt(start);
      if (start >= first) spans.push({ start, end: change, offset, resumedFrom });
      else if (change > first) {
        spans.push({ start: first, end: change, offset, resumedFrom: Math.max(resumedFrom, first + offset) });
      }
      resumedFrom = change + offset;
      start = change;
    }
    return spans;
  }

  /** Appends the instants in (`from`, `until`] at which the offset changes, earliest first. */
  #findChanges(from: number, before: number, until: number, after: number, changes: number[]): void {
    if (before === after) return;
    if (until - from === 1) {
      changes.push(until);
      return;
    }
    const middle = Math.floor((from + until) / 2);
    const between = this.#offsetAt(middle);
    this.#findChanges(from, before, middle, between, changes);
    this.#findChanges(middle, between, until, after, changes);
  }
}

/** The zone of a misspelt name, or of a city alone. */
function probableZone(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const names = Intl.supportedValuesOf("timeZone");
  const city = `/${name.toLowerCase().replaceAll(" ", "_")}`;
  return names.find((zone) => zone.toLowerCase().endsWith(city)) ?? closest(name, names);
}

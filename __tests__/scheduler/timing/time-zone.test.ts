import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CHUNK_SECONDS,
  SearchedZone,
  timeZone,
  type TimeZone,
} from "../../../src/scheduler/timing/time-zone.js";
import { TimezoneError } from "../../../src/index.js";
import { clockChanges, wallClock } from "../../oracle/cron-oracle.js";

const seconds = (text: string): number => Date.parse(text) / 1000;

/** The starts of the spans within a year at which the offset really changes. */
function changesIn(zone: TimeZone, year: number): number[] {
  const end = Date.UTC(year + 1, 0, 1) / 1000;
  const changes: number[] = [];
  let span = zone.spanAt(Date.UTC(year, 0, 1) / 1000);
  while (span.end < end) {
    const next = zone.spanAt(span.end);
    expect(next.start).toBe(span.end);
    if (next.offset !== span.offset) changes.push(next.start * 1000);
    span = next;
  }
  return changes;
}

describe("a time zone", () => {
  it.each([
    "Africa/Casablanca",
    "Africa/Monrovia",
    "America/New_York",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Kwajalein",
  ])("has the offset that the clocks in %s show, at any instant", (name) => {
    const zone = timeZone(name);
    const show = wallClock(name);
    const instant = fc.integer({ min: Date.UTC(1900, 0) / 1000, max: Date.UTC(2150, 0) / 1000 });
    fc.assert(
      fc.property(instant, (utc) => {
        const span = zone.spanAt(utc);
        expect(utc >= span.start && utc < span.end).toBe(true);
        expect(span.offset).toBe(show(utc * 1000) / 1000 - utc);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["Africa/Cairo", 2014],
    ["Africa/Tunis", 1943], // eight days of winter time
    ["America/Noronha", 2000], // a summer time of one week
    ["America/New_York", 2026],
    ["Europe/London", 2026],
    ["Pacific/Apia", 2011],
  ])("finds every clock change of %s in %i", (name, year) => {
    const changes = clockChanges(name, year);
    expect(changes.length).toBeGreaterThan(1);
    expect(changesIn(timeZone(name), year)).toEqual(changes);
  });

  it("knows what local times a change skipped", () => {
    const span = timeZone("America/New_York").spanAt(seconds("2026-03-08T07:00:00Z"));
    expect([span.resumedFrom, span.start + span.offset]).toEqual([
      seconds("2026-03-08T02:00:00Z"),
      seconds("2026-03-08T03:00:00Z"),
    ]);
  });

  it("knows what local times a change made come twice", () => {
    const span = timeZone("America/New_York").spanAt(seconds("2026-11-01T06:00:00Z"));
    expect([span.start + span.offset, span.resumedFrom]).toEqual([
      seconds("2026-11-01T01:00:00Z"),
      seconds("2026-11-01T02:00:00Z"),
    ]);
  });

  it("has the same spans after they were dropped from the cache", () => {
    const zone = timeZone("Europe/Paris");
    const before = zone.spanAt(seconds("2026-07-01T00:00:00Z"));
    for (let year = 1100; year < 1900; year++) zone.spanAt(Date.UTC(year, 0, 1) / 1000);
    expect(zone.spanAt(seconds("2026-07-01T00:00:00Z"))).toEqual(before);
  });

  it("is the same object for the same name, and the system's for none", () => {
    expect(timeZone("Europe/Paris")).toBe(timeZone("Europe/Paris"));
    expect(timeZone()).toBe(timeZone());
  });

  it.each(["utc", "Etc/UTC", "europe/london"])("may be called %s", (name) => {
    expect(timeZone(name).spanAt(seconds("2026-01-01T00:00:00Z")).offset).toBe(0);
  });
});

describe("a zone with two changes close together", () => {
  it("is searched correctly if they are four days apart, wherever the search steps", () => {
    for (let day = 0; day < 30; day += 0.5) {
      const from = 50 * CHUNK_SECONDS + day * 86_400;
      const until = from + 3.98 * 86_400; // the shortest stretch in the tz database
      const zone = new SearchedZone((utc) => (utc >= from && utc < until ? 1200 : 0));
      expect(zone.spanAt(from)).toMatchObject({ start: from, end: until, offset: 1200 });
    }
  });
});

describe("an offset instead of a name", () => {
  it.each(["+05:30", "-03:00", "+00:00"])("such as %s is refused on every Node alike", (offset) => {
    expect(() => timeZone(offset)).toThrow(TimezoneError);
  });
});

describe("a zone whose clocks change close to where one remembered chunk meets the next", () => {
  const HOUR = 3600;
  const boundary = 50 * CHUNK_SECONDS;

  it.each([-25, -2, -1, -0.5, 0, 0.5, 1, 25])(
    "%d h from it, has one true span on either side",
    (distance) => {
      for (const [before, after] of [
        [1, 0],
        [0, 1],
        [-10, 14],
        [14, -10],
      ] as const) {
        const change = boundary + distance * HOUR;
        const zone = new SearchedZone((utc) => (utc < change ? before : after) * HOUR);
        for (const utc of [boundary - 1, boundary, change - 1, change, change + 1]) {
          const span = zone.spanAt(utc);
          expect(utc >= span.start && utc < span.end).toBe(true);
          expect(span.offset).toBe((utc < change ? before : after) * HOUR);
          const shownBefore = utc < change ? -Infinity : change + before * HOUR;
          const resumedFrom =
            span.start === change ? shownBefore : Math.max(shownBefore, span.start + span.offset);
          expect(span.resumedFrom).toBe(resumedFrom);
        }
      }
    },
  );
});

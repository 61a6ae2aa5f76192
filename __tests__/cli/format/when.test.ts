import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { relativeTime, shortDuration, zonedTime } from "../../../src/cli/format/when.js";
import { UNIT_MS } from "../../../src/duration.js";

const NOW = new Date("2026-03-01T12:00:00Z");
const later = (ms: number): Date => new Date(NOW.getTime() + ms);

describe("a duration", () => {
  it.each([
    [0, "0ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [59_999, "59s"],
    [60_000, "1m"],
    [270_000, "4m 30s"],
    [600_000, "10m"],
    [3_900_000, "1h 5m"],
    [36_000_000 + 60_000, "10h"],
    [183_600_000, "2d 3h"],
    [864_000_000, "10d"],
    [-5, "0ms"],
  ])("of %i ms is shown as %s", (ms, shown) => {
    expect(shortDuration(ms)).toBe(shown);
  });

  it("is rounded down by less than the last unit shown", () => {
    const { s, m, h, d } = UNIT_MS;
    const units = fc.constantFrom([s, s], [m, s], [h, m], [d, h]);
    fc.assert(
      fc.property(units, fc.double({ min: 1, max: 23.9, noNaN: true }), ([unit = 0, smaller = 0], times) => {
        const ms = Math.floor(unit * times);
        const parts = [...shortDuration(ms).matchAll(/(\d+)([smhd])/g)];
        const shownMs = parts.reduce(
          (sum, [, n, of]) => sum + Number(n) * UNIT_MS[of as "s" | "m" | "h" | "d"],
          0,
        );
        expect(shownMs).toBeLessThanOrEqual(ms);
        expect(ms - shownMs).toBeLessThan(times >= 10 ? unit : smaller);
      }),
    );
  });
});

describe("a relative time", () => {
  it.each([
    [0, "now"],
    [999, "now"],
    [-999, "now"],
    [300_000, "in 5m"],
    [-10_800_000, "3h ago"],
  ])("%i ms from now is %s", (ms, shown) => {
    expect(relativeTime(later(ms), NOW)).toBe(shown);
  });
});

describe("a time in a zone", () => {
  it.each([
    ["Europe/Berlin", "2026-03-01T13:00:00+01:00"],
    ["Asia/Kolkata", "2026-03-01T17:30:00+05:30"],
    ["America/St_Johns", "2026-03-01T08:30:00-03:30"],
    ["UTC", "2026-03-01T12:00:00+00:00"],
  ])("%s has that zone's offset", (zone, shown) => {
    expect(zonedTime(NOW, zone)).toBe(shown);
  });

  it("parses back to the same second, in every zone and year", () => {
    const zones = fc.constantFrom(
      "Europe/Berlin",
      "Pacific/Apia",
      "America/Caracas",
      "Australia/Lord_Howe",
      "UTC",
    );
    const times = fc.date({ min: new Date("1990-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(times, zones, (at, zone) => {
        expect(Date.parse(zonedTime(at, zone))).toBe(Math.floor(at.getTime() / 1000) * 1000);
      }),
    );
  });
});

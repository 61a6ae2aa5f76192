import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isValidCronExpression, nextCronRun, nextCronRuns, previousCronRun } from "../../../src/index.js";
import { randomExpressions } from "../../oracle/plain-years.js";

const ZONES = [
  "UTC",
  "America/New_York",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Cairo",
  "Asia/Gaza",
  "America/Havana",
];

const expressions = fc.constantFrom(
  ...randomExpressions(2_000, 5).filter(isValidCronExpression),
  "30 2 * * *",
  "0,30 0-3 * * *",
  "*/15 * * * *",
  "59 59 23 31 12 *",
);
const zones = fc.constantFrom(...ZONES);
const instants = fc.date({
  min: new Date("1971-01-01T00:00:00Z"),
  max: new Date("2099-12-31T00:00:00Z"),
  noInvalidDate: true,
});

/** Random instants seldom meet a clock change, so half of them are moved near one. */
const nearChanges = fc
  .tuple(
    fc.constantFrom(
      "2026-03-08T07:00:00Z",
      "2026-11-01T06:00:00Z",
      "2011-12-30T10:00:00Z",
      "2026-04-04T15:00:00Z",
    ),
    fc.integer({ min: -172_800_000, max: 172_800_000 }),
  )
  .map(([change, distance]) => new Date(Date.parse(change) + distance));

const cases = fc.record({ expression: expressions, zone: zones, t: fc.oneof(instants, nearChanges) });
const RUNS = { numRuns: 3_000 };

const next = (expression: string, t: number, zone: string): number =>
  nextCronRun(expression, new Date(t), zone).getTime();
const previous = (expression: string, t: number, zone: string): number =>
  previousCronRun(expression, new Date(t), zone).getTime();

describe("for every expression, zone and instant t", () => {
  it("next(t) > t", () => {
    fc.assert(
      fc.property(cases, ({ expression, zone, t }) => {
        expect(next(expression, t.getTime(), zone)).toBeGreaterThan(t.getTime());
      }),
      RUNS,
    );
  });

  it("next(next(t) - 1 ms) = next(t): no run lies between", () => {
    fc.assert(
      fc.property(cases, ({ expression, zone, t }) => {
        const run = next(expression, t.getTime(), zone);
        expect(next(expression, run - 1, zone)).toBe(run);
      }),
      RUNS,
    );
  });

  it("previous(next(t)) <= t, and the next of that previous is next(t) again", () => {
    fc.assert(
      fc.property(cases, ({ expression, zone, t }) => {
        const run = next(expression, t.getTime(), zone);
        const before = previous(expression, run, zone);
        expect(before).toBeLessThanOrEqual(t.getTime());
        expect(next(expression, before, zone)).toBe(run);
      }),
      RUNS,
    );
  });

  it("previous(t) < t, and t is not beyond the next of it", () => {
    fc.assert(
      fc.property(cases, ({ expression, zone, t }) => {
        const before = previous(expression, t.getTime(), zone);
        expect(before).toBeLessThan(t.getTime());
        expect(next(expression, before, zone)).toBeGreaterThanOrEqual(t.getTime());
      }),
      RUNS,
    );
  });

  it("a list of runs is the walk from one to the next", () => {
    fc.assert(
      fc.property(cases, ({ expression, zone, t }) => {
        let at = t;
        for (const run of nextCronRuns(expression, 3, t, zone)) {
          at = nextCronRun(expression, at, zone);
          expect(run).toEqual(at);
        }
      }),
      { numRuns: 500 },
    );
  });
});

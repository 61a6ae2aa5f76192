import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countCronRuns, nextCronRun } from "../../../src/scheduler/timing/cron.js";
import { isValidCronExpression } from "../../../src/index.js";
import { runsWithin, timeline } from "../../oracle/cron-oracle.js";
import { randomExpressions } from "../../oracle/plain-years.js";

const count = (expression: string, after: string, until: string, zone = "UTC"): number =>
  countCronRuns(expression, new Date(after), new Date(until), zone);

const DAY_MS = 86_400_000;
const EXPRESSIONS = [
  ...randomExpressions(80, 11).filter(isValidCronExpression),
  "30 2 * * *",
  "0,30 0-3 * * *",
  "15,45 1,2 * * 0",
  "0 0 * * *",
  "*/15 * * * *",
  "*/10 2 * * *",
  "7 */2 * * *",
];

describe("countCronRuns", () => {
  it("counts the times after the first instant, up to and including the last", () => {
    expect(count("0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z")).toBe(3);
    expect(count("0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T02:59:59.999Z")).toBe(2);
    expect(count("0 * * * *", "2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z")).toBe(1);
    expect(count("0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")).toBe(0);
    expect(count("0 * * * *", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")).toBe(0);
  });

  it("counts a year of seconds, and fifty years of them, without visiting each", () => {
    const beganMs = performance.now();
    expect(count("* * * * * *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")).toBe(365 * 86_400);
    expect(count("* * * * * *", "1976-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "Europe/London")).toBe(
      Date.parse("2026-01-01T00:00:00Z") / 1000 - Date.parse("1976-01-01T00:00:00Z") / 1000,
    );
    expect(performance.now() - beganMs).toBeLessThan(2_000);
  });

  it("counts a fixed time that the clocks skip once, and one that they show twice once", () => {
    const london = "Europe/London";
    expect(count("30 1 * * *", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z", london)).toBe(3);
    expect(count("15,45 1 * * *", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", london)).toBe(1);
    expect(count("30 1 * * *", "2026-10-24T23:00:00Z", "2026-10-25T12:00:00Z", london)).toBe(1);
    expect(count("*/30 1 * * *", "2026-10-24T23:00:00Z", "2026-10-25T12:00:00Z", london)).toBe(4);
  });

  it.each([
    ["America/New_York", "2026-03-06", "2026-03-11"],
    ["America/New_York", "2026-10-30", "2026-11-04"],
    ["Australia/Lord_Howe", "2026-04-02", "2026-04-07"],
    ["Australia/Lord_Howe", "2026-10-01", "2026-10-06"],
    ["Pacific/Apia", "2011-12-27", "2012-01-02"],
    ["America/Havana", "2026-10-30", "2026-11-03"],
    ["UTC", "2028-02-26", "2028-03-03"],
  ])("agrees with the minutes that clocks in %s show from %s to %s", (zone, from, to) => {
    const startMs = Date.parse(from);
    const endMs = Date.parse(to);
    const minutes = timeline(zone, startMs, endMs, 60_000);
    const bounds = [2 * DAY_MS, 2.4 * DAY_MS, 2.61 * DAY_MS, 3.05 * DAY_MS, endMs - startMs - 60_000];
    for (const expression of EXPRESSIONS.filter((text) => text.trim().split(/\s+/).length === 5)) {
      const runs = runsWithin(minutes, expression);
      for (const [index, after] of bounds.entries())
        for (const until of bounds.slice(index)) {
          const expected = runs.filter((ms) => ms > startMs + after && ms <= startMs + until).length;
          const found = countCronRuns(expression, new Date(startMs + after), new Date(startMs + until), zone);
          expect([expression, after, until, found]).toEqual([expression, after, until, expected]);
        }
    }
  });

  it("is the number of steps that nextCronRun takes, for every expression, zone and span", () => {
    const cases = fc.record({
      expression: fc.constantFrom(...EXPRESSIONS),
      zone: fc.constantFrom("UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Gaza"),
      startMs: fc.oneof(
        fc.integer({ min: Date.parse("1971-01-01"), max: Date.parse("2099-01-01") }),
        fc
          .integer({ min: -3 * DAY_MS, max: 3 * DAY_MS })
          .map((ms) => Date.parse("2026-03-08T07:00:00Z") + ms),
        fc
          .integer({ min: -3 * DAY_MS, max: 3 * DAY_MS })
          .map((ms) => Date.parse("2011-12-30T10:00:00Z") + ms),
      ),
      steps: fc.integer({ min: 0, max: 60 }),
      slackMs: fc.integer({ min: 0, max: 5_000 }),
    });
    fc.assert(
      fc.property(cases, ({ expression, zone, startMs, steps, slackMs }) => {
        const start = new Date(startMs);
        let last = start;
        for (let step = 0; step < steps; step++) last = nextCronRun(expression, last, zone);
        const next = nextCronRun(expression, last, zone);
        const until = new Date(Math.min(last.getTime() + slackMs, next.getTime() - 1));
        expect(countCronRuns(expression, start, until, zone)).toBe(steps);
      }),
      { numRuns: 1_500 },
    );
  });
});

import { describe, expect, it } from "vitest";
import {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
  SchedulerError,
  TimezoneError,
} from "../../../src/index.js";

const iso = (dates: readonly Date[]): string[] => dates.map((date) => date.toISOString().slice(0, -5));
const runs = (expression: string, count: number, after: string, zone = "UTC"): string[] =>
  iso(nextCronRuns(expression, count, new Date(after), zone));

describe("a cron expression", () => {
  it.each([
    [
      "*/20 8 * * *",
      ["2026-03-01T08:00:00", "2026-03-01T08:20:00", "2026-03-01T08:40:00", "2026-03-02T08:00:00"],
    ],
    [
      "5/25 8 * * *",
      ["2026-03-01T08:05:00", "2026-03-01T08:30:00", "2026-03-01T08:55:00", "2026-03-02T08:05:00"],
    ],
    [
      "0 9-17/4 * * *",
      ["2026-03-01T09:00:00", "2026-03-01T13:00:00", "2026-03-01T17:00:00", "2026-03-02T09:00:00"],
    ],
    [
      "30 0 12 * * *",
      ["2026-03-01T12:00:30", "2026-03-02T12:00:30", "2026-03-03T12:00:30", "2026-03-04T12:00:30"],
    ],
    [
      "0 0 L * *",
      ["2026-03-31T00:00:00", "2026-04-30T00:00:00", "2026-05-31T00:00:00", "2026-06-30T00:00:00"],
    ],
    [
      "0 0 L 2 *",
      ["2027-02-28T00:00:00", "2028-02-29T00:00:00", "2029-02-28T00:00:00", "2030-02-28T00:00:00"],
    ],
    [
      "0 0 l,15 * ?",
      ["2026-03-15T00:00:00", "2026-03-31T00:00:00", "2026-04-15T00:00:00", "2026-04-30T00:00:00"],
    ],
    [
      "0 0 * * mon#1",
      ["2026-03-02T00:00:00", "2026-04-06T00:00:00", "2026-05-04T00:00:00", "2026-06-01T00:00:00"],
    ],
    [
      "0 0 * * 1#5",
      ["2026-03-30T00:00:00", "2026-06-29T00:00:00", "2026-08-31T00:00:00", "2026-11-30T00:00:00"],
    ],
    [
      "0 0 * * friL",
      ["2026-03-27T00:00:00", "2026-04-24T00:00:00", "2026-05-29T00:00:00", "2026-06-26T00:00:00"],
    ],
    [
      "0 0 * * 1#1,5L",
      ["2026-03-02T00:00:00", "2026-03-27T00:00:00", "2026-04-06T00:00:00", "2026-04-24T00:00:00"],
    ],
    [
      "0 0 * * 7",
      ["2026-03-08T00:00:00", "2026-03-15T00:00:00", "2026-03-22T00:00:00", "2026-03-29T00:00:00"],
    ],
    [
      "0 0 * * fri-sun",
      ["2026-03-06T00:00:00", "2026-03-07T00:00:00", "2026-03-08T00:00:00", "2026-03-13T00:00:00"],
    ],
    [
      "0 0 1 JAN,jul *",
      ["2026-07-01T00:00:00", "2027-01-01T00:00:00", "2027-07-01T00:00:00", "2028-01-01T00:00:00"],
    ],
    [
      "0 0 29 2 *",
      ["2028-02-29T00:00:00", "2032-02-29T00:00:00", "2036-02-29T00:00:00", "2040-02-29T00:00:00"],
    ],
    [
      " 0\t0  1 1 *\n",
      ["2027-01-01T00:00:00", "2028-01-01T00:00:00", "2029-01-01T00:00:00", "2030-01-01T00:00:00"],
    ],
    ["@YEARLY", ["2027-01-01T00:00:00", "2028-01-01T00:00:00", "2029-01-01T00:00:00", "2030-01-01T00:00:00"]],
  ])("%j runs at its times", (expression, expected) => {
    expect(runs(expression, 4, "2026-03-01T00:00:00Z")).toEqual(expected);
  });

  it("with both days restricted runs when either matches: the 13th and every Friday", () => {
    expect(runs("0 0 13 * 5", 4, "2026-04-01T00:00:00Z")).toEqual([
      "2026-04-03T00:00:00",
      "2026-04-10T00:00:00",
      "2026-04-13T00:00:00",
      "2026-04-17T00:00:00",
    ]);
  });

  it("with a star in one of the days runs when both match: odd days that are Mondays", () => {
    expect(runs("0 0 */2 * 1", 3, "2026-03-01T00:00:00Z")).toEqual([
      "2026-03-09T00:00:00",
      "2026-03-23T00:00:00",
      "2026-04-13T00:00:00",
    ]);
  });

  it("may list every value there is", () => {
    const list = (count: number, from = 0): string =>
      Array.from({ length: count }, (_, i) => i + from).join(",");
    const everything = `${list(60)} ${list(60)} ${list(24)} ${list(31, 1)} ${list(12, 1)} ${list(8)}`;
    expect(runs(everything, 2, "2026-03-01T00:00:00Z")).toEqual([
      "2026-03-01T00:00:01",
      "2026-03-01T00:00:02",
    ]);
  });

  it("waits eight years for 29 February across a century year without a leap day", () => {
    expect(runs("0 0 29 2 *", 1, "2096-03-01T00:00:00Z")).toEqual(["2104-02-29T00:00:00"]);
  });

  it("waits for the rarest day there is: five Mondays in a February", () => {
    expect(runs("0 0 * 2 1#5", 2, "2026-01-01T00:00:00Z")).toEqual([
      "2044-02-29T00:00:00",
      "2072-02-29T00:00:00",
    ]);
    const last = previousCronRun("0 0 * 2 1#5", new Date("2026-01-01T00:00:00Z"), "UTC");
    expect(iso([last])).toEqual(["2016-02-29T00:00:00"]);
  });
});

describe("a fixed time", () => {
  const zone = "America/New_York";

  it("that the clocks skip runs once where the gap ends", () => {
    expect(runs("0,30 2 * * *", 3, "2026-03-07T12:00:00Z", zone)).toEqual([
      "2026-03-08T07:00:00", // 03:00 local, for both 02:00 and 02:30
      "2026-03-09T06:00:00",
      "2026-03-09T06:30:00",
    ]);
  });

  it("that the clocks show twice runs the first time only", () => {
    expect(runs("30 1 * * *", 2, "2026-11-01T00:00:00Z", zone)).toEqual([
      "2026-11-01T05:30:00",
      "2026-11-02T06:30:00",
    ]);
  });

  it("is found from far away too", () => {
    expect(runs("30 2 8 3 *", 1, "2025-03-10T00:00:00Z", zone)).toEqual(["2026-03-08T07:00:00"]);
    expect(runs("30 1 1 11 *", 1, "2025-11-10T00:00:00Z", zone)).toEqual(["2026-11-01T05:30:00"]);
  });

  it("in a day that was skipped as a whole runs when the next day begins", () => {
    expect(runs("0 12 30 12 *", 1, "2011-12-01T00:00:00Z", "Pacific/Apia")).toEqual(["2011-12-30T10:00:00"]);
  });
});

describe("a time with a star", () => {
  const zone = "America/New_York";

  it("follows elapsed time when the clocks are put forward", () => {
    expect(runs("30 * * * *", 3, "2026-03-08T06:00:00Z", zone)).toEqual([
      "2026-03-08T06:30:00",
      "2026-03-08T07:30:00",
      "2026-03-08T08:30:00",
    ]);
    expect(runs("*/30 2 * * *", 1, "2026-03-07T12:00:00Z", zone)).toEqual(["2026-03-09T06:00:00"]);
  });

  it("follows elapsed time when they are put back, also if the match is gone for a year after the first pass", () => {
    expect(runs("30 * * * *", 3, "2026-11-01T05:00:00Z", zone)).toEqual([
      "2026-11-01T05:30:00",
      "2026-11-01T06:30:00",
      "2026-11-01T07:30:00",
    ]);
    expect(runs("*/59 1 1 11 *", 3, "2026-11-01T05:00:00Z", zone)).toEqual([
      "2026-11-01T05:59:00",
      "2026-11-01T06:00:00",
      "2026-11-01T06:59:00",
    ]);
  });
});

describe("nextCronRun", () => {
  it("counts in the system's time zone when none is given", () => {
    const after = new Date("2026-03-01T00:00:00Z");
    const system = Intl.DateTimeFormat().resolvedOptions().timeZone;
    expect(nextCronRun("0 9 * * *", after)).toEqual(nextCronRun("0 9 * * *", after, system));
  });

  it("takes an expression parsed before", () => {
    const parsed = parseCronExpression("0 9 * * *");
    expect(nextCronRun(parsed, new Date("2026-03-01T00:00:00Z"), "UTC")).toEqual(
      new Date("2026-03-01T09:00:00Z"),
    );
  });

  it("finds runs in offsets that were not whole minutes", () => {
    // Liberia was 44 minutes and 30 seconds behind until 1972.
    expect(runs("0 12 * * *", 1, "1971-06-01T00:00:00Z", "Africa/Monrovia")).toEqual(["1971-06-01T12:44:30"]);
  });

  it("refuses an unknown time zone", () => {
    const act = (): Date => nextCronRun("@daily", new Date(0), "Mars/Olympus");
    expect(act).toThrow(TimezoneError);
    expect(act).toThrow(
      'Unknown time zone "Mars/Olympus". Expected an IANA name such as "Europe/London" or "UTC"',
    );
  });

  it.each([new Date(Number.NaN), new Date(8.64e15), new Date(-8.64e15), 0, "2026-03-01", null])(
    "refuses to count from %j",
    (after) => {
      expect(() => nextCronRun("@daily", after as Date, "UTC")).toThrow(SchedulerError);
      expect(() => previousCronRun("@daily", after as Date, "UTC")).toThrow(
        "Expected a Date in the years 1000 to 9998",
      );
    },
  );

  it("finds runs at both ends of the years it knows", () => {
    for (const zone of ["UTC", "Europe/London", "Pacific/Apia"]) {
      expect(nextCronRun("0 0 29 2 *", new Date("9998-12-31T00:00:00Z"), zone).getTime()).toBeGreaterThan(
        Date.UTC(9999, 0),
      );
      expect(previousCronRun("0 0 29 2 *", new Date("1000-01-02T00:00:00Z"), zone).getTime()).toBeLessThan(
        Date.UTC(1000, 0),
      );
    }
  });
});

describe("nextCronRuns", () => {
  it("lists none when asked for none, and starts from now", () => {
    expect(nextCronRuns("@daily", 0)).toEqual([]);
    expect(nextCronRuns("* * * * * *", 1)[0]?.getTime()).toBeGreaterThan(Date.now() - 1000);
  });

  it.each([-1, 1.5, Number.NaN, Infinity])("refuses to list %s", (count) => {
    expect(() => nextCronRuns("@daily", count)).toThrow("Expected a whole number from 0");
  });
});

describe("isValidCronExpression", () => {
  it("returns true or false", () => {
    expect([isValidCronExpression("*/5 * * * *"), isValidCronExpression("*/100 * * * *")]).toEqual([
      true,
      false,
    ]);
  });
});

describe("parseCronExpression", () => {
  it("parses the same text once", () => {
    expect(parseCronExpression("1 2 3 4 *")).toBe(parseCronExpression("1 2 3 4 *"));
  });

  it("forgets the oldest of very many texts and parses it anew", () => {
    const first = parseCronExpression("2 2 3 4 *");
    for (let i = 0; i < 3000; i++)
      parseCronExpression(`${" ".repeat(i % 60)}${i % 60} ${Math.floor(i / 60) % 24} ${1 + (i % 28)} * *`);
    expect(parseCronExpression("2 2 3 4 *")).not.toBe(first);
    expect(parseCronExpression("2 2 3 4 *")).toEqual(first);
  });
});

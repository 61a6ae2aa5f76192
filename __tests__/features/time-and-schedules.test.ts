/** What Rota promises about time and schedules, one test a promise. Details and edges are tested beside each module. */
import { describe, expect, it } from "vitest";
import {
  calculateNextTrigger,
  CronParseError,
  FakeClock,
  type IntervalSchedule,
  IntervalParseError,
  isScheduleDue,
  judgeSlot,
  nextCronRun,
  nextCronRuns,
  parseInterval,
  planNextRun,
  recordOutcome,
  ScheduleDefinitionError,
  seededRandom,
  validateSchedule,
} from "../../src/index.js";
import { thrownBy } from "../thrown-by.js";

const at = (text: string): Date => new Date(`2026-03-02T${text}Z`);

describe("interval grammar", () => {
  it("turns a positive integer and a unit into milliseconds", () => {
    expect(["30s", "5m", "1h", "2d", "30d"].map(parseInterval)).toEqual([
      30_000, 300_000, 3_600_000, 172_800_000, 2_592_000_000,
    ]);
  });
});

describe("interval errors", () => {
  it.each([
    ["", 'Interval is empty. Expected format: "{number}{unit}"'],
    ["5", 'Missing time unit. Expected format: "{number}{unit}"'],
    ["5.5m", "Decimal values are not supported"],
    ["0m", "Zero interval is not allowed"],
    ["-5m", "Negative intervals are not allowed"],
    ["5x", 'Invalid time unit "x". Valid units are: s, m, h, d'],
  ])("%j has a message of its own and carries the text", (interval, message) => {
    const error = thrownBy(() => parseInterval(interval));
    expect(error).toBeInstanceOf(IntervalParseError);
    expect(error).toMatchObject({
      message,
      interval,
      code: "INTERVAL_PARSE_ERROR",
      name: "IntervalParseError",
    });
  });
});

describe("a cron schedule of five fields", () => {
  it("runs strictly after the reference instant", () => {
    const friday = new Date("2026-03-06T09:00:00Z");
    expect(nextCronRun("0 9 * * 1-5", friday, "UTC")).toEqual(new Date("2026-03-09T09:00:00Z"));
  });
});

describe("cron shorthands", () => {
  it.each([
    ["@hourly", "0 * * * *"],
    ["@daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    ["@weekly", "0 0 * * 0"],
    ["@monthly", "0 0 1 * *"],
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
  ])("%s means %s", (shorthand, expression) => {
    const zone = "Europe/London";
    expect(nextCronRuns(shorthand, 5, at("10:20:30"), zone)).toEqual(
      nextCronRuns(expression, 5, at("10:20:30"), zone),
    );
  });
});

describe("validation", () => {
  it("refuses a bad schedule when it is defined, before anything is planned", () => {
    expect(() => validateSchedule({ type: "cron", expression: "banana" })).toThrow(CronParseError);
    expect(() => validateSchedule({ type: "interval", interval: "5x" })).toThrow(IntervalParseError);
  });
});

describe("the baseline of a schedule", () => {
  it("is either cron or interval, never both", () => {
    const both = { type: "interval", interval: "5m", expression: "@daily" };
    expect(() => validateSchedule(both)).toThrow(ScheduleDefinitionError);
  });

  it("is replaced as a whole when a cron schedule becomes an interval: now + interval, and so on from there", () => {
    const ranByCron = { last_completed_at: "2026-03-01T09:00:10Z", next_run_at: "2026-03-03T09:00:00Z" };
    const schedule: IntervalSchedule = { type: "interval", interval: "5m" };
    const first = planNextRun({ now: at("10:00:00"), schedule, state: ranByCron });
    expect(first).toEqual({ nextRunAt: at("10:05:00"), source: "baseline-interval" });
    const ran = recordOutcome(ranByCron, { startedAt: at("10:05:00"), completedAt: at("10:06:00") });
    expect(planNextRun({ now: at("10:06:00"), schedule, state: { ...ranByCron, ...ran } })).toEqual({
      nextRunAt: at("10:11:00"),
      source: "baseline-interval",
    });
  });
});

describe("the first run", () => {
  it("of an interval schedule is due at the first check", () => {
    const clock = new FakeClock();
    const plan = planNextRun({ now: clock.now(), schedule: { type: "interval", interval: "1h" }, state: {} });
    expect(plan).toEqual({ nextRunAt: clock.now(), source: "first-run" });
    expect(isScheduleDue(plan.nextRunAt, clock.now())).toBe(true);
    expect(calculateNextTrigger(null, "5m", 0, { now: clock.now() })).toEqual(clock.now());
  });
});

/** Runs a schedule through `runMs` of work and answers the next start, in seconds after the first. */
function secondStart(schedule: IntervalSchedule, runMs: number): number {
  const startedAt = at("10:00:00");
  const completedAt = new Date(startedAt.getTime() + runMs);
  const state = recordOutcome({}, { startedAt, completedAt });
  return (
    (planNextRun({ now: completedAt, schedule, state }).nextRunAt.getTime() - startedAt.getTime()) / 1000
  );
}

describe("an interval", () => {
  it("counts from completion: a 10-minute job every 5 minutes starts again after 15", () => {
    expect(secondStart({ type: "interval", interval: "5m" }, 600_000)).toBe(15 * 60);
  });

  it.each([
    [1, 15],
    [20, 35],
    [30, 45],
  ])("anchored to the start, with a run of %i s every 15 s, starts again after %i s", (run, start) => {
    expect(secondStart({ type: "interval", interval: "15s", anchor: "start" }, run * 1000)).toBe(start);
  });

  it("whose time has passed is due now, one time and not once per interval missed", () => {
    const now = at("12:00:00");
    const lastCompletedAt = at("10:00:00");
    expect(calculateNextTrigger(lastCompletedAt, "5m", 0, { now })).toEqual(now);
    const schedule: IntervalSchedule = { type: "interval", interval: "5m" };
    expect(judgeSlot({ now, schedule, slotAt: at("10:05:00") }).verdict).toBe("catch-up");
    const caughtUp = recordOutcome({}, { startedAt: now, completedAt: now });
    expect(planNextRun({ now, schedule, state: caughtUp }).nextRunAt).toEqual(at("12:05:00"));
  });
});

describe("jitter", () => {
  it("adds up to its percentage of the interval and never takes away", () => {
    const random = seededRandom(7);
    const now = at("10:00:00");
    const minutes = Array.from({ length: 1000 }, () => {
      const dueAt = calculateNextTrigger(now, "1h", 5, { now, random });
      return (dueAt.getTime() - now.getTime()) / 60_000;
    });
    expect(Math.min(...minutes)).toBeGreaterThanOrEqual(60);
    expect(Math.max(...minutes)).toBeLessThanOrEqual(63);
    expect(new Set(minutes).size).toBeGreaterThan(900);
  });
});

describe("isScheduleDue", () => {
  it.each([
    ["09:59:59.999", true],
    ["10:00:00", true],
    ["10:00:00.001", false],
  ])("returns for %s at 10:00: %s", (nextRunAt, due) => {
    expect(isScheduleDue(at(nextRunAt), at("10:00:00"))).toBe(due);
  });
});

describe("a webhook or chat schedule", () => {
  it.each(["webhook", "chat"] as const)("of type %s is never planned, whatever its state says", (type) => {
    const hint = { next_run_at: "2026-03-02T09:00:00Z", interval: "1s", expires_at: "2027-01-01T00:00:00Z" };
    const state = { last_completed_at: "2026-03-01T00:00:00Z", paused_until: "2026-03-03T00:00:00Z", hint };
    expect(() => validateSchedule({ type })).not.toThrow();
    expect(planNextRun({ now: at("10:00:00"), schedule: { type }, state })).toBeUndefined();
  });
});

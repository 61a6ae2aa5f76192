/** What Rota promises about plans, one test a promise. Each says when the next run is, and why then. */
import { describe, expect, it } from "vitest";
import {
  type IntervalSchedule,
  type PlanSource,
  planNextRun,
  recordOutcome,
  type RecurringSchedule,
  type ScheduleHint,
  type ScheduleState,
  ScheduleDefinitionError,
  validateSchedule,
} from "../../src/index.js";

const at = (time: string): Date => new Date(`2026-03-01T${time}Z`);
const iso = (time: string): string => at(time).toISOString();

const every = (interval: string, more: Partial<IntervalSchedule> = {}): IntervalSchedule => ({
  type: "interval",
  interval,
  ...more,
});
const hourly: RecurringSchedule = { type: "cron", expression: "0 * * * *", timezone: "UTC" };

/** The state of a schedule whose last run ended at `time`. */
const ranAt = (time: string, more: Partial<ScheduleState> = {}): Partial<ScheduleState> => ({
  last_started_at: iso(time),
  last_completed_at: iso(time),
  ...more,
});

const hint = (more: Partial<ScheduleHint>): { hint: ScheduleHint } => ({
  hint: { expires_at: iso("23:00:00"), ...more },
});

/** The plan as "time source", which reads as the sentence a user wants to hear. */
function plan(
  time: string,
  schedule: RecurringSchedule,
  state: Partial<ScheduleState>,
): [string, PlanSource] {
  const { nextRunAt, source } = planNextRun({ now: at(time), schedule, state });
  return [nextRunAt.toISOString().slice(11, 19), source];
}

describe("the planner", () => {
  it("is pure: the same input gives the same output a thousand times and is not changed", () => {
    const schedule = Object.freeze(every("5m", { jitter: 10, min_interval: "1m", max_interval: "1d" }));
    const state = Object.freeze(
      ranAt("00:00:00", { failure_count: 2, hint: Object.freeze(hint({ interval: "7m" }).hint) }),
    );
    const plans = Array.from({ length: 1000 }, () =>
      JSON.stringify(planNextRun({ now: at("00:05:00"), schedule, state })),
    );
    expect(new Set(plans)).toEqual(
      new Set(['{"nextRunAt":"2026-03-01T00:07:00.000Z","source":"ai-interval"}']),
    );
  });
});

describe("the baseline", () => {
  it("of an interval is its completion + interval", () => {
    expect(plan("00:05:00", every("5m"), ranAt("00:05:00"))).toEqual(["00:10:00", "baseline-interval"]);
  });

  it("of a cron schedule is its next time after now", () => {
    expect(plan("00:05:00", hourly, ranAt("00:00:03"))).toEqual(["01:00:00", "baseline-cron"]);
    expect(plan("01:00:00", hourly, ranAt("00:00:03"))).toEqual(["02:00:00", "baseline-cron"]);
  });
});

describe("backoff", () => {
  it.each([
    [0, "00:01:00"],
    [1, "00:02:00"],
    [2, "00:04:00"],
    [5, "00:32:00"],
    [10, "00:32:00"],
  ])("after %i failures makes a minute end at %s", (failure_count, time) => {
    expect(plan("00:00:00", every("60s"), ranAt("00:00:00", { failure_count }))).toEqual([
      time,
      "baseline-interval",
    ]);
  });

  it("leaves cron alone", () => {
    expect(plan("00:05:00", hourly, ranAt("00:00:00", { failure_count: 5 }))).toEqual([
      "01:00:00",
      "baseline-cron",
    ]);
  });
});

describe("an interval hint", () => {
  it.each([
    ["shorter", "5m", "1m", 0, "00:01:00"],
    ["longer", "15s", "30s", 0, "00:00:30"],
    ["in spite of failures", "5m", "2m", 5, "00:02:00"],
  ])("replaces the baseline: %s", (_, interval, hinted, failure_count, time) => {
    const state = ranAt("00:00:00", { failure_count, ...hint({ interval: hinted }) });
    expect(plan("00:00:00", every(interval), state)).toEqual([time, "ai-interval"]);
  });

  it("replaces a cron baseline too", () => {
    expect(plan("00:00:00", hourly, ranAt("00:00:00", hint({ interval: "10m" })))).toEqual([
      "00:10:00",
      "ai-interval",
    ]);
  });
});

describe("a one-shot hint", () => {
  it("competes with the baseline: the earlier wins", () => {
    const early = ranAt("00:00:00", hint({ next_run_at: iso("00:02:00") }));
    const late = ranAt("00:00:00", hint({ next_run_at: iso("00:09:00") }));
    expect(plan("00:00:00", every("5m"), early)).toEqual(["00:02:00", "ai-oneshot"]);
    expect(plan("00:00:00", every("5m"), late)).toEqual(["00:05:00", "baseline-interval"]);
  });

  it("beside an interval hint: the earlier of the two, and the baseline is ignored", () => {
    const shotFirst = ranAt("00:00:00", hint({ interval: "2m", next_run_at: iso("00:01:30") }));
    const intervalFirst = ranAt("00:00:00", hint({ interval: "20m", next_run_at: iso("00:30:00") }));
    expect(plan("00:00:00", every("10m"), shotFirst)).toEqual(["00:01:30", "ai-oneshot"]);
    expect(plan("00:00:00", every("10m"), intervalFirst)).toEqual(["00:20:00", "ai-interval"]);
  });

  it("in the past means now", () => {
    const state = ranAt("00:04:00", hint({ next_run_at: iso("00:00:00") }));
    expect(plan("00:05:00", every("5m"), state)).toEqual(["00:05:00", "ai-oneshot"]);
  });
});

describe("an expired hint", () => {
  it.each(["00:04:59", "00:05:00"])("of %s does not count at 00:05", (time) => {
    const state = ranAt(
      "00:05:00",
      hint({ interval: "1m", next_run_at: iso("00:05:30"), expires_at: iso(time) }),
    );
    expect(plan("00:05:00", every("5m"), state)).toEqual(["00:10:00", "baseline-interval"]);
  });
});

describe("a time that has passed", () => {
  it("becomes now + interval for an interval, its next time for cron", () => {
    const state = ranAt("00:00:00", { next_run_at: iso("00:05:00") });
    expect(plan("02:00:00", every("5m"), state)).toEqual(["02:05:00", "baseline-interval"]);
    expect(plan("02:00:01", hourly, ranAt("00:00:00"))).toEqual(["03:00:00", "baseline-cron"]);
  });
});

describe("min_interval", () => {
  it("moves a run that comes too soon", () => {
    const schedule = every("10s", { min_interval: "60s" });
    expect(plan("00:00:05", schedule, ranAt("00:00:05"))).toEqual(["00:01:05", "clamped-min"]);
  });

  it("above max_interval is refused when the schedule is defined", () => {
    const schedule = every("5m", { min_interval: "60s", max_interval: "30s" });
    expect(() => validateSchedule(schedule)).toThrow(ScheduleDefinitionError);
    expect(() => validateSchedule(schedule)).toThrow(
      'Invalid min_interval "60s": expected at most max_interval, which is "30s"',
    );
  });
});

describe("max_interval", () => {
  it.each([
    ["10m", "3m", 0, "00:03:00"],
    ["1m", "5m", 5, "00:05:00"],
  ])(
    "moves a run that comes too late: every %s, at most %s, %i failures",
    (interval, max_interval, failure_count, time) => {
      expect(
        plan("00:00:00", every(interval, { max_interval }), ranAt("00:00:00", { failure_count })),
      ).toEqual([time, "clamped-max"]);
    },
  );
});

describe("a pause", () => {
  it("wins over everything else", () => {
    const state = ranAt("00:00:00", {
      paused_until: iso("00:10:00"),
      ...hint({ interval: "1m", next_run_at: iso("00:00:30") }),
    });
    expect(plan("00:00:00", every("5m", { min_interval: "30m" }), state)).toEqual(["00:10:00", "paused"]);
    expect(plan("00:00:00", every("5m"), { paused_until: iso("00:10:00") })).toEqual(["00:10:00", "paused"]);
  });

  it("that has ended does not count", () => {
    expect(plan("00:10:00", every("5m"), ranAt("00:10:00", { paused_until: iso("00:10:00") }))).toEqual([
      "00:15:00",
      "baseline-interval",
    ]);
  });
});

describe("the source of a plan", () => {
  it.each<[PlanSource, RecurringSchedule, Partial<ScheduleState>]>([
    ["baseline-interval", every("5m"), {}],
    ["baseline-cron", hourly, {}],
    ["ai-interval", every("5m"), hint({ interval: "1m" })],
    ["ai-oneshot", every("5m"), hint({ next_run_at: iso("00:01:00") })],
    ["clamped-min", every("5m", { min_interval: "6m" }), {}],
    ["clamped-max", every("5m", { max_interval: "4m" }), {}],
    ["paused", every("5m"), { paused_until: iso("00:10:00") }],
  ])("can be %s", (source, schedule, state) => {
    expect(plan("00:00:00", schedule, ranAt("00:00:00", state))[1]).toBe(source);
  });
});

/** A run from `started` to `completed`, and the plan made when it ended. */
function afterRun(
  schedule: RecurringSchedule,
  state: Partial<ScheduleState>,
  started: string,
  completed: string,
  error?: string,
) {
  const outcome = { startedAt: at(started), completedAt: at(completed), error };
  const after = { ...state, ...recordOutcome(state, outcome) };
  return { state: after, plan: plan(completed, schedule, after) };
}

describe("a one-shot hint, once it has caused a run,", () => {
  it("is used up, though its time to live is not: exactly one run, then the baseline", () => {
    const before = ranAt("00:00:00", hint({ next_run_at: iso("00:02:00") }));
    const { state, plan: next } = afterRun(every("5m"), before, "00:02:00", "00:02:10");
    expect(state.hint).toBeNull();
    expect(next).toEqual(["00:07:10", "baseline-interval"]);
  });

  it("leaves the interval hint beside it in force", () => {
    const before = ranAt("00:00:00", hint({ interval: "1m", next_run_at: iso("00:00:30") }));
    const { state, plan: next } = afterRun(every("5m"), before, "00:00:30", "00:00:40");
    expect(state.hint).toEqual({ interval: "1m", expires_at: iso("23:00:00") });
    expect(next).toEqual(["00:01:40", "ai-interval"]);
  });
});

describe("hints past their expiry", () => {
  it("are gone from the state after the next run", () => {
    const before = ranAt(
      "00:00:00",
      hint({ interval: "1m", next_run_at: iso("09:00:00"), expires_at: iso("00:05:30") }),
    );
    expect(afterRun(every("5m"), before, "00:05:00", "00:05:30").state.hint).toBeNull();
  });
});

describe("the failure count", () => {
  it("is the one after the outcome: the first failure waits twice as long, the first success is back to normal", () => {
    const failed = afterRun(every("5m"), ranAt("00:00:00"), "01:00:00", "01:00:00", "boom");
    expect(failed.state).toMatchObject({ failure_count: 1, last_error: "boom" });
    expect(failed.plan).toEqual(["01:10:00", "baseline-interval"]);
    const again = afterRun(every("5m"), failed.state, "01:10:00", "01:10:00", "boom");
    expect(again.plan).toEqual(["01:30:00", "baseline-interval"]);
    const succeeded = afterRun(every("5m"), again.state, "01:30:00", "01:30:00");
    expect(succeeded.state).toMatchObject({ failure_count: 0, last_error: null });
    expect(succeeded.plan).toEqual(["01:35:00", "baseline-interval"]);
  });
});

describe("a plan made before a slow run", () => {
  it("is in the past when the run ends, and is made again from there", () => {
    const before = ranAt("00:00:00", { next_run_at: iso("00:05:00") });
    expect(afterRun(every("5m", { anchor: "start" }), before, "00:05:00", "00:25:00").plan).toEqual([
      "00:30:00",
      "baseline-interval",
    ]);
    expect(afterRun(hourly, ranAt("00:00:00"), "01:00:00", "03:30:00").plan).toEqual([
      "04:00:00",
      "baseline-cron",
    ]);
  });
});

describe("a new hint", () => {
  const idle = ranAt("00:00:00", { next_run_at: iso("01:00:00") });

  it("takes effect now: one second on an idle hourly schedule", () => {
    expect(plan("00:20:00", every("1h"), { ...idle, ...hint({ interval: "1s" }) })).toEqual([
      "00:20:01",
      "ai-interval",
    ]);
  });

  it("stays within the limits, and waits for a pause to end", () => {
    const hinted = { ...idle, ...hint({ interval: "1s" }) };
    expect(plan("00:20:00", every("1h", { min_interval: "5m" }), hinted)).toEqual([
      "00:25:00",
      "clamped-min",
    ]);
    expect(plan("00:20:00", every("1h"), { ...hinted, paused_until: iso("00:45:00") })).toEqual([
      "00:45:00",
      "paused",
    ]);
  });
});

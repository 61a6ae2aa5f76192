import { describe, expect, it } from "vitest";
import {
  type OnceSchedule,
  planNextRun,
  recordOutcome,
  SchedulerError,
  type ScheduleState,
} from "../../../src/index.js";

const at = (time: string): Date => new Date(`2026-03-01T${time}Z`);
const iso = (time: string): string => at(time).toISOString();

describe("planNextRun for an interval", () => {
  const schedule = { type: "interval", interval: "10m" } as const;

  it("counts from last_run_at if the state has nothing else", () => {
    const plan = planNextRun({ now: at("00:01:00"), schedule, state: { last_run_at: iso("00:00:00") } });
    expect(plan).toEqual({ nextRunAt: at("00:10:00"), source: "baseline-interval" });
  });

  it("treats null as absent", () => {
    const state = {
      last_run_at: null,
      last_completed_at: null,
      failure_count: null,
      paused_until: null,
      hint: null,
    };
    expect(planNextRun({ now: at("00:00:00"), schedule, state }).source).toBe("first-run");
  });

  it("does not wait for a completion that lies in the future, because the clock was set back", () => {
    const state = { last_completed_at: "2036-03-01T00:00:00Z", last_started_at: "2036-03-01T00:00:00Z" };
    for (const anchor of ["completion", "start"] as const) {
      expect(
        planNextRun({ now: at("00:00:00"), schedule: { ...schedule, anchor }, state }).nextRunAt,
      ).toEqual(at("00:10:00"));
    }
  });

  it("adds jitter only with a `random`", () => {
    const state = { last_completed_at: iso("00:00:00") };
    const jittery = { ...schedule, jitter: 10 };
    expect(planNextRun({ now: at("00:00:00"), schedule: jittery, state }).nextRunAt).toEqual(at("00:10:00"));
    expect(
      planNextRun({ now: at("00:00:00"), schedule: jittery, state, random: () => 0.5 }).nextRunAt,
    ).toEqual(at("00:10:30"));
  });

  it("counts from the end of a run longer than the interval, also when planned later", () => {
    const state = { last_started_at: iso("00:00:00"), last_completed_at: iso("00:15:00") };
    const plan = planNextRun({ now: at("00:20:00"), schedule: { ...schedule, anchor: "start" }, state });
    expect(plan.nextRunAt).toEqual(at("00:25:00"));
  });

  it("counts from that end also where jitter would reach beyond it", () => {
    const state = { last_started_at: iso("00:00:00"), last_completed_at: iso("00:10:30") };
    const jittery = { ...schedule, anchor: "start", jitter: 10 } as const;
    const plan = planNextRun({ now: at("00:10:30"), schedule: jittery, state, random: () => 0.9 });
    expect(plan.nextRunAt).toEqual(at("00:21:24"));
  });

  it("is not delayed by limits the first time", () => {
    const limited = { ...schedule, min_interval: "5m" };
    expect(planNextRun({ now: at("00:00:00"), schedule: limited, state: {} })).toEqual({
      nextRunAt: at("00:00:00"),
      source: "first-run",
    });
  });

  it("names the baseline when a one-shot ties with it: the run would have come anyway", () => {
    const hint = { next_run_at: iso("00:10:00"), expires_at: iso("23:00:00") };
    const plan = planNextRun({
      now: at("00:00:00"),
      schedule,
      state: { last_completed_at: iso("00:00:00"), hint },
    });
    expect(plan).toEqual({ nextRunAt: at("00:10:00"), source: "baseline-interval" });
  });

  it("refuses an invalid `now`", () => {
    expect(() => planNextRun({ now: new Date(Number.NaN), schedule, state: {} })).toThrow(
      "Now is not a valid Date",
    );
  });

  it("that took exactly as long as its interval, anchored to the start, is due again at once", () => {
    const state = { last_started_at: iso("00:00:00"), last_completed_at: iso("00:10:00") };
    const plan = planNextRun({ now: at("00:10:00"), schedule: { ...schedule, anchor: "start" }, state });
    expect(plan).toEqual({ nextRunAt: at("00:10:00"), source: "baseline-interval" });
  });

  it("anchored to the start counts from last_run_at if the state has nothing else", () => {
    const state = { last_run_at: iso("00:00:00") };
    const plan = planNextRun({ now: at("00:04:00"), schedule: { ...schedule, anchor: "start" }, state });
    expect(plan.nextRunAt).toEqual(at("00:10:00"));
  });

  it("that is due exactly now stays due now", () => {
    const plan = planNextRun({
      now: at("00:10:00"),
      schedule,
      state: { last_completed_at: iso("00:00:00") },
    });
    expect(plan.nextRunAt).toEqual(at("00:10:00"));
  });

  it("exactly on a limit is not moved by it", () => {
    const state = { last_completed_at: iso("00:00:00") };
    for (const limit of ["min_interval", "max_interval"]) {
      const plan = planNextRun({ now: at("00:00:00"), schedule: { ...schedule, [limit]: "10m" }, state });
      expect(plan).toEqual({ nextRunAt: at("00:10:00"), source: "baseline-interval" });
    }
  });

  it("spreads by a share of the whole wait, backoff included, and not where a hint asks for an exact one", () => {
    const jittery = { ...schedule, jitter: 10 };
    const failed = { last_completed_at: iso("00:00:00"), failure_count: 1 };
    const now = at("00:00:00");
    const random = (): number => 0.5;
    expect(planNextRun({ now, schedule: jittery, state: failed, random }).nextRunAt).toEqual(at("00:21:00"));
    const hint = { interval: "5m", expires_at: iso("23:00:00") };
    expect(planNextRun({ now, schedule: jittery, state: { ...failed, hint }, random }).nextRunAt).toEqual(
      at("00:05:00"),
    );
  });

  it("that never ran is due now, whatever interval a hint advises", () => {
    const hint = { interval: "1d", expires_at: iso("23:00:00") };
    expect(planNextRun({ now: at("00:00:00"), schedule, state: { hint } }).source).toBe("first-run");
  });

  it.each([
    ["last_run_at", "soon", "expected an ISO time"],
    ["last_completed_at", "2026-02-30T00:00:00Z", "expected an ISO time"],
    ["paused_until", "tomorrow 9", "expected an ISO time"],
    ["failure_count", -1, "expected a whole number from 0"],
    ["failure_count", 1.5, "expected a whole number from 0"],
    ["failure_count", Number.NaN, "expected a whole number from 0"],
    [
      "hint",
      { interval: "5x", expires_at: iso("23:00:00") },
      'Invalid hint.interval "5x" in the state: Invalid time unit "x"',
    ],
    ["hint", { interval: "5m" }, "Invalid hint.expires_at undefined in the state: expected an ISO time"],
    ["hint", { expires_at: "never" }, 'Invalid hint.expires_at "never" in the state'],
  ])("refuses a state whose %s is %j", (key, value, reason) => {
    const state = { last_run_at: iso("00:00:00"), [key]: value } as Partial<ScheduleState>;
    const act = () => planNextRun({ now: at("00:00:00"), schedule, state });
    expect(act).toThrow(SchedulerError);
    expect(act).toThrow(reason);
    expect(act).toThrow(expect.objectContaining({ code: "INVALID_STATE" }));
  });
});

describe("planNextRun for a cron schedule", () => {
  it("accepts `cron` in place of `expression`, and counts in the schedule's time zone", () => {
    const schedule = { type: "cron", cron: "0 9 * * *", timezone: "America/New_York" } as const;
    expect(planNextRun({ now: at("00:00:00"), schedule, state: {} })).toEqual({
      nextRunAt: at("14:00:00"),
      source: "baseline-cron",
    });
  });
});

describe("planNextRun for a once schedule", () => {
  const schedule: OnceSchedule = { type: "once", at: iso("09:00:00") };
  const now = at("08:00:00");

  it("plans its time, also when it has passed, so that its lateness can be judged", () => {
    expect(planNextRun({ now, schedule, state: {} })).toEqual({ nextRunAt: at("09:00:00"), source: "once" });
    expect(planNextRun({ now: at("10:00:00"), schedule, state: {} })).toEqual({
      nextRunAt: at("09:00:00"),
      source: "once",
    });
  });

  it("plans nothing after its run, and still does after a manual run before its time", () => {
    const run = (time: string) => recordOutcome({}, { startedAt: at(time), completedAt: at(time) });
    expect(planNextRun({ now: at("10:00:00"), schedule, state: run("09:00:00") })).toBeUndefined();
    expect(planNextRun({ now, schedule, state: { last_run_at: iso("09:00:01") } })).toBeUndefined();
    expect(planNextRun({ now, schedule, state: run("07:00:00") })?.nextRunAt).toEqual(at("09:00:00"));
  });

  it("refuses an invalid time", () => {
    const act = () => planNextRun({ now, schedule: { type: "once", at: "soon" }, state: {} });
    expect(act).toThrow('Invalid at "soon": expected an ISO time with its offset');
  });

  it("is not hurried by a pause that ends before its time", () => {
    const state = { paused_until: iso("08:30:00") };
    expect(planNextRun({ now, schedule, state })).toEqual({ nextRunAt: at("09:00:00"), source: "once" });
    const hint = { next_run_at: iso("08:15:00"), expires_at: iso("23:00:00") };
    expect(planNextRun({ now, schedule, state: { ...state, hint } })).toEqual({
      nextRunAt: at("08:30:00"),
      source: "paused",
    });
  });

  it("knows pauses and one-shots, and ignores an interval hint", () => {
    const hint = { interval: "1m", next_run_at: iso("08:30:00"), expires_at: iso("23:00:00") };
    expect(planNextRun({ now, schedule, state: { hint } })).toEqual({
      nextRunAt: at("08:30:00"),
      source: "ai-oneshot",
    });
    expect(planNextRun({ now, schedule, state: { last_run_at: iso("09:00:00"), hint } })?.source).toBe(
      "ai-oneshot",
    );
    expect(planNextRun({ now, schedule, state: { paused_until: iso("10:00:00") } })).toEqual({
      nextRunAt: at("10:00:00"),
      source: "paused",
    });
  });
});

describe("planning again", () => {
  const hourly = { type: "interval", interval: "1h" } as const;
  const monthly = { type: "cron", expression: "0 0 1 * *", timezone: "UTC" } as const;
  const hint = { interval: "1h", expires_at: iso("23:00:00") };
  const shot = { next_run_at: iso("00:00:00"), expires_at: iso("23:00:00") };
  const longAgo = "2026-02-01T00:00:00Z";

  it.each([
    ["baseline-interval", hourly, { last_completed_at: longAgo }],
    ["ai-interval", monthly, { hint }],
    ["clamped-max", { ...monthly, max_interval: "1h" }, {}],
    ["clamped-min", { ...monthly, min_interval: "1h" }, { last_completed_at: longAgo, hint: shot }],
  ] as const)("for the same reason, %s, never puts a run off", (source, schedule, before) => {
    expect(planNextRun({ now: at("00:00:00"), schedule, state: before })).toEqual({
      nextRunAt: at("01:00:00"),
      source,
    });
    const planned = { ...before, next_run_at: iso("01:00:00"), next_run_source: source };
    for (const time of ["00:20:00", "00:40:00", "00:59:59"]) {
      expect(planNextRun({ now: at(time), schedule, state: planned })).toEqual({
        nextRunAt: at("01:00:00"),
        source,
      });
    }
  });

  it("with a longer interval counts it from the last completion, whatever was planned before", () => {
    const planned = { next_run_at: iso("00:05:00"), next_run_source: "baseline-interval" } as const;
    const state = { last_completed_at: iso("00:00:00"), ...planned };
    expect(planNextRun({ now: at("00:01:00"), schedule: hourly, state }).nextRunAt).toEqual(at("01:00:00"));
  });

  it("for a different reason, or for a shorter wait, makes a new plan", () => {
    const planned = { next_run_at: iso("00:30:00"), next_run_source: "baseline-cron" } as const;
    const state = { last_completed_at: longAgo, ...planned };
    expect(planNextRun({ now: at("00:00:00"), schedule: hourly, state }).nextRunAt).toEqual(at("01:00:00"));
    const shorter = { ...hourly, interval: "5m" };
    const before = { ...state, next_run_source: "baseline-interval" } as const;
    expect(planNextRun({ now: at("00:00:00"), schedule: shorter, state: before }).nextRunAt).toEqual(
      at("00:05:00"),
    );
  });
});

describe("recordOutcome", () => {
  const times = { startedAt: at("00:00:00"), completedAt: at("00:10:00") };

  it("keeps a one-shot whose time came during the run", () => {
    const hint = { next_run_at: iso("00:05:00"), expires_at: iso("23:00:00") };
    expect(recordOutcome({ hint }, times)).not.toHaveProperty("hint");
  });

  it("leaves the hint out of its changes unless the job used it up, so that a newer one survives", () => {
    expect(recordOutcome({}, times)).not.toHaveProperty("hint");
    const hint = { interval: "5m", expires_at: iso("23:00:00") };
    expect(recordOutcome({ hint }, times)).not.toHaveProperty("hint");
  });

  it("clears a hint with an invalid expiry", () => {
    expect(recordOutcome({ hint: { interval: "5m", expires_at: "never" } }, times).hint).toBeNull();
  });

  it("records start, end and error", () => {
    expect(recordOutcome({ failure_count: 3 }, { ...times, error: "boom" })).toEqual({
      last_run_at: iso("00:00:00"),
      last_started_at: iso("00:00:00"),
      last_completed_at: iso("00:10:00"),
      last_error: "boom",
      failure_count: 4,
    });
  });
});

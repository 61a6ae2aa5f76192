import { describe, expect, it } from "vitest";
import { type OnceSchedule, planNextRun, recordOutcome, SchedulerError } from "../../src/index.js";

const at = (time: string): Date => new Date(`2026-03-01T${time}Z`);
const iso = (time: string): string => at(time).toISOString();

describe("planNextRun for an interval", () => {
  const schedule = { type: "interval", interval: "10m" } as const;

  it("counts from last_run_at where that is all the state has", () => {
    const plan = planNextRun({ now: at("00:01:00"), schedule, state: { last_run_at: iso("00:00:00") } });
    expect(plan).toEqual({ nextRunAt: at("00:10:00"), source: "baseline-interval" });
  });

  it("takes null for absent", () => {
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

  it("adds jitter only when it is given something to draw from", () => {
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

  it("is not held up by limits the first time", () => {
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

  it("refuses a now that is no time", () => {
    expect(() => planNextRun({ now: new Date(Number.NaN), schedule, state: {} })).toThrow(
      "Now is not a valid Date",
    );
  });

  it.each(["last_completed_at", "paused_until"])("refuses a state whose %s is no time", (key) => {
    const act = () =>
      planNextRun({ now: at("00:00:00"), schedule, state: { last_run_at: iso("00:00:00"), [key]: "soon" } });
    expect(act).toThrow(SchedulerError);
    expect(act).toThrow(`Invalid ${key} "soon" in the state: expected an ISO time`);
  });
});

describe("planNextRun for a cron schedule", () => {
  it("takes cron as another word for expression, and counts in the schedule's time zone", () => {
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

  it("plans nothing after its run, and still does after a run by hand before its time", () => {
    const run = (time: string) => recordOutcome({}, { startedAt: at(time), completedAt: at(time) });
    expect(planNextRun({ now: at("10:00:00"), schedule, state: run("09:00:00") })).toBeUndefined();
    expect(planNextRun({ now, schedule, state: { last_run_at: iso("09:00:01") } })).toBeUndefined();
    expect(planNextRun({ now, schedule, state: run("07:00:00") })?.nextRunAt).toEqual(at("09:00:00"));
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

describe("recordOutcome", () => {
  it("keeps a one-shot whose time came during the run: it asked for another", () => {
    const hint = { next_run_at: iso("00:05:00"), expires_at: iso("23:00:00") };
    expect(recordOutcome({ hint }, { startedAt: at("00:00:00"), completedAt: at("00:10:00") }).hint).toEqual(
      hint,
    );
  });

  it("records start, end and error", () => {
    expect(
      recordOutcome(
        { failure_count: 3 },
        { startedAt: at("00:00:00"), completedAt: at("00:10:00"), error: "boom" },
      ),
    ).toEqual({
      last_run_at: iso("00:00:00"),
      last_started_at: iso("00:00:00"),
      last_completed_at: iso("00:10:00"),
      last_error: "boom",
      failure_count: 4,
      hint: null,
    });
  });
});

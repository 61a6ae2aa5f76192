/** What is written when a job has ended, or a slot is dropped. */
import { describe, expect, it } from "vitest";
import type { AgentSchedule, ScheduleState } from "../../../src/index.js";
import {
  type Conclusion,
  dropSlot,
  type FinishedRun,
  NO_END,
  stateAfterJob,
} from "../../../src/scheduler/planning/state-after-job.js";
import { cron, every, once, START } from "../scene.js";

const NOW = new Date("2026-03-01T00:10:00.000Z");
const NOW_ISO = NOW.toISOString();

/** A job from 00:00 to 00:10. */
function concluded(
  schedule: AgentSchedule | undefined,
  state: Partial<ScheduleState> = {},
  result: Partial<FinishedRun["result"]> = {},
): Conclusion {
  return stateAfterJob({ now: NOW, schedule, state, random: () => 0 }, finished(result));
}

function finished({ error, status }: Partial<FinishedRun["result"]>): FinishedRun {
  const result = { status: status ?? (error === undefined ? "completed" : "failed"), error } as const;
  return { result, startedAt: new Date(START), finishedAt: NOW };
}

describe("the end of a job", () => {
  it("is its outcome, and the plan that follows from it", () => {
    expect(concluded(every("5m"), { failure_count: 3, last_error: "old" }).patch).toEqual({
      last_run_at: START,
      last_started_at: START,
      last_completed_at: NOW_ISO,
      last_error: null,
      failure_count: 0,
      next_run_at: "2026-03-01T00:15:00.000Z",
      next_run_source: "baseline-interval",
    });
  });

  it("after a failure counts it before it plans", () => {
    expect(concluded(every("5m"), { failure_count: 1 }, { error: "boom" }).patch).toMatchObject({
      failure_count: 2,
      last_error: "boom",
      next_run_at: "2026-03-01T00:30:00.000Z",
    });
  });

  it("after a cancellation leaves the count as it was", () => {
    const { patch } = concluded(
      every("5m"),
      { failure_count: 1 },
      { error: "called off", status: "cancelled" },
    );
    expect(patch).toMatchObject({ failure_count: 1, last_error: "called off" });
  });

  it.each([every("5m", { on_failure: "pause" }), cron("0 * * * *", { on_failure: "pause" })])(
    "after a failure pauses what asks for it: %o",
    (schedule) => {
      expect(concluded(schedule, {}, { error: "boom" }).patch).toMatchObject({
        paused_until: NO_END,
        next_run_source: "paused",
      });
      expect(concluded(schedule).patch).not.toHaveProperty("paused_until");
      expect(concluded(schedule, {}, { error: "off", status: "cancelled" }).patch).not.toHaveProperty(
        "paused_until",
      );
    },
  );

  it("uses its slot up, so that what put it off does not keep it", () => {
    const state: Partial<ScheduleState> = {
      next_run_at: "2026-03-01T00:11:00.000Z",
      next_run_source: "clamped-min",
    };
    expect(concluded(every("1m", { min_interval: "20m" }), state).plan).toEqual({
      nextRunAt: new Date("2026-03-01T00:30:00Z"),
      source: "clamped-min",
    });
  });

  it.each<[string, AgentSchedule | undefined, Partial<ScheduleState>]>([
    ["is gone", undefined, {}],
    ["was disabled meanwhile", every("5m"), { status: "disabled" }],
    ["has had its one run", once(START), {}],
    ["waits for requests", { type: "webhook" }, {}],
  ])("of a schedule that %s has no next run", (_, schedule, state) => {
    expect(concluded(schedule, state)).toMatchObject({
      plan: undefined,
      patch: { last_completed_at: NOW_ISO, next_run_at: null, next_run_source: null },
    });
  });

  it("with an invalid hint drops the hint and reports it", () => {
    const hint = { interval: "soon", expires_at: NO_END };
    const { patch, problem } = concluded(every("5m"), { hint });
    expect(patch).toMatchObject({
      hint: null,
      next_run_source: "baseline-interval",
      last_completed_at: NOW_ISO,
    });
    expect(problem).toContain('"soon"');
  });

  it("with an invalid state is still written, without a plan", () => {
    const { patch, plan, problem } = concluded(every("5m"), { paused_until: "whenever" });
    expect(patch).toMatchObject({ last_completed_at: NOW_ISO, next_run_at: null });
    expect(plan).toBeUndefined();
    expect(problem).toContain('paused_until "whenever"');
  });
});

describe("a slot that is dropped", () => {
  it("beside a last start in a year that no calendar reaches is planned from now", () => {
    const state: Partial<ScheduleState> = { last_started_at: "9999-06-01T00:00:00Z" };
    const input = { now: NOW, schedule: cron("0 * * * *"), state, random: () => 0 };
    expect(dropSlot(input, {}).plan?.nextRunAt).toEqual(new Date("2026-03-01T01:00:00Z"));
  });

  it("leaves the outcome of the last job, the count of slots that were not run, and the plan after it", () => {
    const state: Partial<ScheduleState> = { last_error: "boom", failure_count: 1, next_run_at: START };
    const input = { now: NOW, schedule: cron("0 * * * *"), state, random: () => 0 };
    expect(dropSlot(input, {}).patch).toEqual({
      missed_count: 1,
      last_missed_at: "2026-03-01T00:00:00.000Z",
      next_run_at: "2026-03-01T01:00:00.000Z",
      next_run_source: "baseline-cron",
    });
  });

  it("of a `once` is its only one", () => {
    const input = { now: NOW, schedule: once(START), state: {}, random: () => 0 };
    expect(dropSlot(input, { last_missed_at: START }).plan).toBeUndefined();
  });
});

describe("the end of a job whose schedule only other nodes plan", () => {
  const slot = "2026-03-01T00:00:00.000Z";
  const theirs = { next_run_at: "2026-03-01T00:20:00.000Z", next_run_source: "baseline-cron" } as const;
  const claim = { token: "1", job_id: "job", slot, source: "manual" } as const;
  const concludedHere = (
    state: Partial<ScheduleState>,
    result: Partial<FinishedRun["result"]> = {},
  ): Conclusion =>
    stateAfterJob(
      { now: NOW, schedule: { type: "webhook" }, state, random: () => 0, isPlannedHere: false },
      finished(result),
    );

  it("leaves their plan as it is", () => {
    expect(concludedHere({ ...theirs, claim })).toMatchObject({
      patch: { ...theirs, last_completed_at: NOW_ISO },
      plan: { nextRunAt: new Date(theirs.next_run_at), source: theirs.next_run_source },
    });
  });

  it("leaves also a plan for the time at which the job was started manually", () => {
    const state = { next_run_at: slot, next_run_source: "baseline-cron", claim } as const;
    expect(concludedHere(state).patch).toMatchObject({ next_run_at: slot, next_run_source: "baseline-cron" });
  });

  it("leaves no plan when its slot was the planned one", () => {
    const state = {
      next_run_at: slot,
      next_run_source: "catch-up",
      claim: { ...claim, source: "catch-up" },
    } as const;
    expect(concludedHere(state)).toMatchObject({
      patch: { next_run_at: null, next_run_source: null },
      plan: undefined,
    });
  });

  it("leaves no plan if there was none", () => {
    expect(concludedHere({ claim }).patch).toMatchObject({ next_run_at: null, next_run_source: null });
  });

  it("is due at once when the job was interrupted", () => {
    expect(concludedHere({ ...theirs, claim }, { status: "interrupted", error: "away" }).patch).toMatchObject(
      {
        next_run_at: NOW_ISO,
        next_run_source: "retry",
        retry: { slot: claim.slot, attempt: 2, trigger: "manual", source: "manual" },
      },
    );
  });
});

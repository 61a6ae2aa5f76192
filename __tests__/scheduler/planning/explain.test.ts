import { describe, expect, it } from "vitest";
import { explainNextRun, type PlanInput, planNextRun } from "../../../src/index.js";

const NOW = new Date("2026-03-01T12:00:00.000Z");
const ENDED = { last_run_at: "2026-03-01T11:59:00.000Z", last_completed_at: "2026-03-01T12:00:00.000Z" };
const HINT = { interval: "2m", expires_at: "2026-03-01T13:00:00.000Z" };

function explained(input: Omit<PlanInput, "now">): readonly string[] {
  const plan = explainNextRun({ now: NOW, ...input });
  return (plan?.trail ?? []).map(
    ({ rule, nextRunAt, source }) => `${rule}: ${nextRunAt.toISOString().slice(11, 16)} ${source}`,
  );
}

describe("the explanation of a plan", () => {
  it("has the schedule's own rule, and each rule that changed it, in order", () => {
    expect(
      explained({
        schedule: { type: "interval", interval: "10m", min_interval: "5m" },
        state: { ...ENDED, failure_count: 1, hint: HINT, paused_until: "2026-03-01T12:30:00.000Z" },
      }),
    ).toEqual([
      "baseline: 12:10 baseline-interval",
      "failures: 12:20 baseline-interval",
      "hint: 12:02 ai-interval",
      "limits: 12:05 clamped-min",
      "pause: 12:30 paused",
    ]);
  });

  it("has one step where nothing changes the rule of the schedule", () => {
    const schedule = { type: "cron", expression: "30 14 * * *", timezone: "UTC" } as const;
    expect(explained({ schedule, state: { failure_count: 3 } })).toEqual(["baseline: 14:30 baseline-cron"]);
  });

  it("is undefined for a schedule that runs on request only", () => {
    expect(explainNextRun({ now: NOW, schedule: { type: "webhook" }, state: {} })).toBeUndefined();
  });

  it("ends with the plan, for every combination of rules", () => {
    const schedules = [
      { type: "interval", interval: "10m", jitter: 10 },
      { type: "interval", interval: "10m", min_interval: "15m" },
      { type: "interval", interval: "10m", max_interval: "1m", anchor: "start" },
      { type: "cron", expression: "*/7 * * * *", max_interval: "3m" },
      { type: "once", at: "2026-03-01T14:00:00Z" },
    ] as const;
    const states = [
      {},
      ENDED,
      { ...ENDED, next_run_at: "2026-03-01T12:01:00.000Z", next_run_source: "manual" as const },
    ];
    const more = [{}, { failure_count: 4 }, { hint: HINT }, { paused_until: "2026-03-01T12:03:00.000Z" }];
    for (const schedule of schedules)
      for (const state of states)
        for (const one of more)
          for (const two of more) {
            const input = { now: NOW, schedule, state: { ...state, ...one, ...two }, random: () => 0.5 };
            const plan = planNextRun(input);
            const explanation = explainNextRun(input);
            expect(explanation).toMatchObject(plan ?? {});
            expect(explanation?.trail.at(-1)).toMatchObject(plan ?? {});
            expect(explanation?.trail[0]?.rule).toBe("baseline");
          }
  });
});

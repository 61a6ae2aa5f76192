/** Would it start, and if not, why: the reasons in their order. */
import { describe, expect, it } from "vitest";
import { checkSchedule, type ScheduleQuestion, type ScheduleSkipReason } from "../../../src/index.js";
import { isAutomatic } from "../../../src/scheduler/timing/schedule.js";
import { START } from "../scene.js";

const NOW = Date.parse(START);

/** Everything speaks against it. */
const WORST: ScheduleQuestion = {
  schedule: { type: "chat" },
  state: { status: "disabled", next_run_at: "2026-03-02T00:00:00Z", paused_until: "2026-03-03T00:00:00Z" },
  isRunning: true,
  isAtCapacity: true,
  nowMs: NOW,
};

describe("whether a schedule would start", () => {
  it("is refused for the first reason; with each one taken away, for the next", () => {
    const idle = { ...WORST.state, status: "idle" as const };
    const typed = { ...WORST, schedule: { type: "cron" as const } };
    const enabled = { ...typed, state: idle };
    const ended = { ...enabled, isRunning: false };
    const free = { ...ended, isAtCapacity: false };
    const due = { ...free, state: { ...idle, next_run_at: START } };
    const reasons = [WORST, typed, enabled, ended, free, due].map(
      (question): ScheduleSkipReason | undefined => {
        const check = checkSchedule(question);
        return check.shouldTrigger ? undefined : check.skipReason;
      },
    );
    expect(reasons).toEqual([
      "unsupported_type",
      "disabled",
      "already_running",
      "at_capacity",
      "not_due",
      "paused",
    ]);
  });

  it("is granted without a reason against it: a time equal to now is due", () => {
    const question: ScheduleQuestion = {
      schedule: { type: "once" },
      state: { status: "idle", next_run_at: START },
      isRunning: false,
      isAtCapacity: false,
      nowMs: NOW,
    };
    expect(checkSchedule(question)).toEqual({ shouldTrigger: true });
    expect(checkSchedule({ ...question, state: { status: "idle" } })).toEqual({
      shouldTrigger: false,
      skipReason: "not_due",
    });
  });

  it("does not check the time if none is given", () => {
    const { nowMs: _, ...timeless } = { ...WORST, schedule: { type: "interval" as const }, isRunning: false };
    const state = { ...WORST.state, status: "idle" as const };
    expect(checkSchedule({ ...timeless, state, isAtCapacity: false })).toEqual({ shouldTrigger: true });
  });
});

describe("what the loop starts", () => {
  it("is everything but webhook and chat", () => {
    const types = ["interval", "cron", "once", "webhook", "chat"] as const;
    expect(types.filter((type) => isAutomatic({ type }))).toEqual(["interval", "cron", "once"]);
  });
});

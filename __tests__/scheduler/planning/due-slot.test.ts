/** What becomes of a claimed slot. */
import { describe, expect, it } from "vitest";
import { type AgentSchedule, judgeSlot, type PlanSource, type SlotInput } from "../../../src/index.js";
import { type ClaimVerdict, judgeClaim } from "../../../src/scheduler/planning/due-slot.js";
import { cron, every, once, START } from "../scene.js";

/** The verdict on a slot of 00:00 that was first seen `minutes` later. */
const judged = (schedule: AgentSchedule, source: PlanSource | undefined, minutes: number): ClaimVerdict =>
  judgeClaim(
    { slot: new Date(START), source, seenAt: new Date(Date.parse(START) + minutes * 60_000) },
    schedule,
  );

const HOURLY = cron("0 * * * *");

describe("a claimed slot", () => {
  it.each<[AgentSchedule, PlanSource | undefined]>([
    [HOURLY, "baseline-cron"],
    [every("1h"), "baseline-interval"],
    [once(START), "once"],
    [HOURLY, undefined],
  ])("in time runs for its own reason: %o", (schedule, source) => {
    expect(judged(schedule, source, 0)).toEqual({ action: "run", source });
  });

  it("that is late is missed or run late, as its schedule says", () => {
    const missed = { action: "miss", lateMs: 1_800_000, graceMs: 60_000 };
    expect(judged(HOURLY, "baseline-cron", 30)).toEqual(missed);
    expect(judged(HOURLY, "clamped-max", 30)).toEqual(missed);
    expect(judged(HOURLY, undefined, 30)).toEqual(missed);
    expect(judged(cron("0 * * * *", { missed: "once" }), "baseline-cron", 30)).toEqual({
      action: "run",
      source: "catch-up",
    });
    expect(judged(every("1h"), "baseline-interval", 30)).toEqual({ action: "run", source: "catch-up" });
  });

  it.each<PlanSource>(["first-run", "catch-up", "manual", "ai-oneshot"])(
    "that was requested runs however late: %s",
    (source) => {
      for (const schedule of [HOURLY, every("1h", { missed: "skip" }), once(START)])
        expect(judged(schedule, source, 10_000)).toEqual({ action: "run", source });
    },
  );

  it.each<AgentSchedule>([{ type: "webhook" }, { type: "chat" }])(
    "of %o runs on request only",
    (schedule) => {
      expect(judged(schedule, "manual", 10_000)).toEqual({ action: "run", source: "manual" });
      expect(judged(schedule, undefined, 10_000)).toEqual({ action: "plan" });
    },
  );

  it("that is the end of a pause only plans again, unless it is a cron time", () => {
    expect(judged(every("1h"), "paused", 0)).toEqual({ action: "plan" });
    expect(judged(cron("30 * * * *"), "paused", 0)).toEqual({ action: "plan" });
    expect(judged(HOURLY, "paused", 0)).toEqual({ action: "run", source: "baseline-cron" });
    expect(judged(HOURLY, "paused", 30)).toMatchObject({ action: "miss" });
  });

  it.each<PlanSource | undefined>(["baseline-cron", "paused", undefined])(
    "of a year that no calendar reaches only plans again: %s",
    (source) => {
      const slot = new Date("0500-01-01T00:00:00Z");
      expect(judgeClaim({ slot, source, seenAt: new Date(START) }, HOURLY)).toEqual({ action: "plan" });
    },
  );
});

const slot = new Date("2026-03-01T09:00:00Z");

const SHORTEST: readonly SlotInput["schedule"][] = [
  { type: "interval", interval: "1s", missed: "skip" },
  { type: "interval", interval: "61s", grace: "1s", missed: "skip" },
  { type: "cron", expression: "* * * * * *", timezone: "UTC" },
  { type: "once", at: "2026-03-01T09:00:00Z", grace: "1s" },
];

describe("a claim of the shortest grace there is", () => {
  it.each(SHORTEST)("is judged as its slot is, however early or late it was seen: %o", (schedule) => {
    for (const lateMs of [-1_000, 0, 1, 499, 500, 501, 999, 1_000, 5_000]) {
      const seenAt = new Date(slot.getTime() + lateMs);
      const { action } = judgeClaim({ slot, source: "baseline-cron", seenAt }, schedule);
      const { verdict } = judgeSlot({ now: seenAt, schedule, slotAt: slot });
      expect(action).toBe(verdict === "missed" ? "miss" : "run");
    }
  });
});

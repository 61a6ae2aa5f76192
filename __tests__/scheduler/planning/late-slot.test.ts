import { describe, expect, it } from "vitest";
import { judgeSlot, type SlotInput } from "../../../src/index.js";

const slotAt = new Date("2026-03-01T09:00:00Z");

const judge = (schedule: SlotInput["schedule"], lateMs: number) =>
  judgeSlot({ now: new Date(slotAt.getTime() + lateMs), schedule, slotAt });

const cron = (expression: string) => ({ type: "cron", expression, timezone: "UTC" }) as const;
const every = (interval: string) => ({ type: "interval", interval }) as const;

describe("the default grace of a slot", () => {
  it.each([
    ["half of 10 s", every("10s"), 5_000],
    ["half of a minute", every("1m"), 30_000],
    ["a sixtieth of two minutes", every("2m"), 2_000],
    ["a sixtieth of an hour", cron("0 * * * *"), 60_000],
    ["half the minute to the next match", cron("* * * * *"), 30_000],
    ["whole milliseconds", every("61s"), 1_016],
    ["that of the cron times around a slot between them", cron("30 10 * * *"), 300_000],
    ["that of the cron times around a slot just before one", cron("1 9 * * *"), 300_000],
    ["never more than 5 minutes", cron("0 9 * * *"), 300_000],
    ["5 minutes without a period", { type: "once", at: "2026-03-01T09:00:00Z" } as const, 300_000],
  ])("is %s", (_, schedule, graceMs) => {
    expect(judge(schedule, 0).graceMs).toBe(graceMs);
  });
});

describe("a slot", () => {
  it("runs in time and within its grace", () => {
    expect(judge(cron("0 * * * *"), 0)).toEqual({ verdict: "run", lateMs: 0, graceMs: 60_000 });
    expect(judge(cron("0 * * * *"), 59_999)).toEqual({ verdict: "run", lateMs: 59_999, graceMs: 60_000 });
  });

  it("has the grace its schedule gives it", () => {
    expect(judge({ ...cron("0 * * * *"), grace: "10m" }, 599_999).verdict).toBe("run");
    expect(judge({ ...cron("0 * * * *"), grace: "10m" }, 600_000).verdict).toBe("missed");
  });

  it("beyond its grace is missed, or caught up one time where the schedule asks for it", () => {
    expect(judge(cron("0 * * * *"), 60_000).verdict).toBe("missed");
    expect(judge({ ...cron("0 * * * *"), missed: "once" }, 60_000).verdict).toBe("catch-up");
    expect(judge({ type: "once", at: slotAt.toISOString() }, 300_001).verdict).toBe("missed");
  });

  it("of an interval is caught up unless the schedule asks for the opposite", () => {
    expect(judge(every("5m"), 7_200_000).verdict).toBe("catch-up");
    expect(judge({ ...every("5m"), missed: "skip" }, 7_200_000).verdict).toBe("missed");
  });

  it("is not late when the clock was set back", () => {
    expect(judge(cron("0 * * * *"), -3_600_000)).toEqual({ verdict: "run", lateMs: 0, graceMs: 60_000 });
  });
});

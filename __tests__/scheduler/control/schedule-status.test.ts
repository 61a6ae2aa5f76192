/** What getSchedules and getState tell of a running scheduler. */
import { describe, expect, it } from "vitest";
import type { AgentSchedule, ScheduleStatus } from "../../../src/index.js";
import { agent, cron, every, once, scene, type Scene } from "../scene.js";

const NEXT_WEEK = once("2026-03-08T00:00:00Z");

describe("the status of a schedule", () => {
  it("has every field that is known of it", async () => {
    const { scheduler, clock, status } = scene({ work: () => Promise.reject(new Error("boom")) });
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1m");
    await scheduler.hint("a", "x", { interval: "30m", ttl: "10m", reason: "busy day" });
    expect(await status("a", "x")).toEqual({
      agent: "a",
      schedule: "x",
      status: "idle",
      lastRunAt: new Date("2026-03-01T00:00:00Z"),
      nextRunAt: new Date("2026-03-01T00:30:00Z"),
      source: "ai-interval",
      lastError: "boom",
      failureCount: 1,
      missedCount: 0,
      pausedUntil: undefined,
      hint: {
        interval: "30m",
        next_run_at: null,
        expires_at: "2026-03-01T00:11:00.000Z",
        reason: "busy day",
      },
      waiting: "not_due",
    } satisfies ScheduleStatus);
  });

  it("of one that never ran has only its plan", async () => {
    const { scheduler, status } = scene();
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    expect(await status("a", "x")).toEqual({
      agent: "a",
      schedule: "x",
      status: "idle",
      lastRunAt: undefined,
      nextRunAt: new Date("2026-03-08T00:00:00Z"),
      source: "once",
      lastError: undefined,
      failureCount: 0,
      missedCount: 0,
      pausedUntil: undefined,
      hint: undefined,
      waiting: "not_due",
    } satisfies ScheduleStatus);
  });

  it("counts missed slots, and shows until when it is paused", async () => {
    const { scheduler, clock, status } = scene();
    await scheduler.start([agent("a", { x: once("2026-02-01T00:00:00Z"), y: every("1h") })]);
    await clock.advance("1s");
    await scheduler.pause("a", "y", "2026-03-02T00:00:00Z");
    expect(await status("a", "x")).toMatchObject({ missedCount: 1, nextRunAt: undefined });
    expect(await status("a", "y")).toMatchObject({
      pausedUntil: new Date("2026-03-02T00:00:00Z"),
      source: "paused",
      waiting: "paused",
    });
  });

  it.each<[string, unknown]>([
    ["a bad interval", { type: "interval", interval: "5x" }],
    ["no type", {}],
    ["null", null],
    ["a text", "0 * * * *"],
  ])("that was refused shows why: %s", async (_, schedule) => {
    const { scheduler, errors, status, clock } = scene({ onInvalid: "skip" });
    await scheduler.start([agent("a", { bad: schedule as AgentSchedule, good: every("1h") })]);
    await clock.advance("10s");
    expect(await status("a", "bad")).toMatchObject({
      lastError: expect.stringContaining("nvalid"),
      nextRunAt: undefined,
      source: undefined,
      waiting: "unsupported_type",
    });
    expect(errors).toHaveLength(1);
    expect(await status("a", "good")).toMatchObject({ lastError: undefined });
  });

  it("that was refused after it had run shows no next run", async () => {
    const before = scene({ onInvalid: "skip" });
    await before.scheduler.start([agent("a", { x: every("1h") })]);
    await before.clock.advance("1s");
    await before.scheduler.stop();
    const after = before.again();
    await after.clock.advance("2h");
    await after.scheduler.start([agent("a", { x: every("1x") })]);
    expect(await after.status("a", "x")).toMatchObject({
      nextRunAt: undefined,
      source: undefined,
      waiting: "unsupported_type",
    });
  });
});

describe("what a schedule waits for", () => {
  /** `long` runs for an hour in agents `a` and `b`; `x` of the first is due. */
  async function crowded(options: { readonly maxConcurrent?: number } = {}): Promise<Scene> {
    const stage: Scene = scene({
      ...options,
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("1h") : undefined),
    });
    await stage.scheduler.start([
      agent("a", { long: every("1d"), x: every("1h"), hook: { type: "webhook" } }),
      agent("b", { long: every("1d"), x: once("2026-03-01T00:01:00Z") }, { capacity: 2 }),
    ]);
    return stage;
  }

  it("is the first reason in their order: type, disabled, running, capacity, time", async () => {
    const { scheduler, clock, status } = await crowded();
    await clock.advance("30s");
    await scheduler.disable("a", "hook");
    expect((await status("a", "hook")).waiting).toBe("unsupported_type");
    expect((await status("a", "long")).waiting).toBe("already_running");
    expect((await status("a", "x")).waiting).toBe("at_capacity");
    expect((await status("b", "x")).waiting).toBe("not_due");
    await scheduler.disable("a", "long");
    await scheduler.disable("a", "x");
    expect((await status("a", "long")).waiting).toBe("disabled");
    expect((await status("a", "x")).waiting).toBe("disabled");
  });

  it("is a pause if the end of the pause comes next", async () => {
    const { scheduler, clock, status } = scene();
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    await scheduler.pause("a");
    expect((await status("a", "x")).waiting).toBe("paused");
  });

  it("is capacity also when the whole fleet is at its limit", async () => {
    const { clock, status } = await crowded({ maxConcurrent: 2 });
    await clock.advance("2m");
    expect((await status("b", "x")).waiting).toBe("at_capacity");
  });

  it("is nothing when the next pass starts it", async () => {
    const { scheduler, clock, status } = scene({ checkInterval: 60_000 });
    await scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    clock.jump("1h");
    expect((await status("a", "x")).waiting).toBeUndefined();
  });
});

describe("the list of schedules", () => {
  it("has the schedules of one agent, or of all, in the order of their definition", async () => {
    const { scheduler } = scene();
    await scheduler.start([agent("b", { z: NEXT_WEEK, y: NEXT_WEEK }), agent("a", { x: NEXT_WEEK })]);
    const names = (list: readonly ScheduleStatus[]): string[] =>
      list.map((status) => `${status.agent}/${status.schedule}`);
    expect(names(await scheduler.getSchedules())).toEqual(["b/z", "b/y", "a/x"]);
    expect(names(await scheduler.getSchedules("a"))).toEqual(["a/x"]);
    expect(await scheduler.getSchedules("nobody")).toEqual([]);
  });

  it("is refused by a scheduler that does not run", async () => {
    await expect(scene().scheduler.getSchedules()).rejects.toMatchObject({ code: "NOT_RUNNING" });
  });
});

describe("the state of a scheduler", () => {
  it("counts passes and jobs since its start", async () => {
    const { scheduler, clock } = scene();
    expect(scheduler.getState()).toEqual({
      status: "stopped",
      startedAt: undefined,
      checkCount: 0,
      triggerCount: 0,
      lastCheckAt: undefined,
      unrecordedJobCount: 0,
    });
    await clock.advance("1m");
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    await clock.advance(10_000);
    expect(scheduler.getState()).toEqual({
      status: "running",
      startedAt: new Date("2026-03-01T00:01:00Z"),
      checkCount: 11,
      triggerCount: 0,
      lastCheckAt: new Date("2026-03-01T00:01:10Z"),
      unrecordedJobCount: 0,
    });
    await scheduler.trigger("a");
    await clock.advance(0);
    expect(scheduler.getState()).toMatchObject({ triggerCount: 1 });
    await scheduler.stop();
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    expect(scheduler.getState()).toMatchObject({ status: "running", triggerCount: 0 });
  });
});

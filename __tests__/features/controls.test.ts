/** What Rota promises about what people do to schedules, one test a promise. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/index.js";
import { agent, cron, every, once, scene, START } from "../scheduler/scene.js";

describe("disable", () => {
  it("survives a restart, and nothing runs until enable", async () => {
    const agents = [agent("a", { x: every("5m") })];
    const before = scene();
    await before.scheduler.start(agents);
    await before.clock.advance("1s");
    await before.scheduler.disable("a", "x");
    await before.scheduler.stop();
    const after = before.again();
    await after.scheduler.start(agents);
    await after.clock.advance("1h");
    expect(after.runs).toEqual([]);
    expect(await after.status("a", "x")).toMatchObject({ status: "disabled", waiting: "disabled" });
    await after.scheduler.enable("a", "x");
    await after.clock.advance("1m");
    expect(after.runs).toEqual(["01:00:01 a/x"]);
  });
});

describe("trigger", () => {
  const later = once("2026-03-08T00:00:00Z");

  it("starts the named schedule or the first, and returns the job's id", async () => {
    const { scheduler, clock, jobs } = scene();
    await scheduler.start([agent("a", { first: later, second: later }, { capacity: 2 })]);
    const results = [await scheduler.trigger("a"), await scheduler.trigger("a", "second")];
    await clock.advance(0);
    expect(jobs.map(({ schedule }) => schedule)).toEqual(["first", "second"]);
    expect(results).toEqual(jobs.map(({ id }) => ({ success: true, jobId: id })));
  });

  it("of an unknown agent or schedule returns an error", async () => {
    const { scheduler } = scene();
    await scheduler.start([agent("a", { x: later })]);
    expect(await scheduler.trigger("b")).toMatchObject({
      success: false,
      error: expect.stringContaining('"b"'),
    });
    expect(await scheduler.trigger("a", "y")).toMatchObject({
      success: false,
      error: expect.stringContaining('"y"'),
    });
  });

  it("at capacity is skipped, with the reason", async () => {
    const clock = new FakeClock(START);
    const { scheduler } = scene({ clock, work: () => clock.sleep("1h") });
    await scheduler.start([agent("a", { x: later, y: later })]);
    await scheduler.trigger("a", "x");
    expect(await scheduler.trigger("a", "y")).toEqual({
      success: false,
      skipped: true,
      skipReason: "at_capacity",
    });
  });
});

describe("a pause", () => {
  it("of an hour means no scheduled run for an hour", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { i: every("5m"), c: cron("* * * * *") }, { capacity: 2 })]);
    await scheduler.pause("a", undefined, "2026-03-01T01:00:00Z");
    await clock.advance("59m");
    expect(runs).toEqual([]);
    await clock.advance("1m");
    expect(runs).toEqual(["01:00 a/i", "01:00 a/c"]);
  });

  it("does not keep trigger from running one job, and lasts after it", async () => {
    const { scheduler, clock, runs, status } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await scheduler.pause("a", "x");
    await scheduler.trigger("a", "x");
    await clock.advance("1h");
    expect(runs).toEqual(["00:00 a/x"]);
    expect(await status("a", "x")).toMatchObject({ waiting: "paused" });
  });

  it("that is resumed after ten missed runs runs at most one of them, then as before", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a", "x");
    await clock.advance("51m");
    await scheduler.resume("a", "x");
    await clock.advance("5m");
    expect(runs.slice(1)).toHaveLength(1);
    await clock.advance("5m");
    expect(runs.slice(1)).toHaveLength(2);
  });
});

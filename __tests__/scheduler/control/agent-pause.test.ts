/** A pause of a whole agent, as its scheduler keeps to it. */
import { describe, expect, it } from "vitest";
import { agent, cron, every, once, scene, type Scene } from "../scene.js";

const HOUR_LATER = "2026-03-01T01:00:00Z";

describe("the pause of an agent", () => {
  it("writes no schedule: the plans stay, and their reason is the pause", async () => {
    const { scheduler, clock, runs, state, status } = scene();
    await scheduler.start([agent("a", { x: every("5m"), y: cron("0 * * * *") }, { capacity: 2 })]);
    await clock.advance("1s");
    const before = [await state("a", "x"), await state("a", "y")];
    await scheduler.pause("a");
    await clock.advance("2h");
    expect(runs).toEqual(["00:00 a/x"]);
    expect([await state("a", "x"), await state("a", "y")]).toEqual(before);
    expect(await status("a", "x")).toMatchObject({
      source: "paused",
      waiting: "paused",
      nextRunAt: new Date("2026-03-01T00:05:00Z"),
      agentPause: { by: "user", since: "2026-03-01T00:00:01.000Z" },
    });
  });

  it("holds for agents and schedules that are given later, and after a restart", async () => {
    const { scheduler, clock, runs, again } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a");
    scheduler.setAgents([agent("a", { x: every("5m"), y: every("5m") }, { capacity: 2 })]);
    await clock.advance("10m");
    await scheduler.stop();
    const after = again();
    await after.scheduler.start([agent("a", { z: every("1m") })]);
    await clock.advance("10m");
    expect([...runs, ...after.runs]).toEqual(["00:00 a/x"]);
    await after.scheduler.resume("a");
    await clock.advance("1s");
    expect(after.runs).toEqual(["00:20:01 a/z"]);
  });

  it("counts what passed as paused when it is resumed, and runs the latest slot within its grace", async () => {
    const { scheduler, clock, runs, events, state } = scene();
    await scheduler.start([agent("a", { x: cron("*/5 * * * *", { grace: "1m" }) })]);
    await scheduler.pause("a");
    await clock.advance("1830s");
    await scheduler.resume("a");
    await clock.advance("1s");
    expect(runs).toEqual(["00:30:30 a/x"]);
    expect(events.filter((event) => /skipped|missed/.test(event))).toEqual([
      "skipped a/x paused 00:05 to 00:25 (5)",
    ]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 5 });
  });

  it("drops a slot that is too late when it is resumed, and counts it as paused", async () => {
    const { scheduler, clock, runs, events, plan } = scene();
    await scheduler.start([
      agent("a", { x: cron("0 * * * *"), y: once("2026-03-01T00:10:00Z") }, { capacity: 2 }),
    ]);
    await scheduler.pause("a");
    await clock.advance("90m");
    await scheduler.resume("a");
    await clock.advance("1s");
    expect(runs).toEqual([]);
    expect(events.filter((event) => /skipped|missed/.test(event)).toSorted()).toEqual([
      "skipped a/x paused 01:00",
      "skipped a/y paused 00:10",
    ]);
    expect(await plan("a", "x")).toBe("02:00 baseline-cron");
  });

  it("lets an overdue interval run once when it ends, and not more often", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a", undefined, HOUR_LATER);
    await clock.advance("70m");
    expect(runs).toEqual(["00:00 a/x", "01:00 a/x", "01:05 a/x", "01:10 a/x"]);
  });

  it("lets a manual trigger run exactly one job, and lasts after it", async () => {
    const { scheduler, clock, runs, status } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a");
    expect(await scheduler.trigger("a", "x")).toMatchObject({ success: true });
    await clock.advance("1h");
    expect(runs).toEqual(["00:00 a/x", "00:00:01 a/x"]);
    expect(await status("a", "x")).toMatchObject({ waiting: "paused" });
  });

  it("leaves a job that runs alone", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("10m") });
    await stage.scheduler.start([agent("a", { x: every("5m") })]);
    await stage.clock.advance("1m");
    await stage.scheduler.pause("a");
    await stage.clock.advance("1h");
    expect(stage.ended.map(({ status }) => status)).toEqual(["completed"]);
    expect(stage.runs).toHaveLength(1);
  });

  it("is ended by a resume of the agent, which ends the pauses of its schedules too", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m"), y: every("5m") }, { capacity: 2 })]);
    await clock.advance("1s");
    await scheduler.pause("a", "y");
    await scheduler.pause("a");
    await scheduler.resume("a");
    await clock.advance("5m");
    expect(runs.slice(2)).toEqual(["00:05 a/x", "00:05 a/y"]);
  });

  it("keeps one schedule from being resumed, with a code", async () => {
    const { scheduler, clock } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await scheduler.pause("a", "x");
    await scheduler.pause("a");
    await expect(scheduler.resume("a", "x")).rejects.toMatchObject({
      code: "AGENT_PAUSED",
      message: expect.stringContaining('Agent "a" is paused since 2026-03-01T00:00:00.000Z'),
    });
    await clock.advance("1s");
    await scheduler.resume("a");
    await expect(scheduler.resume("a", "x")).resolves.toBeUndefined();
  });

  it("lets schedules with a pause of their own wait for the end of both", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a", "x", "2026-03-01T00:30:00Z");
    await scheduler.pause("a", undefined, "2026-03-01T00:20:00Z");
    await clock.advance("1798s");
    expect(runs).toEqual(["00:00 a/x"]);
    // Planned again at the end of its own pause, from then on.
    await clock.advance("6m");
    expect(runs).toEqual(["00:00 a/x", "00:35 a/x"]);
  });

  it("works for an agent without schedules, and is refused for an unknown agent", async () => {
    const { scheduler } = scene();
    await scheduler.start([agent("a", {}), agent("b", { x: every("5m") })]);
    await expect(scheduler.pause("a")).resolves.toBeUndefined();
    await expect(scheduler.resume("a")).resolves.toBeUndefined();
    await expect(scheduler.pause("nobody")).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    await expect(scheduler.resume("nobody")).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    await expect(scheduler.pause("b", undefined, "yesterday")).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("that a failure has caused is not shortened by a person's pause", async () => {
    const { scheduler, store, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    const pause = { by: "failure", since: "2026-03-01T00:00:01.000Z", job_id: "job-1" } as const;
    await store.changePause("a", () => pause);
    await scheduler.pause("a", undefined, HOUR_LATER);
    await clock.advance("2h");
    expect(runs).toHaveLength(1);
    expect((await store.pauses()).get("a")).toEqual(pause);
  });
});

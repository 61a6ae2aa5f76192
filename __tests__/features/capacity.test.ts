/** What Rota promises about running jobs and how many of them, one test a promise. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/index.js";
import { agent, every, scene, START } from "../scheduler/scene.js";

describe("the state around a run", () => {
  it("is running before the job begins; after it has last run, next run and last error", async () => {
    const clock = new FakeClock(START);
    const { scheduler, store, state } = scene({
      clock,
      work: async () => {
        during.push(await store.read({ agent: "a", schedule: "x" }));
        await clock.sleep("1m");
        throw new Error("no answer");
      },
    });
    const during: object[] = [];
    expect(await state("a", "x")).toMatchObject({ status: "idle", last_run_at: null, last_error: null });
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("2m");
    expect(during).toMatchObject([{ status: "running", last_run_at: null, last_error: null }]);
    expect(await state("a", "x")).toMatchObject({
      status: "idle",
      last_run_at: START,
      next_run_at: "2026-03-01T02:01:00.000Z",
      last_error: "no answer",
    });
  });
});

describe("max_concurrent", () => {
  it("of 2 starts two of three due schedules, and the third is at capacity", async () => {
    const clock = new FakeClock(START);
    const { scheduler, runs, events } = scene({ clock, work: () => clock.sleep("10m") });
    await scheduler.start([agent("a", { x: every("1h"), y: every("1h"), z: every("1h") }, { capacity: 2 })]);
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/x", "00:00 a/y"]);
    expect(events).toContain("skipped a/z at_capacity 00:00");
  });

  it("is 1 by default", async () => {
    const clock = new FakeClock(START);
    const { scheduler, runs } = scene({ clock, work: () => clock.sleep("10m") });
    await scheduler.start([{ name: "a", schedules: { x: every("1h"), y: every("1h") } }]);
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/x"]);
  });
});

describe("running counts", () => {
  it.each([
    ["succeeds", () => {}],
    ["throws", () => Promise.reject(new Error("boom"))],
  ])("per agent and in total are back at 0 after a job that %s", async (_, end) => {
    const clock = new FakeClock(START);
    const { scheduler } = scene({ clock, work: () => clock.sleep("1m").then(end) });
    await scheduler.start([agent("a", { x: every("1h") }), agent("b", { x: every("1h") })]);
    await clock.advance("1s");
    expect([scheduler.getRunningJobCount("a"), scheduler.getTotalRunningJobCount()]).toEqual([1, 2]);
    await clock.advance("1m");
    expect([scheduler.getRunningJobCount("a"), scheduler.getTotalRunningJobCount()]).toEqual([0, 0]);
  });
});

describe("one schedule", () => {
  it("never overlaps itself: a 30 s job every 5 s", async () => {
    const clock = new FakeClock(START);
    let running = 0;
    let most = 0;
    const { scheduler, runs } = scene({
      clock,
      work: async () => {
        most = Math.max(most, ++running);
        await clock.sleep("30s");
        running--;
      },
    });
    await scheduler.start([agent("a", { x: every("5s") }, { capacity: 5 })]);
    await clock.advance("5m");
    expect(most).toBe(1);
    expect(runs.length).toBeGreaterThan(5);
  });
});

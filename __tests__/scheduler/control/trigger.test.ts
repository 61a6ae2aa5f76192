/** A job started by hand: which one, when it is refused, what becomes of the plan. */
import { describe, expect, it } from "vitest";
import { type AgentSchedule, MemoryStore } from "../../../src/index.js";
import { agent, cron, every, once, scene, type Scene } from "../scene.js";

const NEXT_WEEK = once("2026-03-08T00:00:00Z");

describe("trigger", () => {
  it("starts the named schedule, or the agent's first, and returns the job's id", async () => {
    const { scheduler, clock, runs, jobs } = scene();
    await scheduler.start([agent("a", { first: NEXT_WEEK, second: NEXT_WEEK }, { capacity: 2 })]);
    const named = await scheduler.trigger("a", "second");
    const unnamed = await scheduler.trigger("a");
    await clock.advance(0);
    expect(runs).toEqual(["00:00 a/second", "00:00 a/first"]);
    expect([named, unnamed]).toEqual(jobs.map(({ id }) => ({ success: true, jobId: id })));
  });

  it("is recorded as manual, with the time of the call as slot", async () => {
    const stage = scene();
    await stage.scheduler.start([agent("a", { x: cron("0 12 * * *") })]);
    await stage.clock.advance("90s");
    const { jobId = "" } = await stage.scheduler.trigger("a", "x");
    await stage.clock.advance(0);
    expect(await stage.store.jobs.get(jobId)).toMatchObject({
      trigger: "manual",
      source: "manual",
      slot: "2026-03-01T00:01:30.000Z",
      status: "completed",
    });
  });

  it.each<[AgentSchedule]>([[{ type: "webhook" }], [{ type: "chat" }]])(
    "starts what the loop never does: %o",
    async (schedule) => {
      const { scheduler, clock, runs, events, plan } = scene();
      await scheduler.start([agent("a", { x: schedule })]);
      await clock.advance("10m");
      expect(runs).toEqual([]);
      expect(events).toContain("skipped a/x unsupported_type never");
      expect(await scheduler.trigger("a", "x")).toMatchObject({ success: true });
      await clock.advance("10m");
      expect(runs).toEqual(["00:10 a/x"]);
      expect(await plan("a", "x")).toBe("never none");
    },
  );

  it("starts a paused schedule, which stays paused", async () => {
    const { scheduler, clock, runs, plan } = scene();
    await scheduler.start([agent("a", { x: every("1m") })]);
    await clock.advance(0);
    await scheduler.pause("a", "x", "2026-03-01T05:00:00Z");
    await clock.advance("10m");
    expect(await scheduler.trigger("a", "x")).toMatchObject({ success: true });
    await clock.advance("10m");
    expect(runs).toEqual(["00:00 a/x", "00:10 a/x"]);
    expect(await plan("a", "x")).toBe("05:00 paused");
  });

  it("does not start a disabled schedule", async () => {
    const { scheduler, runs } = scene();
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    await scheduler.disable("a", "x");
    expect(await scheduler.trigger("a", "x")).toEqual({
      success: false,
      skipped: true,
      skipReason: "disabled",
    });
    expect(runs).toEqual([]);
  });

  it("does not start a running schedule", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("1m") });
    await stage.scheduler.start([agent("a", { x: NEXT_WEEK }, { capacity: 2 })]);
    const both = await Promise.all([stage.scheduler.trigger("a", "x"), stage.scheduler.trigger("a", "x")]);
    expect(both).toMatchObject([{ success: true }, { skipped: true, skipReason: "already_running" }]);
  });

  it.each([
    ["agent", "nobody", undefined, 'Agent "nobody" is not known'],
    ["schedule", "a", "never", 'Schedule "never" of agent "a" is not known'],
    ["schedule of an agent without any", "idle", undefined, 'Agent "idle" has no schedule'],
    ["schedule that was refused", "a", "bad", "Invalid time unit"],
    ["name that every object has", "a", "constructor", 'Schedule "constructor" of agent "a" is not known'],
  ])("answers an error for an unknown %s", async (_, name, schedule, message) => {
    const { scheduler } = scene({ onInvalid: "skip" });
    await scheduler.start([agent("a", { x: NEXT_WEEK, bad: every("5x") }), { name: "idle" }]);
    expect(await scheduler.trigger(name, schedule)).toEqual({
      success: false,
      error: expect.stringContaining(message),
      code: expect.stringMatching(/^(UNKNOWN_SCHEDULE|INTERVAL_PARSE_ERROR)$/),
    });
  });

  it("returns an error before start and after stop", async () => {
    const { scheduler } = scene();
    const error = "The scheduler is not running: call start() first";
    const refused = { success: false, error, code: "NOT_RUNNING" };
    expect(await scheduler.trigger("a")).toEqual(refused);
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    await scheduler.stop();
    expect(await scheduler.trigger("a")).toEqual(refused);
  });

  it("returns an error when the claim cannot be written, and works again when it can", async () => {
    class FailingStore extends MemoryStore {
      isFailing = true;
      override claim(key: Parameters<MemoryStore["claim"]>[0]): ReturnType<MemoryStore["claim"]> {
        return this.isFailing ? Promise.reject(new Error("disk full")) : super.claim(key);
      }
    }
    const store = new FailingStore();
    const { scheduler } = scene({ store });
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    expect(await scheduler.trigger("a")).toEqual({ success: false, error: "disk full" });
    store.isFailing = false;
    expect(await scheduler.trigger("a")).toMatchObject({ success: true });
  });

  it("counts as a run: an interval counts from its end, cron keeps its grid, a `once` keeps its time", async () => {
    const { scheduler, clock, plan } = scene();
    await scheduler.start([
      agent(
        "a",
        { interval: every("1h"), cron: cron("0 * * * *"), once: once("2026-03-01T02:00:00Z") },
        { capacity: 3 },
      ),
    ]);
    await clock.advance("30m");
    for (const name of ["interval", "cron", "once"]) await scheduler.trigger("a", name);
    await clock.advance(0);
    expect(await plan("a", "interval")).toBe("01:30 baseline-interval");
    expect(await plan("a", "cron")).toBe("01:00 baseline-cron");
    expect(await plan("a", "once")).toBe("02:00 once");
  });

  it("uses up a slot that waits, which does not run a second time", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("10m") : undefined),
    });
    await stage.scheduler.start([agent("a", { long: every("1d"), x: every("1h") })]);
    await stage.clock.advance("1m");
    stage.scheduler.setAgents([agent("a", { long: every("1d"), x: every("1h") }, { capacity: 2 })]);
    const result = stage.scheduler.trigger("a", "x");
    await stage.clock.advance("20m");
    await result;
    expect(stage.runs.filter((run) => run.endsWith("a/x"))).toEqual(["00:01 a/x"]);
    expect(await stage.plan("a", "x")).toBe("01:01 baseline-interval");
  });

  it("counts in getState", async () => {
    const { scheduler, clock } = scene();
    await scheduler.start([agent("a", { x: NEXT_WEEK })]);
    await scheduler.trigger("a");
    await clock.advance(0);
    expect(scheduler.getState()).toMatchObject({ triggerCount: 1 });
  });
});

/** Agents and schedules come, go and change, under a running scheduler and between two runs of it. */
import { describe, expect, it } from "vitest";
import { type AgentSchedule, FakeClock } from "../../src/index.js";
import { GatedStore } from "./gated-store.js";
import { agent, cron, every, once, scene, type Scene, START } from "./scene.js";

const WEBHOOK: AgentSchedule = { type: "webhook" };

describe("a schedule that is removed", () => {
  it("loses its plan and does not run", async () => {
    const { scheduler, clock, runs, plan } = scene();
    await scheduler.start([agent("a", { x: every("5m"), y: every("5m") }, { capacity: 2 })]);
    await clock.advance("1s");
    scheduler.setAgents([agent("a", { y: every("5m") }, { capacity: 2 })]);
    await clock.advance("5m");
    expect(await plan("a", "x")).toBe("never none");
    expect(runs).toEqual(["00:00 a/x", "00:00 a/y", "00:05 a/y"]);
  });

  it("while its job runs has the job recorded at its end, without a next run", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("1m") });
    await stage.scheduler.start([agent("a", { x: every("5m") })]);
    await stage.clock.advance("1s");
    stage.scheduler.setAgents([]);
    await stage.clock.advance("20m");
    expect(stage.ended).toMatchObject([{ status: "completed", duration_ms: 60_000 }]);
    expect(await stage.state("a", "x")).toMatchObject({
      status: "idle",
      last_completed_at: "2026-03-01T00:01:00.000Z",
      next_run_at: null,
    });
    expect(stage.scheduler.getTotalRunningJobCount()).toBe(0);
    expect(stage.runs).toHaveLength(1);
  });

  it("and comes back is planned from when it last ran: an overdue interval runs at once", async () => {
    const { scheduler, clock, runs, plan } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    scheduler.setAgents([]);
    await clock.advance("1h");
    scheduler.setAgents([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    expect(runs).toEqual(["00:00 a/x", "01:00:01 a/x"]);
    expect(await plan("a", "x")).toBe("01:05:01 baseline-interval");
  });

  it("and comes back while its job runs starts no second job, and continues by its new definition", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("10m") });
    await stage.scheduler.start([agent("a", { x: every("5m") }, { capacity: 3 })]);
    await stage.clock.advance("1m");
    stage.scheduler.setAgents([]);
    await stage.clock.advance("1m");
    stage.scheduler.setAgents([agent("a", { x: every("20m") }, { capacity: 3 })]);
    await stage.clock.advance("7m");
    expect(stage.runs).toHaveLength(1);
    await stage.clock.advance("1m");
    expect(await stage.plan("a", "x")).toBe("00:30 baseline-interval");
    await stage.clock.advance("20m");
    expect(stage.runs).toEqual(["00:00 a/x", "00:30 a/x"]);
  });

  it("keeps its past: what failed before still counts when it comes back", async () => {
    const { scheduler, clock, state } = scene({ work: () => Promise.reject(new Error("boom")) });
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    scheduler.setAgents([]);
    await clock.advance("1s");
    scheduler.setAgents([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    expect(await state("a", "x")).toMatchObject({ failure_count: 1, last_error: "boom" });
  });
});

describe("a schedule that is removed before a change of its plan could be written", () => {
  it("is not planned again", async () => {
    const store = new GatedStore();
    const { scheduler, clock, plan, errors } = scene({ store });
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    store.fail("update", new Error("away"), 1_000);
    await store.changeFromOutside({ agent: "a", schedule: "x" }, { failure_count: 1 });
    await clock.advance(0);
    expect(errors).toHaveLength(1);
    const updates = store.count("update");
    scheduler.setAgents([]);
    await clock.advance("5m");
    expect(await plan("a", "x")).toBe("never none");
    expect(store.count("update")).toBe(updates);
  });
});

describe("agents that are set", () => {
  it("take effect at the next pass, which comes at once", async () => {
    const { scheduler, clock, runs } = scene({ checkInterval: 3_600_000 });
    await scheduler.start([]);
    await clock.advance("1m");
    scheduler.setAgents([agent("a", { x: every("5m") })]);
    await clock.advance(0);
    expect(runs).toEqual(["00:01 a/x"]);
  });

  it("twice before a pass are the last ones", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([]);
    scheduler.setAgents([agent("a", { x: every("5m") })]);
    scheduler.setAgents([agent("b", { x: every("5m") })]);
    await clock.advance("1s");
    expect(runs).toEqual(["00:00 b/x"]);
  });

  it("with an invalid schedule run all other schedules where it is to be skipped, and report it once", async () => {
    const { scheduler, clock, runs, errors } = scene({ onInvalid: "skip" });
    await scheduler.start([]);
    scheduler.setAgents([agent("a", { bad: every("5x"), good: every("5m") })]);
    await clock.advance("6m");
    expect(runs).toEqual(["00:00 a/good", "00:05 a/good"]);
    expect(errors).toEqual([expect.stringContaining("a/bad")]);
  });

  it("that are not a list are refused, and the previous agents stay", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m") })]);
    const twins = [agent("b", {}), agent("b", {})];
    expect(() => scheduler.setAgents(twins)).toThrow('Two agents are named "b"');
    expect(() => scheduler.setAgents("agents" as never)).toThrow('Invalid agents "agents"');
    await clock.advance("5m");
    expect(runs).toEqual(["00:00 a/x", "00:05 a/x"]);
  });

  it("are refused by a scheduler that does not run", () => {
    expect(() => scene().scheduler.setAgents([])).toThrow("not running");
  });
});

/** A change of the one schedule at 00:30, after it ran at 00:00 (and cron or `once` at their times). */
const CHANGES: [string, AgentSchedule, AgentSchedule, string][] = [
  ["cron to interval: from now", cron("*/10 * * * *"), every("5m"), "00:35 baseline-interval"],
  ["interval to cron", every("2h"), cron("0 * * * *"), "01:00 baseline-cron"],
  ["to a different cron", cron("*/10 * * * *"), cron("45 * * * *"), "00:45 baseline-cron"],
  [
    "to a different time zone",
    cron("0 9 * * *"),
    cron("0 9 * * *", { timezone: "Asia/Tokyo" }),
    "2026-03-02 00:00 baseline-cron",
  ],
  ["to a shorter interval, already over", every("2h"), every("10m"), "00:40 baseline-interval"],
  ["to a shorter interval, not over", every("2h"), every("45m"), "00:45 baseline-interval"],
  ["to a longer interval", every("1h"), every("3h"), "03:00 baseline-interval"],
  ["a once that is put off", once("2026-03-01T01:00:00Z"), once("2026-03-01T02:00:00Z"), "02:00 once"],
  ["a once that is put forward", once("2026-03-01T03:00:00Z"), once("2026-03-01T02:00:00Z"), "02:00 once"],
  [
    "a once that has run, to a different time",
    once("2026-03-01T00:10:00Z"),
    once("2026-03-01T02:00:00Z"),
    "02:00 once",
  ],
  ["once to interval", once("2026-03-01T00:10:00Z"), every("1h"), "01:10 baseline-interval"],
  ["interval to webhook", every("1h"), WEBHOOK, "never none"],
  ["nothing", every("1h"), every("1h"), "01:00 baseline-interval"],
  ["another prompt", every("1h"), { ...every("1h"), prompt: "Sweep." }, "01:00 baseline-interval"],
];

describe("a schedule whose definition changes", () => {
  it.each(CHANGES)(
    "under the scheduler is planned by the new one: %s",
    async (_, before, after, expected) => {
      const { scheduler, clock, plan } = scene();
      await scheduler.start([agent("a", { x: before })]);
      await clock.advance("30m");
      scheduler.setAgents([agent("a", { x: after })]);
      await clock.advance(0);
      expect(await plan("a", "x")).toBe(expected);
    },
  );

  it.each(CHANGES)("over a restart is planned by the new one: %s", async (_, before, after, expected) => {
    const first = scene();
    await first.scheduler.start([agent("a", { x: before })]);
    await first.clock.advance("20m");
    await first.scheduler.stop();
    const second = first.again();
    await second.clock.advance("10m");
    await second.scheduler.start([agent("a", { x: after })]);
    // A cron slot that came due meanwhile is not one of the new definition.
    expect(await second.plan("a", "x")).toBe(expected);
  });

  it("to webhook and back is planned again", async () => {
    const { scheduler, clock, plan, runs } = scene();
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("10m");
    scheduler.setAgents([agent("a", { x: WEBHOOK })]);
    await clock.advance("2h");
    expect(runs).toHaveLength(1);
    scheduler.setAgents([agent("a", { x: every("1h") })]);
    await clock.advance(0);
    expect(await plan("a", "x")).toBe("03:10 baseline-interval");
  });

  it("under its running job is planned by the new one when that ends", async () => {
    const clock = new FakeClock(START);
    const { scheduler, plan } = scene({ clock, work: () => clock.sleep("10m") });
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1m");
    scheduler.setAgents([agent("a", { x: cron("0 * * * *") })]);
    await clock.advance("10m");
    expect(await plan("a", "x")).toBe("01:00 baseline-cron");
  });
});

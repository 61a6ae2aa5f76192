/** The loop: when it looks, how long it sleeps, what wakes it, and what it does when looking fails. */
import { describe, expect, it } from "vitest";
import { agent, cron, every, gatedScene, HOURLY } from "../scene.js";

describe("the loop", () => {
  it("runs one pass per check interval while nothing is due", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([agent("a", { work: cron("0 12 * * *") })]);
    await clock.advance(9_999);
    expect(scheduler.getState().checkCount).toBe(10);
  });

  it("records when its last pass began", async () => {
    const { scheduler, clock } = gatedScene({ checkInterval: 400 });
    await scheduler.start([]);
    await clock.advance(1_000);
    expect(scheduler.getState().lastCheckAt).toEqual(new Date("2026-03-01T00:00:00.800Z"));
  });

  it("sleeps exactly until the next slot", async () => {
    const { scheduler, clock, starts } = gatedScene({ checkInterval: 60_000 });
    await scheduler.start([
      agent("a", { work: { type: "once", at: "2026-03-01T00:00:07.123Z" } }),
      agent("b", { work: cron("30 * * * * *") }),
    ]);
    await clock.advance("31s");
    expect(starts).toEqual(["a 00:00:07.123", "b 00:00:30"]);
  });

  it("starts at once what came due during a pass", async () => {
    const { scheduler, clock, store, starts } = gatedScene({ checkInterval: 60_000 });
    const gate = store.hold("claimDue", "after");
    await scheduler.start([agent("a", { work: cron("1 * * * * *") })]);
    await gate.reached;
    await clock.advance(1_001);
    gate.open();
    await clock.advance(0);
    expect(starts).toEqual(["a 00:00:01.001"]);
  });

  it("does not spin before a slot that has to wait", async () => {
    const { scheduler, clock, starts } = gatedScene({ maxConcurrent: 1 });
    const run = (): Promise<void> => clock.sleep("1m");
    await scheduler.start([agent("a", HOURLY, { run }), agent("b", HOURLY, { run })]);
    await clock.advance("59s");
    expect(starts).toEqual(["a 00:00"]);
    expect(scheduler.getState().checkCount).toBeLessThan(70);
    await clock.advance("2s");
    expect(starts).toEqual(["a 00:00", "b 00:01"]);
  });

  it("forgets no wake that comes during a pass", async () => {
    const { scheduler, clock, store, starts } = gatedScene({ checkInterval: 60_000 });
    await scheduler.start([]);
    await clock.advance("10s");
    const gate = store.hold("claimDue", "after");
    scheduler.setAgents([]);
    await gate.reached;
    scheduler.setAgents([agent("a")]);
    gate.open();
    await clock.advance(0);
    expect(starts).toEqual(["a 00:00:10"]);
  });

  it("never runs two passes at the same time", async () => {
    const { scheduler, clock, store } = gatedScene();
    await scheduler.start([agent("a")]);
    await clock.advance("5s");
    const gate = store.hold("claimDue");
    await clock.advance("1s");
    const { checkCount } = scheduler.getState();
    for (let i = 0; i < 10; i++) {
      scheduler.setAgents([agent("a"), agent(`b${i}`)]);
      await clock.advance("1s");
    }
    expect(scheduler.getState().checkCount).toBe(checkCount);
    gate.open();
    await clock.advance("1s");
    expect(scheduler.getState().checkCount).toBeGreaterThan(checkCount);
  });

  it("reports a store that fails once, and does not run more passes", async () => {
    const { scheduler, clock, store, troubles, lines } = gatedScene();
    await scheduler.start([]);
    await clock.advance(500);
    store.fail("claimDue", new Error("the disk is gone"), 1_000);
    await clock.advance("60s");
    expect(troubles).toEqual(["the disk is gone"]);
    expect(lines.filter((line) => line.startsWith("error"))).toEqual([
      "error: Error during schedule check: the disk is gone",
    ]);
    expect(scheduler.getState().checkCount).toBe(61);
  });

  it("continues when a store that failed works again, and reports the next failure", async () => {
    const { scheduler, clock, store, troubles, starts } = gatedScene();
    store.fail("claimDue", new Error("the disk is gone"), 5);
    await scheduler.start([agent("a")]);
    await clock.advance("10s");
    expect(starts).toEqual(["a 00:00:05"]);
    store.fail("claimDue", new Error("the disk is gone"), 5);
    await clock.advance("10s");
    expect(troubles).toEqual(["the disk is gone", "the disk is gone"]);
  });

  it.each(["define", "renew", "claimDue"] as const)("survives a failing %s", async (call) => {
    const { scheduler, clock, store, starts } = gatedScene({ leaseMs: 3_000 });
    const agents = [
      agent("long", HOURLY, { run: () => clock.sleep("20s") }),
      agent("a", { work: every("5s") }),
    ];
    await scheduler.start(agents);
    await clock.advance("1s");
    store.fail(call, new Error("the disk is gone"));
    scheduler.setAgents(agents);
    await clock.advance("10s");
    expect(starts).toEqual(["long 00:00", "a 00:00", "a 00:00:05", "a 00:00:10"]);
  });

  it("applies a change from outside at once", async () => {
    const { scheduler, clock, store, starts } = gatedScene({ checkInterval: 60_000 });
    await scheduler.start([agent("a", { work: cron("0 12 * * *") })]);
    await clock.advance("5s");
    await store.changeFromOutside(
      { agent: "a", schedule: "work" },
      { next_run_at: "2026-03-01T00:00:07.000Z" },
    );
    await clock.advance("5s");
    expect(starts).toEqual(["a 00:00:07"]);
  });
});

describe("a job", () => {
  it("of ten minutes delays no other agent's schedule by a millisecond", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([
      agent("slow", HOURLY, { run: () => clock.sleep("10m") }),
      agent("cron", { work: cron("*/2 * * * *") }),
      agent("interval", { work: every("90s") }),
    ]);
    await clock.advance("7m");
    expect(starts.filter((start) => start.startsWith("cron"))).toEqual([
      "cron 00:02",
      "cron 00:04",
      "cron 00:06",
    ]);
    expect(starts.filter((start) => start.startsWith("interval"))).toEqual([
      "interval 00:00",
      "interval 00:01:30",
      "interval 00:03",
      "interval 00:04:30",
      "interval 00:06",
    ]);
  });

  it("runs beside two more for an agent with a capacity of three", async () => {
    const { scheduler, clock, starts } = gatedScene();
    let running = 0;
    let most = 0;
    const run = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await clock.sleep("10s");
      running--;
    };
    const names = ["a", "b", "c", "d", "e"];
    const schedules = Object.fromEntries(names.map((name) => [name, every("1h")]));
    await scheduler.start([agent("many", schedules, { capacity: 3, run })]);
    await clock.advance("5s");
    expect([running, scheduler.getRunningJobCount("many"), scheduler.getTotalRunningJobCount()]).toEqual([
      3, 3, 3,
    ]);
    await clock.advance("1m");
    expect(most).toBe(3);
    expect(starts).toEqual([
      ...Array.from({ length: 3 }, () => "many 00:00"),
      ...Array.from({ length: 2 }, () => "many 00:00:10"),
    ]);
  });

  it("starts when capacity becomes free, without waiting for the next check", async () => {
    const { scheduler, clock, starts } = gatedScene({ checkInterval: 60_000 });
    const schedules = { first: every("1h"), second: every("1h") };
    await scheduler.start([agent("a", schedules, { run: () => clock.sleep(1_234) })]);
    await clock.advance("5s");
    expect(starts).toEqual(["a 00:00", "a 00:00:01.234"]);
  });
});

import { describe, expect, it } from "vitest";
import { FakeClock, FileStore, MemoryStore, Scheduler } from "../../../src/index.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { agent, cron, every, keepingLogger, scene, START } from "../scene.js";

const DAYS_30_S = 30 * 86_400;

describe("a FakeClock that is advanced by 30 days", () => {
  it("takes less than a second of CPU with the default check interval, and every job runs at its time", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { daily: cron("0 3 * * *"), hourly: every("1h") })]);
    const before = process.cpuUsage();
    await clock.advance("30d");
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(1);
    expect(runs.filter((run) => run.endsWith("a/daily"))).toHaveLength(30);
    expect(runs.filter((run) => run.endsWith("a/hourly"))).toHaveLength(721);
    expect(runs.at(-1)).toBe("2026-03-31 00:00 a/hourly");
  });

  it("counts the passes that found nothing to do", async () => {
    const { scheduler, clock } = scene();
    await scheduler.start([agent("a", { yearly: cron("0 0 1 1 *") })]);
    await clock.advance("30d");
    const { checkCount, lastCheckAt } = scheduler.getState();
    expect(checkCount).toBe(DAYS_30_S + 1);
    expect(lastCheckAt).toEqual(clock.now());
  });

  it("calls onTick after every pass", async () => {
    let ticks = 0;
    const { scheduler, clock } = scene({ onTick: () => ticks++ });
    await scheduler.start([agent("a", { yearly: cron("0 0 1 1 *") })]);
    await clock.advance("1h");
    expect(ticks).toBe(3_601);
  });

  it("lets two schedulers wake at their own times", async () => {
    const clock = new FakeClock(START);
    const first = scene({ clock, checkInterval: "7s" });
    const second = scene({ clock, checkInterval: "11s" });
    await first.scheduler.start([agent("a", { hourly: every("1h") })]);
    await second.scheduler.start([agent("b", { daily: cron("0 3 * * *") })]);
    await clock.advance("2d");
    expect(first.runs).toHaveLength(49);
    expect(second.runs).toEqual(["03:00 b/daily", "2026-03-02 03:00 b/daily"]);
  });

  it("shows a change of the store to the next pass", async () => {
    const { scheduler, clock, store, runs } = scene();
    await scheduler.start([agent("a", { yearly: cron("0 0 1 1 *") })]);
    await clock.advance("1d");
    await store.update({ agent: "a", schedule: "yearly" }, { next_run_at: clock.now().toISOString() });
    await clock.advance("1d");
    expect(runs).toEqual(["2026-03-02 00:00:01 a/yearly"]);
  });

  it("plans anew after a jump of the wall clock", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { daily: cron("0 3 * * *") })]);
    await clock.advance("1h");
    clock.jump("90m");
    await clock.advance("1d");
    expect(runs).toEqual(["03:00 a/daily"]);
  });
});

describe("a scheduler with a FakeClock and a FileStore", () => {
  it("warns that files take real time", async () => {
    const { logger, warnings } = keepingLogger();
    await using scheduler = new Scheduler({ clock: new FakeClock(), stateDir: stateDirectory(), logger });
    await scheduler.start([]);
    expect(warnings).toEqual([expect.stringContaining("Use a MemoryStore in tests")]);
  });

  it.each([
    ["a MemoryStore", { clock: new FakeClock(), store: new MemoryStore() }],
    ["the system's clock", {}],
  ])("does not warn with %s", async (_, options) => {
    const { logger, warnings } = keepingLogger();
    const store = new FileStore({ stateDir: stateDirectory() });
    await using scheduler = new Scheduler({ store, ...options, logger });
    await scheduler.start([]);
    expect(warnings).toEqual([]);
  });
});

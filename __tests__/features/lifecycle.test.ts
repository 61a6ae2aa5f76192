/** What Rota promises about starting, stopping and failing, one test a promise. */
import { describe, expect, it } from "vitest";
import {
  FakeClock,
  IntervalParseError,
  MemoryStore,
  parseInterval,
  Scheduler,
  SchedulerError,
  SchedulerShutdownError,
  ScheduleTriggerError,
} from "../../src/index.js";
import { agent, cron, every, gatedScene, HOURLY, keepingLogger, START } from "../scheduler/scene.js";
import { watch } from "../watched-promise.js";
import { thrownBy } from "../thrown-by.js";

describe("a scheduler", () => {
  it("never starts webhook and chat schedules by itself, but does on request", async () => {
    const { scheduler, clock, starts } = gatedScene();
    const skips: unknown[] = [];
    scheduler.on("schedule:skipped", ({ schedule, reason }) => skips.push([schedule, reason]));
    const schedules = { hook: { type: "webhook" }, chat: { type: "chat" } } as const;
    await scheduler.start([agent("a", schedules)]);
    await clock.advance("1h");
    expect([starts, skips]).toEqual([
      [],
      [
        ["hook", "unsupported_type"],
        ["chat", "unsupported_type"],
      ],
    ]);
    expect(await scheduler.trigger("a", "hook")).toMatchObject({ success: true });
    await clock.advance("1h");
    expect(starts).toEqual(["a 01:00"]);
  });

  it("refuses an invalid schedule when it is defined, not when it is due", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await expect(scheduler.start([agent("a", { work: cron("banana") })])).rejects.toThrow("banana");
    await clock.advance("25h");
    expect([starts, scheduler.getStatus()]).toEqual([[], "stopped"]);
  });

  it("starts once: a second start is refused, and there is one loop", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([]);
    await expect(scheduler.start([])).rejects.toThrow("already running");
    await clock.advance(9_999);
    expect([scheduler.getState().checkCount, clock.sleeping]).toEqual([10, 1]);
  });

  it("reports its status and its counts", async () => {
    const { scheduler, clock } = gatedScene();
    expect(scheduler.getState()).toMatchObject({ status: "stopped", startedAt: undefined, checkCount: 0 });
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("5s") })]);
    await clock.advance("2s");
    expect(scheduler.getState()).toMatchObject({
      status: "running",
      startedAt: new Date(START),
      triggerCount: 1,
      lastCheckAt: new Date("2026-03-01T00:00:02Z"),
    });
    expect([scheduler.isRunning(), scheduler.getTotalRunningJobCount()]).toEqual([true, 1]);
    expect(await scheduler.getSchedules()).toMatchObject([
      { agent: "a", schedule: "work", status: "running" },
    ]);
    const stop = scheduler.stop();
    expect([scheduler.getStatus(), scheduler.isRunning()]).toEqual(["stopping", false]);
    await clock.advance("5s");
    await stop;
    expect(scheduler.getStatus()).toBe("stopped");
  });

  it("stops gracefully: it starts nothing, and waits for a job of 2 s", async () => {
    const { scheduler, clock, starts, store } = gatedScene();
    await scheduler.start([
      agent("a", HOURLY, { run: () => clock.sleep("2s") }),
      agent("b", { work: cron("* * * * * *") }),
    ]);
    await clock.advance(500);
    const stop = watch(scheduler.stop());
    await clock.advance(1_499);
    expect(stop.state).toBe("pending");
    await clock.advance(1);
    expect(stop.state).toBe("fulfilled");
    expect(starts).toEqual(["a 00:00"]);
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
  });

  it("stops in time: a job of 60 s and a timeout of 100 ms are an error that counts one job", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("60s") })]);
    await clock.advance("1s");
    const stop = watch(scheduler.stop({ timeout: 100 }));
    await clock.advance(100);
    expect(stop.error).toBeInstanceOf(SchedulerShutdownError);
    expect(stop.error).toMatchObject({ timedOut: true, runningJobCount: 1 });
  });

  it("fails with errors of different classes", () => {
    const cause = new Error("no luck");
    const trigger = new ScheduleTriggerError("It failed", { agent: "a", schedule: "work", cause });
    const shutdown = new SchedulerShutdownError("Too late", { timedOut: true, runningJobCount: 2 });
    const interval = thrownBy(() => parseInterval("banana"));
    expect(trigger).toMatchObject({ name: "ScheduleTriggerError", agent: "a", schedule: "work", cause });
    expect(shutdown).toMatchObject({ name: "SchedulerShutdownError", timedOut: true, runningJobCount: 2 });
    expect(interval).toBeInstanceOf(IntervalParseError);
    for (const error of [trigger, shutdown, interval]) expect(error).toBeInstanceOf(SchedulerError);
  });

  it("uses the clock and the logger that it is given", async () => {
    const clock = new FakeClock("2030-06-01T00:00:00Z");
    const { logger, lines } = keepingLogger();
    await using scheduler = new Scheduler({ clock, logger, store: new MemoryStore() });
    const runs: string[] = [];
    await scheduler.start([
      agent("a", { work: every("1d") }, { run: () => runs.push(clock.now().toISOString()) }),
    ]);
    await clock.advance("2d");
    expect(runs).toEqual([1, 2, 3].map((day) => `2030-06-0${day}T00:00:00.000Z`));
    expect(lines).toContain("info: Scheduler started with 1 agent.");
  });
});

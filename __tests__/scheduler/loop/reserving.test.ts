/** Slots are made ready shortly before their time, and nobody can tell except by how soon their jobs start. */
import { describe, expect, it } from "vitest";
import { agent, cron, type GatedScene, gatedScene } from "../scene.js";

/** A fleet of one agent that runs each full minute, half a check before the first minute: its slot is reserved. */
async function beforeTheMinute(options: Parameters<typeof gatedScene>[0] = {}): Promise<GatedScene> {
  const crew = gatedScene(options);
  await crew.scheduler.start([agent("a", { work: cron("* * * * *") })]);
  await crew.clock.advance(59_900);
  expect(crew.starts).toEqual([]);
  return crew;
}

describe("a slot that comes due soon", () => {
  it.each([
    [1_000, "00:00:59.500"],
    [200, "00:00:59.900"],
    [60_000, "00:00:59.500"],
  ])("is reserved half a check ahead, at most half a second (%i ms)", async (checkInterval, expected) => {
    const { clock, store, scheduler, starts } = gatedScene({ checkInterval });
    const reserved: string[] = [];
    const reserve = store.reserve.bind(store);
    store.reserve = async (limit, aheadMs) => {
      const dueAt = await store.nextDueAt();
      if (dueAt !== undefined && dueAt.getTime() - clock.now().getTime() <= aheadMs)
        reserved.push(clock.now().toISOString().slice(11, -1));
      return reserve(limit, aheadMs);
    };
    await scheduler.start([agent("a", { work: cron("* * * * *") })]);
    await clock.advance("61s");
    expect(reserved[0]).toBe(expected);
    expect(starts).toEqual(["a 00:01"]);
  });

  it("is reserved within the fleet's limit", async () => {
    const { clock, store, scheduler } = gatedScene({ maxConcurrent: 3 });
    const limits: number[] = [];
    const reserve = store.reserve.bind(store);
    store.reserve = (limit, aheadMs) => {
      limits.push(limit);
      return reserve(limit, aheadMs);
    };
    const never = (): Promise<void> => new Promise(() => {});
    await scheduler.start([
      agent("a", { work: cron("* * * * *") }, { run: never }),
      agent("b", { work: cron("30 * * * * *") }),
    ]);
    await clock.advance("91s");
    expect([limits[0], limits.at(-1)]).toEqual([3, 2]);
    await scheduler.stop({ waitForJobs: false });
  });

  it("runs at its time when it could not be reserved, and nobody is told", async () => {
    const { clock, store, scheduler, starts, troubles } = gatedScene();
    store.fail("reserve", new Error("disk full"), 1_000);
    await scheduler.start([agent("a", { work: cron("* * * * *") })]);
    await clock.advance("61s");
    expect(starts).toEqual(["a 00:01"]);
    expect(troubles).toEqual([]);
  });

  it("does not run when its schedule is disabled, paused or gone in the last moment", async () => {
    const disabled = await beforeTheMinute();
    await disabled.scheduler.disable("a");
    const paused = await beforeTheMinute();
    await paused.scheduler.pause("a", "work", "2026-03-01T00:01:30.000Z");
    const gone = await beforeTheMinute();
    gone.scheduler.setAgents([]);
    for (const { clock, starts } of [disabled, paused, gone]) {
      await clock.advance("1s");
      expect(starts).toEqual([]);
    }
  });

  it("runs as its schedule says when that is another in the last moment", async () => {
    const { clock, scheduler, starts } = await beforeTheMinute();
    scheduler.setAgents([agent("a", { work: cron("30 * * * * *") })]);
    await clock.advance("31s");
    expect(starts).toEqual(["a 00:01:30"]);
  });

  it("is not in the way of a job that is started by hand, and waits for it", async () => {
    const crew = await beforeTheMinute();
    const { clock, scheduler, starts } = crew;
    const longer = agent("a", { work: cron("* * * * *") }, { run: () => clock.sleep(500) });
    scheduler.setAgents([longer]);
    await clock.advance(50);
    expect(await scheduler.trigger("a")).toMatchObject({ success: true });
    await clock.advance("2s");
    expect(starts).toEqual(["a 00:00:59.950"]);
  });

  it("is left as it was by a stop, and run by the next start", async () => {
    const { clock, store, scheduler, starts } = await beforeTheMinute();
    await scheduler.stop();
    await clock.advance("1s");
    expect(starts).toEqual([]);
    await scheduler.start([agent("a", { work: cron("* * * * *") })]);
    await clock.advance("1s");
    expect(starts).toEqual(["a 00:01:00.900"]);
    const { interrupted_count: interrupted = 0 } = await store.read({ agent: "a", schedule: "work" });
    expect(interrupted).toBe(0);
  });

  it("shows nothing of it in the list of schedules", async () => {
    const { scheduler } = await beforeTheMinute();
    expect(await scheduler.getSchedules()).toMatchObject([{ status: "idle", waiting: "not_due" }]);
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
  });

  it("is judged late when the process slept beyond its time", async () => {
    const { clock, scheduler, starts } = await beforeTheMinute();
    const missed: string[] = [];
    scheduler.on("schedule:missed", ({ slot }) => missed.push(slot.toISOString().slice(11, -1)));
    clock.jump("2h");
    await clock.advance("1s");
    expect(starts).toEqual([]);
    expect(missed).toEqual(["00:01:00.000"]);
  });
});

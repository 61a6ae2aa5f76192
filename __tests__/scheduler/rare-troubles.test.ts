/** What the simulator found: troubles that need two or three things to happen at once. */
import { describe, expect, it } from "vitest";
import { judgeClaim } from "../../src/scheduler/planning/due-slot.js";
import { agent, cron, every, gatedScene, HOURLY } from "./scene.js";
import { watch } from "../watched-promise.js";

const WORK = { agent: "a", schedule: "work" };
const BROKEN = new Error("disk full");

describe("a scheduler", () => {
  it("renews claims again at the next pass when that failed", async () => {
    const { scheduler, clock, store } = gatedScene({ leaseMs: 30_000 });
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("10m") })]);
    await clock.advance("5s");
    store.fail("renew", BROKEN);
    const before = store.count("renew");
    await clock.advance("8s");
    expect(store.count("renew") - before).toBe(2);
  });

  it("records the end of a job whose start was recorded although that failed", async () => {
    const { scheduler, clock, store } = gatedScene();
    store.failAfter("startJobs", BROKEN);
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("1m") })]);
    await clock.advance("2m");
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
    expect((await store.read(WORK)).status).toBe("idle");
  });

  it("does not spin when it cannot renew the claims of jobs that outlast a stop", async () => {
    const { scheduler, clock, store } = gatedScene({ leaseMs: 30_000 });
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("10m") })]);
    await clock.advance("1s");
    const stop = watch(scheduler.stop({ timeout: 1_000 }));
    await clock.advance("1s");
    store.fail("renew", BROKEN, 1_000);
    await clock.advance("1m");
    expect([stop.state, store.count("renew") < 100]).toEqual(["rejected", true]);
  });

  it.each(["-1h", "-25h", "-3650d"])("is not silent when the wall clock jumps by %s", async (jump) => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("a", { work: every("5m") })]);
    await clock.advance("1m");
    clock.jump(jump);
    await clock.advance("5m");
    await clock.advance("2s");
    expect(starts).toHaveLength(2);
  });

  it("sees in time what comes due while the fleet is at its limit", async () => {
    const { scheduler, clock, starts } = gatedScene({
      maxConcurrent: 1,
      checkInterval: 60_000,
      leaseMs: 3_600_000,
    });
    const long = agent("a", HOURLY, { run: () => clock.sleep("10m") });
    await scheduler.start([long, agent("waits"), agent("b", { work: cron("30 */2 * * * *") })]);
    await clock.advance("10m");
    await clock.advance("5s");
    expect(starts).toEqual(["a 00:00", "waits 00:10", "b 00:10"]);
    // 00:00:30 ran; the four that came due while it waited did not.
    expect(await scheduler.getSchedules("b")).toMatchObject([{ missedCount: 4 }]);
  });

  it("drops a slot of a busy agent that is due at this very moment", async () => {
    const { scheduler, clock } = gatedScene();
    const long = { ...cron("1 * * * *"), prompt: "long" };
    const quick = { ...every("1m"), when_busy: "skip" as const };
    const run = ({ prompt }: { prompt: string }): unknown =>
      prompt === "long" ? clock.sleep("10m") : undefined;
    await scheduler.start([agent("a", { long, quick }, { run })]);
    await clock.advance("90s");
    const [, { nextRunAt } = {}] = await scheduler.getSchedules("a");
    expect(nextRunAt?.toISOString()).toBe("2026-03-01T00:02:00.000Z");
  });

  it("lets the first run wait, also with `when_busy: skip`", async () => {
    const { scheduler, clock, starts } = gatedScene();
    const quick = { ...every("1h"), when_busy: "skip" as const };
    const run = (): Promise<void> => clock.sleep("10m");
    await scheduler.start([agent("a", { long: every("1h"), quick }, { run })]);
    await clock.advance("11m");
    expect(starts).toEqual(["a 00:00", "a 00:10"]);
  });

  it("delays no other run when an edit sets a run of a busy agent to a past time", async () => {
    const { scheduler, clock, store, starts } = gatedScene({ checkInterval: 60_000 });
    const schedules = { work: cron("0 12 * * *"), long: every("1h") };
    const busy = agent("a", schedules, { run: () => clock.sleep("10m") });
    await scheduler.start([busy, agent("b", { work: cron("30 1 0 * * *") })]);
    await clock.advance("61s");
    await store.changeFromOutside(WORK, { next_run_at: "2026-02-28T00:00:00.000Z" });
    await clock.advance("1m");
    expect(starts).toEqual(["a 00:00", "b 00:01:30"]);
  });

  it("runs a schedule that was set to a past time by an edit, however late that is", async () => {
    const { scheduler, clock, store, starts } = gatedScene();
    await scheduler.start([agent("a", { work: cron("0 12 * * *") })]);
    await clock.advance("1m");
    await store.changeFromOutside(WORK, { next_run_at: "2026-02-28T00:00:00.000Z" });
    await clock.advance("1s");
    expect(starts).toEqual(["a 00:01"]);
    expect(await store.jobs.list()).toMatchObject([{ source: "manual" }]);
  });
});

describe("a slot left over from an earlier definition", () => {
  it("is planned again when the schedule runs on request only", () => {
    const at = new Date("2026-03-01T00:00:00Z");
    const claim = { slot: at, seenAt: at, source: "baseline-cron" } as const;
    expect(judgeClaim(claim, { type: "chat" })).toEqual({ action: "plan" });
    expect(judgeClaim({ ...claim, source: "manual" }, { type: "chat" }).action).toBe("run");
  });
});

import { describe, expect, it } from "vitest";
import { type AgentSchedule, type Job, MemoryStore, type ScheduleStatePatch } from "../../../src/index.js";
import { backfillCancelled } from "../../../src/scheduler/control/backfill.js";
import { agent, cron, every, scene, type Scene, shortTime } from "../scene.js";

const KEY = { agent: "a", schedule: "x" };
const HOURLY = cron("0 * * * *");
/** Three hourly slots before the scene's start. */
const PERIOD = { from: "2026-02-28T20:30:00Z", to: "2026-02-28T23:30:00Z" };
const SLOTS = ["2026-02-28 21:00", "2026-02-28 22:00", "2026-02-28 23:00"];

const slotsOf = ({ jobs }: Scene): string[] => jobs.map(({ slot }) => shortTime(slot));

async function started(
  schedule: AgentSchedule = HOURLY,
  run: (context: Job) => unknown = () => {},
  before: ScheduleStatePatch = {},
): Promise<Scene> {
  const store = new MemoryStore();
  await store.update(KEY, before);
  const stage = scene({ store });
  await stage.scheduler.start([agent("a", { x: schedule }, { run })]);
  await stage.clock.advance("1m");
  return stage;
}

describe("a backfill", () => {
  it("runs the slots of a past period, oldest first and one at a time, with their own keys", async () => {
    const keys: unknown[] = [];
    const stage: Scene = await started(HOURLY, async ({ key, slot }) => {
      keys.push(key, slot);
      await stage.clock.sleep("1m");
    });
    const { slots, leftOut } = await stage.scheduler.backfill("a", "x", PERIOD);
    expect([slots.map(shortTime), leftOut]).toEqual([SLOTS, 0]);
    await stage.clock.advance("90s");
    expect((await stage.status("a", "x")).backfill).toMatchObject({ total: 3, done: 1, failed: 0 });
    await stage.clock.advance("10m");
    expect(stage.jobs.map(({ started_at }) => shortTime(started_at))).toEqual(["00:01", "00:02", "00:03"]);
    expect(slotsOf(stage)).toEqual(SLOTS);
    expect(stage.jobs).toMatchObject([
      { trigger: "manual", source: "manual", attempt: 1 },
      { trigger: "manual", source: "manual", attempt: 1 },
      { trigger: "manual", source: "manual", attempt: 1 },
    ]);
    expect(keys.slice(0, 2)).toEqual(["a/x@2026-02-28T21:00:00.000Z", new Date("2026-02-28T21:00:00Z")]);
    const { backfill, missed_count } = await stage.state("a", "x");
    expect([backfill, missed_count]).toEqual([undefined, undefined]);
    expect(await stage.plan("a", "x")).toBe("01:00 baseline-cron");
  });

  it("lists its slots and changes nothing with dryRun", async () => {
    const stage = await started();
    const before = await stage.state("a", "x");
    const { slots } = await stage.scheduler.backfill("a", "x", { ...PERIOD, dryRun: true });
    await stage.clock.advance("5m");
    expect(slots.map(shortTime)).toEqual(SLOTS);
    expect(stage.jobs).toEqual([]);
    expect(await stage.state("a", "x")).toEqual(before);
  });

  it("leaves out slots that have completed, and runs slots again that have failed", async () => {
    let isFailing = true;
    const stage = await started(HOURLY, ({ slot }) => {
      if (isFailing && slot?.getUTCHours() === 22) throw new Error("no");
    });
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("5m");
    isFailing = false;
    const { slots, leftOut } = await stage.scheduler.backfill("a", "x", PERIOD);
    expect([slots.map(shortTime), leftOut]).toEqual([["2026-02-28 22:00"], 2]);
    await stage.clock.advance("5m");
    expect(slotsOf(stage)).toEqual([...SLOTS, "2026-02-28 22:00"]);
    expect((await stage.scheduler.backfill("a", "x", PERIOD)).slots).toEqual([]);
  });

  it("lets the schedule's own slot run first that came due during a past one, however long that took", async () => {
    const stage: Scene = await started(HOURLY, () => stage.clock.sleep("100m"));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("8h");
    expect(slotsOf(stage).slice(0, 4)).toEqual(["2026-02-28 21:00", "01:00", "2026-02-28 22:00", "05:00"]);
    // 01:00 and 05:00 ran. While jobs ran, 02:00, 03:00, 04:00 and 06:00 passed.
    expect((await stage.state("a", "x")).missed_count).toBe(4);
  });

  it("gives way to the schedule's own slot that came due while it waited for capacity", async () => {
    const store = new MemoryStore();
    const stage = scene({ store });
    const other = { x: HOURLY, other: { type: "webhook" } } as const;
    const run = async ({ schedule }: Job): Promise<void> => {
      if (schedule === "other") await stage.clock.sleep("90m");
    };
    await stage.scheduler.start([agent("a", other, { run })]);
    await stage.clock.advance("1m");
    await stage.scheduler.trigger("a", "other");
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("95m");
    expect(slotsOf(stage).slice(1)).toEqual(["01:00", ...SLOTS]);
    expect((await stage.state("a", "x")).missed_count).toBeUndefined();
  });

  it("waits while its schedule is paused or disabled", async () => {
    const stage = await started();
    await stage.scheduler.pause("a", "x");
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("5m");
    expect(stage.jobs).toEqual([]);
    expect(await stage.plan("a", "x")).toMatch(/ paused$/);
    await stage.scheduler.disable("a", "x");
    await stage.scheduler.resume("a", "x");
    await stage.clock.advance("5m");
    expect(stage.jobs).toEqual([]);
    await stage.scheduler.enable("a", "x");
    await stage.clock.advance("5m");
    expect(slotsOf(stage)).toEqual(SLOTS);
  });

  it("is kept in the store, and goes on after a restart", async () => {
    const stage: Scene = await started(HOURLY, () => stage.clock.sleep("1m"));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("30s");
    const stopping = stage.scheduler.stop();
    await stage.clock.advance("1m");
    await stopping;
    const next = stage.again();
    await next.scheduler.start([agent("a", { x: HOURLY })]);
    await next.clock.advance("1m");
    expect([slotsOf(stage), slotsOf(next)]).toEqual([SLOTS.slice(0, 1), SLOTS.slice(1)]);
  });

  it("tries the slot again whose process died, then goes on, and counts only own slots as missed", async () => {
    const [first, second] = ["2026-02-28T21:00:00.000Z", "2026-02-28T22:00:00.000Z"] as const;
    const at = "2026-02-28T23:59:00.000Z";
    const stage = await started(HOURLY, () => {}, {
      status: "running",
      next_run_at: at,
      next_run_source: "manual",
      accounted_until: at,
      backfill: { slots: [first, second], total: 2, at },
      claim: { token: "t", job_id: "job-2026-02-28-aaaaaaaa", slot: first, source: "manual", claimed_at: at },
    });
    expect(stage.jobs).toMatchObject([
      { slot: first, attempt: 2, trigger: "retry" },
      { slot: second, attempt: 1, trigger: "manual" },
    ]);
    const { backfill, missed_count } = await stage.state("a", "x");
    // Midnight passed between the two processes.
    expect([backfill, missed_count]).toEqual([undefined, 1]);
  });

  it("runs no more slots when it is cancelled", async () => {
    const stage: Scene = await started(HOURLY, () => stage.clock.sleep("1m"));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("30s");
    await stage.scheduler.cancelBackfill("a", "x");
    await stage.clock.advance("10m");
    expect(slotsOf(stage)).toEqual(SLOTS.slice(0, 1));
    expect(await stage.plan("a", "x")).toBe("01:00 baseline-cron");
  });

  it("leaves the schedule its own plan when it is cancelled before a slot", async () => {
    const stage = await started(cron("0 * * * *", { min_interval: "10m" }));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("1m");
    await stage.scheduler.cancelBackfill("a", "x");
    await stage.clock.advance("30m");
    expect(stage.jobs).toEqual([]);
    expect(await stage.plan("a", "x")).toBe("01:00 baseline-cron");
  });

  it("takes its plan with it when a different process cancels it", () => {
    const at = "2026-03-01T00:11:00.000Z";
    const backfill = { slots: ["2026-02-28T21:00:00.000Z"], total: 1, at };
    const state = { status: "idle", next_run_at: at, next_run_source: "manual", backfill } as const;
    expect(backfillCancelled(state)).toMatchObject({ backfill: null, next_run_at: null });
  });

  it("keeps its slots apart by min_interval", async () => {
    const stage = await started(cron("0 * * * *", { min_interval: "10m" }));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await stage.clock.advance("35m");
    expect(stage.jobs.map(({ started_at }) => shortTime(started_at))).toEqual(["00:11", "00:21", "00:31"]);
  });

  it.each([
    ["a schedule that is not cron", every("1h"), PERIOD, "Only cron schedules"],
    ["a period that ends before it begins", HOURLY, { from: PERIOD.to, to: PERIOD.from }, "earlier than to"],
    ["a period in the future", HOURLY, { ...PERIOD, to: "2026-03-02T00:00:00Z" }, "in the future"],
    ["a time that is not one", HOURLY, { ...PERIOD, from: "soon" }, "Invalid from"],
    [
      "more slots than the limit",
      HOURLY,
      { ...PERIOD, limit: 2 },
      "has 3 slots to run, the limit is 2: raise",
    ],
    ["more slots than can be kept", HOURLY, { ...PERIOD, from: "2020-01-01T00:00:00Z" }, "choose a shorter"],
    ["a limit out of range", HOURLY, { ...PERIOD, limit: 1001 }, "Invalid limit"],
  ])("refuses %s and changes nothing", async (_, schedule, options, message) => {
    const stage = await started(schedule);
    const before = await stage.state("a", "x");
    const refused = stage.scheduler.backfill("a", "x", options);
    await expect(refused).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
    expect(await stage.state("a", "x")).toEqual(before);
  });

  it("is refused while one is under way", async () => {
    const stage: Scene = await started(HOURLY, () => stage.clock.sleep("1m"));
    await stage.scheduler.backfill("a", "x", PERIOD);
    await expect(stage.scheduler.backfill("a", "x", PERIOD)).rejects.toThrow("0 of 3 slots have run");
  });
});

/** Pausing, disabling and advising: what changes at once, what lasts, and what is refused. */
import { describe, expect, it } from "vitest";
import {
  FakeClock,
  type FinishResult,
  type JobFinish,
  MemoryStore,
  type Scheduler,
} from "../../../src/index.js";
import { agent, cron, every, gate, type Gate, once, scene, type Scene, START } from "../scene.js";

/** A scheduler whose `x` runs every five minutes and ran at 00:00. */
async function running(options: Parameters<typeof scene>[0] = {}): Promise<Scene> {
  const stage = scene(options);
  await stage.scheduler.start([agent("a", { x: every("5m") })]);
  await stage.clock.advance("1s");
  return stage;
}

describe("pause", () => {
  it("keeps a schedule from running until its time, and plans it from there", async () => {
    const { scheduler, clock, runs } = await running();
    await scheduler.pause("a", "x", "2026-03-01T01:00:00Z");
    await clock.advance("66m");
    expect(runs).toEqual(["00:00 a/x", "01:05 a/x"]);
  });

  it.each([["2026-03-01T01:00:00Z"], [new Date("2026-03-01T01:00:00Z")], [Date.UTC(2026, 2, 1, 1)]])(
    "takes its time as %o",
    async (until) => {
      const { scheduler, status } = await running();
      await scheduler.pause("a", "x", until);
      expect(await status("a", "x")).toMatchObject({ pausedUntil: new Date("2026-03-01T01:00:00Z") });
    },
  );

  it("holds for all schedules of an agent when none is named", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: every("5m"), y: every("5m") }), agent("b", { x: every("5m") })]);
    await clock.advance("1s");
    await scheduler.pause("a");
    await clock.advance("5m");
    expect(runs.slice(3)).toEqual(["00:05 b/x"]);
  });

  it("without an end lasts over a restart, until it is resumed", async () => {
    const before = await running();
    await before.scheduler.pause("a", "x");
    await before.scheduler.stop();
    const after = before.again();
    await after.scheduler.start([agent("a", { x: every("5m") })]);
    await after.clock.advance("1h");
    expect(after.runs).toEqual([]);
    await after.scheduler.resume("a", "x");
    await after.clock.advance("10m");
    expect(after.runs).toEqual(["01:05:01 a/x", "01:10:01 a/x"]);
  });

  it("drops a slot that waits for capacity, and reports it", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("10m") : undefined),
    });
    await stage.scheduler.start([agent("a", { long: every("1d"), x: every("1h") })]);
    await stage.clock.advance("1m");
    await stage.scheduler.pause("a", "x");
    await stage.clock.advance("20m");
    expect(stage.runs).toEqual(["00:00 a/long"]);
    expect(stage.events).toContain("skipped a/x paused 00:00");
  });

  it("does not move a `once` that is due after its end", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { x: once("2026-03-01T01:00:00Z") })]);
    await scheduler.pause("a", "x", "2026-03-01T00:30:00Z");
    await clock.advance("2h");
    expect(runs).toEqual(["01:00 a/x"]);
  });
});

describe("resume", () => {
  it("after many missed slots runs at most one of them", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([agent("a", { i: every("5m"), c: cron("*/5 * * * *") }, { capacity: 2 })]);
    await clock.advance("1s");
    await scheduler.pause("a");
    // Past the grace of the cron time at 00:50.
    await clock.advance("51m");
    const before = runs.length;
    await scheduler.resume("a");
    await clock.advance("1s");
    expect(runs.length - before).toBeLessThanOrEqual(1);
    await clock.advance("4m");
    expect(runs.slice(before).filter((run) => run.endsWith("a/i"))).toHaveLength(1);
    expect(runs.slice(before).filter((run) => run.endsWith("a/c"))).toEqual(["00:55 a/c"]);
  });
});

describe("disable", () => {
  it("leaves no plan, and enable makes one from now on: an overdue interval is due now", async () => {
    const { scheduler, clock, runs, plan } = await running();
    await scheduler.disable("a", "x");
    expect(await plan("a", "x")).toBe("never none");
    await clock.advance("1h");
    expect(runs).toHaveLength(1);
    await scheduler.enable("a", "x");
    expect(await plan("a", "x")).toBe("01:00:01 baseline-interval");
  });

  it("takes away the times of a cron schedule, and enable plans its next one", async () => {
    const { scheduler, clock, runs, plan, state } = scene();
    await scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await clock.advance("30m");
    await scheduler.disable("a", "x");
    await clock.advance("3h");
    await scheduler.enable("a", "x");
    expect(await plan("a", "x")).toBe("04:00 baseline-cron");
    expect((await state("a", "x")).missed_count ?? 0).toBe(0);
    expect(runs).toEqual([]);
  });

  it("followed by enable counts no time that a limit of the schedule takes away", async () => {
    const { scheduler, clock, runs, state } = scene();
    await scheduler.start([agent("a", { x: cron("* * * * *", { min_interval: "70s" }) })]);
    await scheduler.disable("a", "x");
    await clock.advance("10s");
    await scheduler.enable("a", "x");
    expect(await state("a", "x")).not.toHaveProperty("accounted_until");
    await clock.advance("75s");
    expect(runs).toEqual(["00:01:20 a/x"]);
    expect((await state("a", "x")).missed_count ?? 0).toBe(0);
  });

  it("written by a different process leaves no earlier slot when it is enabled", async () => {
    const { scheduler, store, clock, runs, plan } = await running();
    await store.update({ agent: "a", schedule: "x" }, { status: "disabled" });
    await clock.advance("1h");
    await scheduler.enable("a", "x");
    expect(await plan("a", "x")).toBe("01:00:01 baseline-interval");
    await clock.advance("1s");
    expect(runs).toEqual(["00:00 a/x", "01:00:01 a/x"]);
  });

  it("lasts over a restart and over new agents", async () => {
    const before = await running();
    await before.scheduler.disable("a");
    await before.scheduler.stop();
    const after = before.again();
    await after.scheduler.start([agent("a", { x: every("5m") })]);
    await after.clock.advance("10m");
    after.scheduler.setAgents([agent("a", { x: every("1m") })]);
    await after.clock.advance("10m");
    expect(after.runs).toEqual([]);
    expect(after.events).toContain("skipped a/x disabled never");
  });

  it("during a run outlives the write of its end", async () => {
    const clock = new FakeClock(START);
    const stage = await running({ clock, work: () => clock.sleep("1m") });
    await stage.scheduler.disable("a", "x");
    await stage.clock.advance("1h");
    expect(stage.runs).toHaveLength(1);
    expect(stage.ended).toMatchObject([{ status: "completed" }]);
    expect(await stage.state("a", "x")).toMatchObject({
      status: "disabled",
      last_completed_at: "2026-03-01T00:01:00.000Z",
      next_run_at: null,
    });
  });

  it("followed by enable during the same run leaves the schedule as it was", async () => {
    const clock = new FakeClock(START);
    const stage = await running({ clock, work: () => clock.sleep("1m") });
    await stage.scheduler.disable("a", "x");
    await stage.scheduler.enable("a", "x");
    expect(await stage.state("a", "x")).toMatchObject({ status: "running" });
    await stage.clock.advance("10m");
    expect(stage.runs).toEqual(["00:00 a/x", "00:06 a/x"]);
  });
});

describe("hint", () => {
  it("moves the next run at once, within the limits", async () => {
    const { scheduler, clock, plan } = scene();
    await scheduler.start([agent("a", { x: every("1h"), y: every("1h", { min_interval: "10m" }) })]);
    await clock.advance("20m");
    await scheduler.hint("a", "x", { interval: "1s" });
    await scheduler.hint("a", "y", { interval: "1s" });
    expect(await plan("a", "x")).toBe("00:20:01 ai-interval");
    expect(await plan("a", "y")).toBe("00:30 clamped-min");
  });

  it("replaces the hint before it", async () => {
    const { scheduler, plan } = await running();
    await scheduler.hint("a", "x", { interval: "1m" });
    await scheduler.hint("a", "x", { runAt: "2026-03-01T00:02:00Z" });
    expect(await plan("a", "x")).toBe("00:02 ai-oneshot");
  });

  it("is valid for an hour, counted from its runAt if it has one", async () => {
    const { scheduler, status } = await running();
    await scheduler.hint("a", "x", { interval: "1m" });
    expect((await status("a", "x")).hint?.expires_at).toBe("2026-03-01T01:00:01.000Z");
    await scheduler.hint("a", "x", { runAt: "2026-03-01T08:00:00Z" });
    expect((await status("a", "x")).hint?.expires_at).toBe("2026-03-01T09:00:00.000Z");
  });

  it("is removed by clearHints", async () => {
    const { scheduler, plan, state } = await running();
    await scheduler.hint("a", "x", { interval: "1m" });
    await scheduler.clearHints("a");
    expect(await plan("a", "x")).toBe("00:05 baseline-interval");
    expect((await state("a", "x")).hint ?? null).toBeNull();
  });

  it("that is invalid is dropped with a warning, and the schedule runs", async () => {
    const store = new MemoryStore();
    await store.update(
      { agent: "a", schedule: "x" },
      { hint: { interval: "soon", expires_at: "2026-03-09T00:00:00Z" } },
    );
    const { runs, warnings, state } = await running({ store });
    expect(runs).toEqual(["00:00 a/x"]);
    expect(warnings).toEqual([expect.stringContaining('"soon"')]);
    expect((await state("a", "x")).hint ?? null).toBeNull();
  });

  it("that is invalid and came while the job ran is dropped at its end", async () => {
    const clock = new FakeClock(START);
    const stage = await running({ clock, work: () => clock.sleep("1m") });
    await stage.store.update(
      { agent: "a", schedule: "x" },
      { hint: { interval: "soon", expires_at: "2026-03-09T00:00:00Z" } },
    );
    await stage.clock.advance("1m");
    expect(stage.ended).toMatchObject([{ status: "completed" }]);
    expect(await stage.plan("a", "x")).toBe("00:06 baseline-interval");
    expect(stage.warnings).toEqual([expect.stringContaining('"soon"')]);
  });
});

/** A store that stops before or after it has written the end of a job. */
class GatedStore extends MemoryStore {
  before: Gate | undefined;
  after: Gate | undefined;

  override async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    await this.before?.pass();
    const results = await super.finishJobs(ends);
    await this.after?.pass();
    return results;
  }
}

describe.each(["before", "after"] as const)("a call just %s the end of a job is written", (moment) => {
  /** The second run of `x`, at 00:05, has ended, and its end is on the way. */
  async function ending(): Promise<Scene & { readonly open: () => Promise<void> }> {
    const store = new GatedStore();
    const stage = await running({ store });
    const door = gate();
    store[moment] = door;
    await stage.clock.advance("5m");
    await door.reached;
    const open = async (): Promise<void> => {
      store[moment] = undefined;
      door.open();
      await stage.clock.advance(0);
    };
    return { ...stage, open };
  }

  it("pauses it", async () => {
    const { scheduler, open, plan } = await ending();
    await scheduler.pause("a", "x", "2026-03-01T01:00:00Z");
    await open();
    expect(await plan("a", "x")).toBe("01:00 paused");
  });

  it("disables it", async () => {
    const { scheduler, open, state } = await ending();
    await scheduler.disable("a", "x");
    await open();
    expect(await state("a", "x")).toMatchObject({ status: "disabled", next_run_at: null, failure_count: 0 });
  });

  it("sets its hint", async () => {
    const { scheduler, open, plan } = await ending();
    await scheduler.hint("a", "x", { interval: "1m" });
    await open();
    expect(await plan("a", "x")).toBe("00:06 ai-interval");
  });

  it("removes its hint", async () => {
    const { scheduler, open, plan } = await ending();
    await scheduler.hint("a", "x", { interval: "1m" });
    await scheduler.clearHints("a", "x");
    await open();
    expect(await plan("a", "x")).toBe("00:10 baseline-interval");
  });

  it("resumes it", async () => {
    const { scheduler, open, plan } = await ending();
    await scheduler.pause("a", "x");
    await scheduler.resume("a", "x");
    await open();
    expect(await plan("a", "x")).toBe("00:10 baseline-interval");
  });
});

describe("a control", () => {
  it.each([
    ["pause until", (s: Scheduler) => s.pause("a", "x", "tomorrow"), 'Invalid until "tomorrow"'],
    ["pause until", (s: Scheduler) => s.pause("a", "x", NaN), "Invalid until"],
    ["hint", (s: Scheduler) => s.hint("a", "x", {}), "A hint needs an interval, a runAt, or both"],
    ["interval", (s: Scheduler) => s.hint("a", "x", { interval: "5x" }), 'Invalid time unit "x"'],
    ["runAt", (s: Scheduler) => s.hint("a", "x", { runAt: "later" }), 'Invalid runAt "later"'],
    ["ttl", (s: Scheduler) => s.hint("a", "x", { interval: "5m", ttl: "0s" }), 'Invalid ttl "0s"'],
  ])("refuses a bad %s, which it names, and changes nothing", async (_, act, message) => {
    const { scheduler, state } = await running();
    const before = await state("a", "x");
    await expect(act(scheduler)).rejects.toThrow(message);
    expect(await state("a", "x")).toEqual(before);
  });

  const controls: [string, (s: Scheduler, name: string, schedule?: string) => Promise<void>][] = [
    ["pause", (s, name, schedule) => s.pause(name, schedule)],
    ["resume", (s, name, schedule) => s.resume(name, schedule)],
    ["enable", (s, name, schedule) => s.enable(name, schedule)],
    ["disable", (s, name, schedule) => s.disable(name, schedule)],
    ["hint", (s, name, schedule = "x") => s.hint(name, schedule, { interval: "1m" })],
    ["clearHints", (s, name, schedule) => s.clearHints(name, schedule)],
  ];

  it.each(controls)("refuses unknown names: %s", async (_, act) => {
    const { scheduler } = await running();
    await expect(act(scheduler, "nobody")).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    await expect(act(scheduler, "a", "never")).rejects.toMatchObject({
      code: "UNKNOWN_SCHEDULE",
      message: expect.stringContaining('"never"'),
    });
  });

  it.each(controls)("is refused by a scheduler that does not run: %s", async (_, act) => {
    const { scheduler } = await running();
    await scheduler.stop();
    await expect(act(scheduler, "a", "x")).rejects.toMatchObject({ code: "NOT_RUNNING" });
  });
});

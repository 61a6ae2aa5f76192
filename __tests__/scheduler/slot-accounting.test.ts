/** Every slot ends as a run or is counted, in one event and in `missed_count`, whatever kept it from running. */
import { describe, expect, it } from "vitest";
import type { AgentSchedule, SchedulerEvents } from "../../src/index.js";
import { enabled } from "../../src/scheduler/control/state-changes.js";
import { agent, cron, every, gatedScene, once, scene, type Scene } from "./scene.js";

const MINUTELY = "* * * * *";

interface Told {
  readonly event: "skipped" | "missed";
  readonly reason?: string;
  readonly slot?: string | undefined;
  readonly lastSlot?: string | undefined;
  readonly count?: number | undefined;
}

/** What is told of the slots of `name`, as it is told. */
function listen({ scheduler }: Pick<Scene, "scheduler">, name: string): Told[] {
  const told: Told[] = [];
  const note = (
    event: Told["event"],
    { slot, lastSlot, count, ...rest }: SchedulerEvents["schedule:skipped" | "schedule:missed"],
  ): void => {
    if (`${rest.agent}/${rest.schedule}` !== name) return;
    told.push({
      event,
      ...("reason" in rest ? { reason: rest.reason } : {}),
      slot: slot?.toISOString().slice(11, 19),
      ...(count === undefined ? {} : { lastSlot: lastSlot?.toISOString().slice(11, 19), count }),
    });
  };
  scheduler.on("schedule:skipped", (details) => note("skipped", details));
  scheduler.on("schedule:missed", (details) => note("missed", details));
  return told;
}

describe("slots of a cron schedule that pass", () => {
  it("while an earlier one waits for capacity are counted, and told after the slot that only waits", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("270s") : undefined),
    });
    const told = listen(stage, "a/x");
    await stage.scheduler.start([agent("a", { long: every("10d"), x: cron(MINUTELY) })]);
    await stage.clock.advance("330s");
    expect(stage.runs).toEqual(["00:00 a/long", "00:04:30 a/x", "00:05 a/x"]);
    expect(stage.jobs[1]).toMatchObject({ slot: "2026-03-01T00:01:00.000Z" });
    expect(told).toEqual([
      { event: "skipped", reason: "at_capacity", slot: "00:01:00" },
      { event: "skipped", reason: "at_capacity", slot: "00:02:00", lastSlot: "00:04:00", count: 3 },
    ]);
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 3 });
  });

  it("while the job of an earlier one runs are all counted", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("210s") });
    const told = listen(stage, "a/x");
    await stage.scheduler.start([agent("a", { x: cron(MINUTELY) })]);
    await stage.clock.advance("330s");
    expect(told).toEqual([
      { event: "skipped", reason: "already_running", slot: "00:02:00", lastSlot: "00:04:00", count: 3 },
    ]);
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 3 });
  });

  it("while the limit of the fleet holds an earlier one back are counted, and the one that waits is told", async () => {
    const { scheduler, clock, starts } = gatedScene({ maxConcurrent: 1 });
    const told = listen({ scheduler }, "b/work");
    const long = agent("a", { work: every("10d") }, { run: () => clock.sleep("210s") });
    await scheduler.start([long, agent("b", { work: cron(MINUTELY) })]);
    await clock.advance("225s");
    expect(starts).toEqual(["a 00:00", "b 00:03:30"]);
    expect(told).toEqual([
      { event: "skipped", reason: "at_capacity", slot: "00:01:00" },
      { event: "skipped", reason: "at_capacity", slot: "00:02:00", lastSlot: "00:03:00", count: 2 },
    ]);
  });

  it("during a pause are counted when it ends", async () => {
    const stage = scene();
    const told = listen(stage, "a/x");
    await stage.scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await stage.clock.advance("30m");
    await stage.scheduler.pause("a", "x", "2026-03-01T04:30:00Z");
    await stage.clock.advance("4h");
    await stage.clock.advance("31m");
    expect(stage.runs).toEqual(["05:00 a/x"]);
    expect(told).toEqual([
      { event: "skipped", reason: "paused", slot: "01:00:00", lastSlot: "04:00:00", count: 4 },
    ]);
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 4 });
  });

  it("during a pause are counted when it is resumed, also after a restart", async () => {
    const stage = scene();
    await stage.scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await stage.clock.advance("30m");
    await stage.scheduler.pause("a", "x");
    await stage.clock.advance("2h");
    await stage.scheduler.stop();
    await stage.clock.advance("2h");
    const after = stage.again();
    const told = listen(after, "a/x");
    await after.scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await after.clock.advance("2h");
    await after.scheduler.resume("a", "x");
    expect(told).toEqual([
      { event: "skipped", reason: "paused", slot: "01:00:00", lastSlot: "06:00:00", count: 6 },
    ]);
    expect(await after.plan("a", "x")).toBe("07:00 baseline-cron");
  });

  it("while a hint or a limit replaces them are no slots", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("210s") });
    await stage.scheduler.start([
      agent("limited", { x: cron(MINUTELY, { min_interval: "10m" }) }),
      agent("hinted", { x: cron(MINUTELY) }),
    ]);
    await stage.clock.advance("30s");
    await stage.scheduler.hint("hinted", "x", { interval: "10m" });
    await stage.clock.advance("59m");
    expect((await stage.state("limited", "x")).missed_count ?? 0).toBe(0);
    expect((await stage.state("hinted", "x")).missed_count ?? 0).toBe(0);
  });

  it("while a manual job runs are counted, with the one that was planned", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("210s") });
    const told = listen(stage, "a/x");
    await stage.scheduler.start([agent("a", { x: cron(MINUTELY) })]);
    await stage.clock.advance("30s");
    await stage.scheduler.trigger("a", "x");
    await stage.clock.advance("225s");
    expect(told).toEqual([
      { event: "skipped", reason: "already_running", slot: "00:01:00", lastSlot: "00:04:00", count: 4 },
    ]);
  });
});

describe("a slot that is dropped", () => {
  it("when busy is told once, with its count", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("90s") : undefined),
    });
    const told = listen(stage, "a/x");
    await stage.scheduler.start([
      agent("a", { long: every("10d"), x: cron(MINUTELY, { when_busy: "skip" }) }),
    ]);
    await stage.clock.advance("75s");
    expect(told).toEqual([
      { event: "skipped", reason: "at_capacity", slot: "00:01:00", lastSlot: "00:01:00", count: 1 },
    ]);
  });

  it.each([
    ["pause", "paused"],
    ["disable", "disabled"],
  ] as const)("by %s while it waits is counted", async (control, reason) => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("1h") : undefined),
    });
    const told = listen(stage, "a/x");
    await stage.scheduler.start([agent("a", { long: every("10d"), x: cron(MINUTELY) })]);
    await stage.clock.advance("210s");
    await stage.scheduler[control]("a", "x");
    expect(told).toMatchObject([
      { reason: "at_capacity", slot: "00:01:00" },
      { reason, slot: "00:01:00", count: reason === "paused" ? 3 : 1 },
    ]);
  });

  it("of a `once` that is paused waits for the end of the pause", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("2m") : undefined),
    });
    const told = listen(stage, "a/x");
    const x = once("2026-03-01T00:01:00Z", { missed: "once" });
    await stage.scheduler.start([agent("a", { long: every("10d"), x })]);
    await stage.clock.advance("90s");
    await stage.scheduler.pause("a", "x", "2026-03-01T01:00:00Z");
    await stage.clock.advance("1h");
    expect(stage.runs).toEqual(["00:00 a/long", "01:00 a/x"]);
    expect(told.every(({ count }) => count === undefined)).toBe(true);
  });
});

describe("a state that has only the time of its last run", () => {
  const adopted = async (x: AgentSchedule, lastRunAt: string): Promise<Scene> => {
    const stage = scene();
    await stage.store.update({ agent: "a", schedule: "x" }, { last_run_at: lastRunAt, last_error: "boom" });
    await stage.scheduler.start([agent("a", { x })]);
    await stage.clock.advance("1s");
    return stage;
  };

  it("of an overdue interval runs one time at once", async () => {
    const { jobs } = await adopted(every("1h"), "2026-02-28T20:00:00Z");
    expect(jobs).toMatchObject([{ slot: "2026-02-28T21:00:00.000Z", source: "catch-up" }]);
  });

  it("of an interval that is not overdue waits for its time", async () => {
    const { runs, plan } = await adopted(every("1h"), "2026-02-28T23:30:00Z");
    expect(runs).toEqual([]);
    expect(await plan("a", "x")).toBe("00:30 baseline-interval");
  });

  it("of a cron schedule runs the slot that is not too late", async () => {
    const { jobs, state } = await adopted(cron("58 23 * * *"), "2026-02-27T23:58:00Z");
    expect(jobs).toMatchObject([{ slot: "2026-02-28T23:58:00.000Z", source: "baseline-cron" }]);
    expect((await state("a", "x")).missed_count ?? 0).toBe(0);
  });

  it("of a cron schedule counts the slots that are too late", async () => {
    const { runs, state, events } = await adopted(cron("30 * * * *"), "2026-02-28T20:30:00Z");
    expect(runs).toEqual([]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 3 });
    expect(events.filter((event) => event.startsWith("missed"))).toHaveLength(1);
  });

  it("with `missed: once` runs one time, and counts the rest", async () => {
    const { jobs, state } = await adopted(cron("30 * * * *", { missed: "once" }), "2026-02-28T20:30:00Z");
    expect(jobs).toMatchObject([{ slot: "2026-02-28T21:30:00.000Z", source: "catch-up" }]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 2 });
  });

  it("of a year that no calendar reaches is planned from now", async () => {
    const { plan } = await adopted(cron("30 * * * *"), "0001-01-01T00:00:00Z");
    expect(await plan("a", "x")).toBe("00:30 baseline-cron");
  });

  it.each([
    ["cron", cron("30 * * * *", { missed: "once" }), "00:30 baseline-cron"],
    ["interval", every("1h", { missed: "skip" }), "00:00 baseline-interval"],
  ])("and was enabled while no scheduler ran has no slots from before (%s)", async (_, x, plan) => {
    const stage = scene();
    const key = { agent: "a", schedule: "x" };
    await stage.store.update(key, { status: "disabled", last_run_at: "2026-02-28T20:30:00Z" });
    await stage.store.update(key, enabled(new Date("2026-03-01T00:00:00Z"), undefined));
    await stage.scheduler.start([agent("a", { x })]);
    expect(await stage.plan("a", "x")).toBe(plan);
    expect((await stage.state("a", "x")).missed_count ?? 0).toBe(0);
  });
});

describe("a cron schedule that was enabled while no scheduler ran", () => {
  it("counts the slots that passed since, and runs the one that is not too late", async () => {
    const stage = scene();
    const key = { agent: "a", schedule: "x" };
    await stage.store.update(key, { status: "disabled", last_started_at: "2026-02-28T12:58:00Z" });
    await stage.store.update(key, enabled(new Date("2026-02-28T21:00:00Z"), undefined));
    await stage.scheduler.start([agent("a", { x: cron("58 * * * *", { grace: "5m" }) })]);
    await stage.clock.advance("1s");
    expect(stage.jobs).toMatchObject([{ slot: "2026-02-28T23:58:00.000Z" }]);
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 2 });
  });
});

describe("a schedule without times that is enabled", () => {
  it("counts no slots from then on, whatever it is defined as later", () => {
    const state = { status: "disabled" } as const;
    const now = new Date("2026-03-01T00:00:00Z");
    expect(enabled(now, { type: "webhook" })(state)).toMatchObject({ status: "idle", accounted_until: null });
    expect(enabled(now, { type: "cron" })(state)).toMatchObject({ accounted_until: now.toISOString() });
  });
});

/** What a schedule may ask for beyond its times: each policy, through a whole scheduler. */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/index.js";
import { agent, cron, every, once, scene, type Scene, type SceneOptions, START } from "./scene.js";
import type { AgentSchedule } from "../../src/index.js";

const HOURLY = "0 * * * *";

/** A scheduler that ran `schedule` from the start for `up`, was away for `down`, and is back. */
async function away(schedule: AgentSchedule, up: string, down: string): Promise<Scene> {
  const before = scene();
  await before.scheduler.start([agent("a", { x: schedule })]);
  await before.clock.advance(up);
  await before.scheduler.stop();
  await before.clock.advance(down);
  const after = before.again();
  await after.scheduler.start([agent("a", { x: schedule })]);
  await after.clock.advance(0);
  return after;
}

describe("an interval whose slots passed while no scheduler ran", () => {
  it("runs one time at once, however many slots passed, and counts from there", async () => {
    const { runs, jobs, clock, plan } = await away(every("5m"), "1m", "2h");
    expect(runs).toEqual(["02:01 a/x"]);
    expect(jobs[0]).toMatchObject({ source: "catch-up", slot: "2026-03-01T00:05:00.000Z" });
    expect(await plan("a", "x")).toBe("02:06 baseline-interval");
    await clock.advance("5m");
    expect(runs).toEqual(["02:01 a/x", "02:06 a/x"]);
  });

  it("drops them with `missed: skip`, counts one and reports it", async () => {
    const { runs, events, warnings, state, plan } = await away(every("5m", { missed: "skip" }), "1m", "2h");
    expect(runs).toEqual([]);
    expect(await state("a", "x")).toMatchObject({
      missed_count: 1,
      last_missed_at: "2026-03-01T00:05:00.000Z",
    });
    expect(events).toContain("missed a/x 00:05");
    expect(warnings).toEqual([expect.stringContaining("a/x missed its run at 2026-03-01T00:05:00.000Z")]);
    expect(await plan("a", "x")).toBe("02:06 baseline-interval");
  });
});

describe("a cron schedule whose slots passed while no scheduler ran", () => {
  it("drops them by default, counts all of them in one event and stays on its grid", async () => {
    const { runs, events, warnings, state, plan } = await away(cron(HOURLY), "1m", "430m");
    expect(runs).toEqual([]);
    expect(await state("a", "x")).toMatchObject({
      missed_count: 7,
      last_missed_at: "2026-03-01T07:00:00.000Z",
    });
    expect(events.filter((event) => event.startsWith("missed"))).toEqual(["missed a/x 01:00 to 07:00 (7)"]);
    expect(warnings).toEqual([
      expect.stringContaining("a/x missed 7 runs, from 2026-03-01T01:00:00.000Z to 2026-03-01T07:00:00.000Z"),
    ]);
    expect(await plan("a", "x")).toBe("08:00 baseline-cron");
  });

  it("runs the latest of them that is within its grace, and counts the earlier ones", async () => {
    const daily = cron("0 3 * * *");
    const { runs, jobs, events, state, plan } = await away(daily, "2h", "1502m");
    expect(runs).toEqual(["2026-03-02 03:02 a/x"]);
    expect(jobs).toMatchObject([{ slot: "2026-03-02T03:00:00.000Z", source: "baseline-cron" }]);
    expect(events).toContain("missed a/x 03:00");
    expect(await state("a", "x")).toMatchObject({ missed_count: 1 });
    expect(await plan("a", "x")).toBe("2026-03-03 03:00 baseline-cron");
  });

  it("runs the latest within its grace with `missed: once` too, and no second one", async () => {
    const daily = cron("0 3 * * *", { missed: "once" });
    const { jobs, state } = await away(daily, "2h", "2942m");
    expect(jobs).toMatchObject([{ slot: "2026-03-03T03:00:00.000Z", source: "baseline-cron" }]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 2 });
  });

  it("counts a year of seconds within one pass", async () => {
    const { state, events } = await away(cron("* * * * * *", { grace: "1s" }), "1m", "365d");
    expect((await state("a", "x")).missed_count).toBeGreaterThan(365 * 86_400 - 10);
    expect(events.filter((event) => event.startsWith("missed"))).toHaveLength(1);
  });

  it("runs one time at once with `missed: once`, then on its grid", async () => {
    const { runs, jobs, clock } = await away(cron(HOURLY, { missed: "once" }), "1m", "3h");
    expect(jobs[0]).toMatchObject({ source: "catch-up", trigger: "cron" });
    await clock.advance("1h");
    expect(runs).toEqual(["03:01 a/x", "04:00 a/x"]);
  });

  it("counts what the one late run with `missed: once` does not make up for", async () => {
    const { jobs, events, state } = await away(cron(HOURLY, { missed: "once" }), "1m", "3h");
    expect(jobs).toMatchObject([{ source: "catch-up", slot: "2026-03-01T01:00:00.000Z" }]);
    expect(events).toContain("missed a/x 02:00 to 03:00 (2)");
    expect(await state("a", "x")).toMatchObject({ missed_count: 2 });
  });

  it("counts all again each time they are missed", async () => {
    const second = await away(cron(HOURLY), "1m", "3h");
    await second.scheduler.stop();
    await second.clock.advance("3h");
    const third = second.again();
    await third.scheduler.start([agent("a", { x: cron(HOURLY) })]);
    await third.clock.advance(0);
    expect(await third.state("a", "x")).toMatchObject({ missed_count: 6 });
  });
});

describe("a `once` whose time passed while no scheduler ran", () => {
  it("is counted as missed one time, also over three restarts", async () => {
    const schedule = once("2026-03-01T01:00:00Z");
    let current = await away(schedule, "1m", "3h");
    expect(current.events.filter((event) => event.startsWith("missed"))).toEqual(["missed a/x 01:00"]);
    for (let restart = 0; restart < 3; restart++) {
      await current.scheduler.stop();
      current = current.again();
      await current.scheduler.start([agent("a", { x: schedule })]);
      await current.clock.advance("10m");
      expect(current.events.filter((event) => event.startsWith("missed"))).toEqual([]);
      expect(current.runs).toEqual([]);
    }
    expect(await current.state("a", "x")).toMatchObject({ missed_count: 1, next_run_at: null });
  });

  it("that is defined after its time is missed too", async () => {
    const { scheduler, clock, runs, state } = scene();
    await scheduler.start([agent("a", { x: once("2026-02-28T00:00:00Z") })]);
    await clock.advance("1h");
    expect(runs).toEqual([]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 1, next_run_at: null });
  });

  it("runs one time with `missed: once`, and not again after a restart", async () => {
    const schedule = once("2026-03-01T01:00:00Z", { missed: "once" });
    const first = await away(schedule, "1m", "3h");
    expect(first.runs).toEqual(["03:01 a/x"]);
    await first.scheduler.stop();
    const second = first.again();
    await second.scheduler.start([agent("a", { x: schedule })]);
    await second.clock.advance("1h");
    expect(second.runs).toEqual([]);
  });
});

describe("grace", () => {
  it.each([
    ["cron, one second less than it", cron(HOURLY, { grace: "10m" }), "9m", 1, 0],
    ["cron, as late as it", cron(HOURLY, { grace: "9m" }), "9m", 0, 1],
    ["once, less than five minutes by default", once("2026-03-01T01:00:00Z"), "4m", 1, 0],
    ["once, five minutes by default", once("2026-03-01T01:00:00Z"), "5m", 0, 1],
    ["interval", every("1h", { grace: "10m", missed: "skip" }), "9m", 1, 0],
  ])("lets a late slot run that is not later: %s", async (_, schedule, late, count, missed) => {
    const { runs, state } = await away(schedule, "1m", `${59 + Number.parseInt(late)}m`);
    expect(runs).toHaveLength(count);
    expect((await state("a", "x")).missed_count ?? 0).toBe(missed);
  });

  it("does not change the source of a slot within it", async () => {
    const { jobs } = await away(cron(HOURLY, { grace: "10m" }), "1m", "65m");
    expect(jobs[0]).toMatchObject({ source: "baseline-cron", slot: "2026-03-01T01:00:00.000Z" });
  });
});

/** An agent with one job from 00:00 to `until`, beside which `x` comes due at 00:10. */
async function busy(x: AgentSchedule, until: string, options: SceneOptions = {}): Promise<Scene> {
  const stage: Scene = scene({
    work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep(until) : undefined),
    ...options,
  });
  await stage.scheduler.start([agent("a", { long: every("10d"), x })]);
  return stage;
}

describe("a slot that comes due while its agent is busy", () => {
  const at = "2026-03-01T00:10:00Z";

  it("waits by default, and runs when the agent is free: late, but not missed", async () => {
    const { clock, runs, jobs, events, state } = await busy(once(at), "70m");
    await clock.advance("70m");
    expect(runs).toEqual(["00:00 a/long", "01:10 a/x"]);
    expect(jobs[1]).toMatchObject({ source: "once", slot: "2026-03-01T00:10:00.000Z" });
    expect(events).toContain("skipped a/x at_capacity 00:10");
    expect(await state("a", "x")).not.toHaveProperty("missed_count");
  });

  it("is reported once, not at every pass", async () => {
    const { clock, events } = await busy(once(at), "70m");
    await clock.advance("60m");
    expect(events.filter((event) => event.startsWith("skipped"))).toEqual(["skipped a/x at_capacity 00:10"]);
  });

  it.each([
    ["a hint", (stage: Scene) => stage.scheduler.hint("a", "x", { interval: "1d" })],
    ["clearing hints", (stage: Scene) => stage.scheduler.clearHints("a", "x")],
    ["a resume of a schedule that is not paused", (stage: Scene) => stage.scheduler.resume("a", "x")],
    ["an enable of a schedule that is not disabled", (stage: Scene) => stage.scheduler.enable("a", "x")],
    [
      "new agents",
      async (stage: Scene) =>
        stage.scheduler.setAgents([
          agent("a", { long: every("10d"), x: cron("10 * * * *"), y: every("9d") }),
        ]),
    ],
  ])("is not missed, nor told again, after %s while it waits", async (_, change) => {
    const stage = await busy(cron("10 * * * *"), "40m");
    await stage.clock.advance("30m");
    await change(stage);
    await stage.clock.advance("10m");
    expect(stage.runs.slice(0, 2)).toEqual(["00:00 a/long", "00:40 a/x"]);
    expect(stage.events.filter((event) => event.startsWith("skipped a/x"))).toEqual([
      "skipped a/x at_capacity 00:10",
    ]);
  });

  it("that was late already when it was first seen is missed at once, not when the agent is free", async () => {
    const { clock, state } = await busy(once("2026-02-28T23:00:00Z"), "70m");
    await clock.advance("1m");
    expect(await state("a", "x")).toMatchObject({ missed_count: 1, next_run_at: null });
  });

  it("is dropped with `when_busy: skip`, and planned anew", async () => {
    const { clock, runs, plan, events, state } = await busy(cron("10 * * * *", { when_busy: "skip" }), "40m");
    await clock.advance("11m");
    expect(events).toContain("skipped a/x at_capacity 00:10");
    expect(await plan("a", "x")).toBe("01:10 baseline-cron");
    await clock.advance("1h");
    expect(runs).toEqual(["00:00 a/long", "01:10 a/x"]);
    expect(await state("a", "x")).toMatchObject({
      missed_count: 1,
      last_missed_at: "2026-03-01T00:10:00.000Z",
    });
  });

  it("runs in the order of the due times", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("1h") : undefined),
    });
    await stage.scheduler.start([
      agent("a", {
        long: every("10d"),
        third: once("2026-03-01T00:30:00Z"),
        first: once("2026-03-01T00:10:00Z"),
        second: once("2026-03-01T00:20:00Z"),
      }),
    ]);
    await stage.clock.advance("1h");
    expect(stage.runs.slice(1)).toEqual(["01:00 a/first", "01:00 a/second", "01:00 a/third"]);
  });
});

describe("the end of a pause", () => {
  it("that is a cron time runs that slot", async () => {
    const { scheduler, clock, runs, jobs } = scene();
    await scheduler.start([agent("a", { x: cron("0 9 * * *") })]);
    await scheduler.pause("a", "x", "2026-03-01T09:00:00Z");
    await clock.advance("9h");
    expect(runs).toEqual(["09:00 a/x"]);
    expect(jobs).toMatchObject([{ source: "baseline-cron", slot: "2026-03-01T09:00:00.000Z" }]);
  });

  it("while the agent is busy is the time to plan again, so that no slot after it is lost", async () => {
    const stage = await busy(cron("30 * * * *"), "40m");
    await stage.scheduler.pause("a", "x", "2026-03-01T00:10:00Z");
    await stage.clock.advance("15m");
    expect(await stage.plan("a", "x")).toBe("00:30 baseline-cron");
    await stage.clock.advance("25m");
    expect(stage.runs).toEqual(["00:00 a/long", "00:40 a/x"]);
  });
});

describe("a failed job", () => {
  const fails = { work: () => Promise.reject(new Error("boom")) };

  it("doubles the wait of an interval each time, by default", async () => {
    const { scheduler, clock, runs } = scene(fails);
    await scheduler.start([agent("a", { x: every("1m") })]);
    await clock.advance("16m");
    expect(runs).toEqual(["00:00 a/x", "00:02 a/x", "00:06 a/x", "00:14 a/x"]);
  });

  it("changes no cron times", async () => {
    const { scheduler, clock, runs } = scene(fails);
    await scheduler.start([agent("a", { x: cron("* * * * *") })]);
    await clock.advance("3m");
    expect(runs).toEqual(["00:01 a/x", "00:02 a/x", "00:03 a/x"]);
  });

  it("changes nothing with `on_failure: continue`", async () => {
    const { scheduler, clock, runs } = scene(fails);
    await scheduler.start([agent("a", { x: every("1m", { on_failure: "continue" }) })]);
    await clock.advance("3m");
    expect(runs).toEqual(["00:00 a/x", "00:01 a/x", "00:02 a/x", "00:03 a/x"]);
  });

  it.each([
    ["an interval", every("1m", { on_failure: "pause" }), "00:00 a/x", "01:01 a/x"],
    ["cron", cron("* * * * *", { on_failure: "pause" }), "00:01 a/x", "01:01 a/x"],
  ])(
    "pauses %s with `on_failure: pause` until it is resumed, then without backoff",
    async (_, x, ...runs) => {
      const stage = scene(fails);
      await stage.scheduler.start([agent("a", { x })]);
      await stage.clock.advance("1h");
      expect(stage.runs).toEqual(runs.slice(0, 1));
      expect(await stage.state("a", "x")).toMatchObject({
        failure_count: 1,
        last_error: "boom",
        next_run_source: "paused",
      });
      await stage.scheduler.resume("a", "x");
      await stage.clock.advance("5m");
      expect(stage.runs).toEqual(runs);
    },
  );

  it("keeps its pause over a restart", async () => {
    const x = every("1m", { on_failure: "pause" });
    const before = scene(fails);
    await before.scheduler.start([agent("a", { x })]);
    await before.clock.advance("1m");
    await before.scheduler.stop();
    const after = before.again();
    await after.scheduler.start([agent("a", { x })]);
    await after.clock.advance("1h");
    expect(after.runs).toEqual([]);
  });

  it("does not affect other schedules of its agent", async () => {
    const { scheduler, clock, runs } = scene({
      work: ({ scheduleName }) => (scheduleName === "bad" ? Promise.reject(new Error("boom")) : undefined),
    });
    await scheduler.start([agent("a", { bad: every("1m"), good: every("1m") }, { capacity: 2 })]);
    await clock.advance("2m");
    expect(runs.filter((run) => run.endsWith("good"))).toEqual([
      "00:00 a/good",
      "00:01 a/good",
      "00:02 a/good",
    ]);
  });
});

describe("a cancelled job", () => {
  it("does not count as a failure and causes no backoff", async () => {
    const stage: Scene = scene({ work: ({ signal }) => stage.clock.sleep("1h", signal) });
    await stage.scheduler.start([agent("a", { x: every("1m") })]);
    await stage.clock.advance("1s");
    expect(stage.scheduler.cancel(stage.jobs[0]?.id ?? "")).toBe(true);
    await stage.clock.advance(0);
    expect(stage.ended).toMatchObject([{ status: "cancelled" }]);
    expect(await stage.plan("a", "x")).toBe("00:01:01 baseline-interval");
    expect((await stage.state("a", "x")).failure_count ?? 0).toBe(0);
  });
});

describe("jitter", () => {
  /** When the second run of each of 200 agents is planned, in minutes from the first. */
  async function waits(options: SceneOptions, schedule: AgentSchedule): Promise<number[]> {
    const { scheduler, clock } = scene({ random: seededRandom(7), ...options });
    await scheduler.start(Array.from({ length: 200 }, (_, i) => agent(`a${i}`, { x: schedule })));
    await clock.advance(0);
    const statuses = await scheduler.getSchedules();
    return statuses.map(({ nextRunAt }) => ((nextRunAt?.getTime() ?? NaN) - Date.parse(START)) / 60_000);
  }

  it("lengthens the wait by up to its percent, by a different amount each time", async () => {
    const minutes = await waits({}, every("1h", { jitter: 5 }));
    expect(Math.min(...minutes)).toBeGreaterThanOrEqual(60);
    expect(Math.max(...minutes)).toBeLessThanOrEqual(63);
    expect(Math.max(...minutes) - Math.min(...minutes)).toBeGreaterThan(2);
  });

  it("is the fleet's jitterPercent for a schedule without one", async () => {
    const minutes = await waits({ jitterPercent: 10 }, every("1h"));
    expect(Math.max(...minutes)).toBeGreaterThan(65);
    expect(Math.max(...minutes)).toBeLessThanOrEqual(66);
  });

  it("is the schedule's own jitter if it has one", async () => {
    expect(new Set(await waits({ jitterPercent: 10 }, every("1h", { jitter: 0 })))).toEqual(new Set([60]));
  });

  it("is not drawn again at a restart, nor with new agents", async () => {
    const agents = [agent("a", { x: every("1h", { jitter: 10 }) })];
    const random = seededRandom(3);
    const before = scene({ random });
    await before.scheduler.start(agents);
    await before.clock.advance("1s");
    const planned = await before.plan("a", "x");
    before.scheduler.setAgents([...agents, agent("b", { x: every("1h", { jitter: 10 }) })]);
    await before.clock.advance("1s");
    expect(await before.plan("a", "x")).toBe(planned);
    await before.scheduler.stop();
    const after = before.again();
    await after.clock.advance("10m");
    await after.scheduler.start(agents);
    await after.clock.advance("1s");
    expect(await after.plan("a", "x")).toBe(planned);
  });
});

describe("anchor: start", () => {
  it.each([
    ["1s", "00:00:15"],
    ["20s", "00:00:35"],
    ["30s", "00:00:45"],
  ])(
    "counts 15s from the start, and from the end of a job of %s where that has passed",
    async (takes, next) => {
      const stage: Scene = scene({ work: () => stage.clock.sleep(takes) });
      await stage.scheduler.start([agent("a", { x: every("15s", { anchor: "start" }) })]);
      await stage.clock.advance("50s");
      expect(stage.runs[1]).toBe(`${next} a/x`);
    },
  );
});

describe("limits", () => {
  it("keep runs at least min_interval apart, and no further than max_interval", async () => {
    const { scheduler, clock, runs, jobs } = scene();
    await scheduler.start([
      agent("a", { x: every("10s", { min_interval: "60s" }) }),
      agent("b", { x: cron("0 0 1 1 *", { max_interval: "90s" }) }),
    ]);
    await clock.advance("3m");
    expect(runs).toEqual(["00:00 a/x", "00:01 a/x", "00:01:30 b/x", "00:02 a/x", "00:03 a/x", "00:03 b/x"]);
    expect(jobs.slice(1, 3)).toMatchObject([{ source: "clamped-min" }, { source: "clamped-max" }]);
  });
});

describe("the fleet's time zone", () => {
  it("is used for cron schedules without one", async () => {
    const { scheduler, plan } = scene({ timezone: "Asia/Tokyo" });
    const morning = "0 9 * * *";
    await scheduler.start([
      agent("a", {
        x: { type: "cron", expression: morning },
        y: cron(morning, { timezone: "Europe/Paris" }),
      }),
    ]);
    expect(await plan("a", "x")).toBe("2026-03-02 00:00 baseline-cron");
    expect(await plan("a", "y")).toBe("08:00 baseline-cron");
  });
});

describe("a cron job that runs over its next time", () => {
  it("says that the slot was skipped, and goes on with the one after it", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("90s") });
    await stage.scheduler.start([agent("a", { x: cron("* * * * *") })]);
    await stage.clock.advance("5m");
    expect(stage.runs).toEqual(["00:01 a/x", "00:03 a/x", "00:05 a/x"]);
    expect(stage.events.filter((event) => event.startsWith("skipped"))).toEqual([
      "skipped a/x already_running 00:02",
      "skipped a/x already_running 00:04",
    ]);
  });

  it("says nothing when it ends in time", async () => {
    const stage: Scene = scene({ work: () => stage.clock.sleep("59s") });
    await stage.scheduler.start([agent("a", { x: cron("* * * * *") })]);
    await stage.clock.advance("3m");
    expect(stage.runs).toHaveLength(3);
    expect(stage.events.filter((event) => event.startsWith("skipped"))).toEqual([]);
  });
});

describe("a job's record", () => {
  it("has its trigger, slot, source, attempt and prompt", async () => {
    const stage = scene({
      work: ({ scheduleState }) =>
        (scheduleState.failure_count ?? 0) < 2 ? Promise.reject(new Error("no")) : undefined,
    });
    await stage.scheduler.start([agent("a", { x: { ...every("1m"), prompt: "Sweep." } })]);
    await stage.clock.advance("8m");
    const common = { agent: "a", schedule: "x", trigger: "interval", prompt: "Sweep." };
    const expected = [
      { ...common, slot: START, source: "first-run", attempt: 1, status: "failed", error: "no" },
      {
        ...common,
        slot: "2026-03-01T00:02:00.000Z",
        source: "baseline-interval",
        attempt: 1,
        status: "failed",
      },
      { ...common, slot: "2026-03-01T00:06:00.000Z", attempt: 1, status: "completed", error: null },
      { ...common, slot: "2026-03-01T00:07:00.000Z", attempt: 1 },
    ];
    const kept = await stage.store.jobs.list();
    expect(kept.slice(-4).toReversed()).toMatchObject(expected);
  });
});

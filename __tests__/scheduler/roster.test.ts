/** Which agents and schedules there are: one that is wrong is left out, names are free, and changes come with the next pass. */
import { describe, expect, it } from "vitest";
import { type Agent, type AgentSchedule, FileStore } from "../../src/index.js";
import { Roster } from "../../src/scheduler/roster.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { agent, cron, every, gatedScene, scene } from "./scene.js";

const wrong = { type: "interval", interval: "banana" } as const;

describe("an invalid schedule that is to be skipped", () => {
  it("does not keep any other schedule from running", async () => {
    const { scheduler, clock, starts } = gatedScene({ onInvalid: "skip" });
    const schedules = { wrong, right: every("10s"), none: null as unknown as AgentSchedule };
    await scheduler.start([agent("a", schedules), agent("b", { work: every("10s") })]);
    await clock.advance("10s");
    expect(starts).toEqual(["a 00:00", "b 00:00", "a 00:00:10", "b 00:00:10"]);
  });

  it("is reported once, however many passes there are", async () => {
    const { scheduler, clock, troubles, lines } = gatedScene({ onInvalid: "skip" });
    await scheduler.start([agent("a", { wrong, right: every("10s") })]);
    await clock.advance("100s");
    expect(scheduler.getState().checkCount).toBeGreaterThanOrEqual(100);
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toMatch(/^Refused schedule a\/wrong: .*"banana"/);
    expect(lines.filter((line) => line.startsWith("error"))).toEqual(
      troubles.map((message) => `error: ${message}`),
    );
  });

  it("is reported when it is set, and runs after it was corrected", async () => {
    const { scheduler, clock, troubles, starts } = gatedScene({ onInvalid: "skip" });
    await scheduler.start([]);
    scheduler.setAgents([agent("a", { work: wrong })]);
    await clock.advance("5s");
    expect([troubles.length, starts]).toEqual([1, []]);
    scheduler.setAgents([agent("a")]);
    await clock.advance("5s");
    expect([troubles.length, starts]).toEqual([1, ["a 00:00:05"]]);
  });

  it("is not started by trigger, whose result has the reason", async () => {
    const { scheduler } = gatedScene({ onInvalid: "skip" });
    await scheduler.start([agent("a", { wrong })]);
    expect(await scheduler.trigger("a", "wrong")).toMatchObject({
      success: false,
      error: expect.stringContaining('"banana"') as string,
    });
  });

  it("is listed with its problem and without a next run", async () => {
    const { scheduler } = gatedScene({ onInvalid: "skip" });
    await scheduler.start([agent("a", { wrong })]);
    expect(await scheduler.getSchedules("a")).toMatchObject([
      { schedule: "wrong", nextRunAt: undefined, lastError: expect.stringContaining('"banana"') as string },
    ]);
  });

  it.each([
    ["", { "": every("1h") }],
    ["of 129 characters", { ["x".repeat(129)]: every("1h") }],
    ["of half a character", { "\uD800": every("1h") }],
  ])("by its name %s is left out", (_, schedules) => {
    const roster = new Roster([agent("a", schedules)]);
    expect(roster.definitions().schedules).toEqual([]);
    expect([...roster.problems()]).toHaveLength(1);
  });
});

const NAMES = [
  "constructor",
  "__proto__",
  "toString",
  "a/b",
  "a.b",
  "..",
  " ",
  "null",
  "ünïcödé 🐑",
  "x".repeat(128),
];

describe.each(NAMES)("the name %j", (name) => {
  it("is valid for agents and schedules", async () => {
    const { scheduler, clock, store } = gatedScene();
    const schedules = Object.fromEntries([[name, every("10s")]]);
    await scheduler.start([agent(name, schedules)]);
    await clock.advance("10s");
    expect(await store.jobs.list()).toMatchObject([
      { agent: name, schedule: name, status: "completed" },
      { agent: name, schedule: name, status: "completed" },
    ]);
    expect(scheduler.getRunningJobCount(name)).toBe(0);
    expect(await scheduler.getSchedules(name)).toMatchObject([
      { agent: name, schedule: name, status: "idle" },
    ]);
    expect(await scheduler.trigger(name)).toMatchObject({ success: true });
    await scheduler.pause(name, name);
    expect(await store.read({ agent: name, schedule: name })).toMatchObject({ next_run_source: "paused" });
  });

  it("that no agent has is unknown", async () => {
    const { scheduler } = gatedScene();
    await scheduler.start([agent("a")]);
    await expect(scheduler.pause(name)).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    await expect(scheduler.pause("a", name)).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    expect(await scheduler.trigger("a", name)).toMatchObject({ success: false });
    expect(scheduler.getRunningJobCount(name)).toBe(0);
  });
});

describe("names of all kinds", () => {
  it("are kept in the state file", async () => {
    const stateDir = stateDirectory();
    const store = new FileStore({ stateDir });
    const { scheduler } = scene({ store });
    const ended = new Set<string>();
    const all = new Promise<void>((resolve) => {
      scheduler.on("job:finished", ({ job }) => {
        if (ended.add(job.agent).size === NAMES.length) resolve();
      });
    });
    await scheduler.start(NAMES.map((name) => agent(name, Object.fromEntries([[name, every("1h")]]))));
    await all;
    await scheduler.stop();
    const reader = new FileStore({ stateDir });
    const states = await Promise.all(NAMES.map((name) => reader.read({ agent: name, schedule: name })));
    await reader.close();
    expect(states.map(({ next_run_at }) => next_run_at)).toEqual(NAMES.map(() => "2026-03-01T01:00:00.000Z"));
  });
});

describe("setAgents", () => {
  it("starts new schedules, keeps plans, and forgets removed schedules", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("kept", { work: every("10s") }), agent("gone", { work: every("10s") })]);
    await clock.advance("5s");
    scheduler.setAgents([agent("kept", { work: every("10s") }), agent("new", { work: every("10s") })]);
    await clock.advance("10s");
    expect(starts).toEqual(["kept 00:00", "gone 00:00", "new 00:00:05", "kept 00:00:10", "new 00:00:15"]);
  });

  it("uses the last of several calls", async () => {
    const { scheduler, starts, settle } = gatedScene();
    await scheduler.start([]);
    for (const name of ["a", "b", "c"]) scheduler.setAgents([agent(name)]);
    await settle();
    expect(starts).toEqual(["c 00:00"]);
  });

  it("works with an empty list, and from one", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("a", { work: every("10s") })]);
    await clock.advance("1s");
    scheduler.setAgents([]);
    await clock.advance("1m");
    expect(starts).toEqual(["a 00:00"]);
    scheduler.setAgents([agent("a", { work: every("10s") })]);
    await clock.advance("15s");
    expect(starts).toEqual(["a 00:00", "a 00:01:01", "a 00:01:11"]);
  });

  it("lowers a capacity under jobs that run: none starts until there is room", async () => {
    const { scheduler, clock, starts } = gatedScene();
    const schedules = { a: every("30s"), b: every("30s"), c: every("30s") };
    const many = (max: number): Agent =>
      agent("many", schedules, { capacity: max, run: () => clock.sleep("10s") });
    await scheduler.start([many(3)]);
    await clock.advance("5s");
    scheduler.setAgents([many(1)]);
    await clock.advance("30s");
    expect(starts).toHaveLength(3);
    await clock.advance("30s");
    expect(starts.slice(3)).toEqual(["many 00:00:40", "many 00:00:50", "many 00:01"]);
  });

  it("gives schedules the fleet's time zone and jitter, unless they have their own", async () => {
    const { scheduler } = gatedScene({ timezone: "Asia/Tokyo", jitterPercent: 10, random: () => 1 });
    const schedules: Record<string, AgentSchedule> = {
      tokyo: { type: "cron", expression: "0 12 * * *" },
      utc: cron("0 12 * * *"),
    };
    await scheduler.start([agent("a", schedules)]);
    expect((await scheduler.getSchedules()).map(({ nextRunAt }) => nextRunAt?.toISOString())).toEqual([
      "2026-03-01T03:00:00.000Z",
      "2026-03-01T12:00:00.000Z",
    ]);
  });
});

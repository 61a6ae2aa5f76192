/** How many jobs run at a time: per agent and over the whole herd, whoever starts them. */
import { describe, expect, it } from "vitest";
import { type Agent, MemoryStore } from "../../src/index.js";
import { agent, every, gate, once, scene, type Scene, type SceneOptions } from "./scene.js";

interface Crowd extends Scene {
  /** The most jobs that ever ran at once, per agent and together. */
  readonly most: Map<string, number>;
}

/** A scheduler whose jobs take ten minutes unless `work` says otherwise. */
function crowd(options: SceneOptions = {}): Crowd {
  const most = new Map<string, number>();
  const running = new Map<string, number>();
  const count = (name: string, by: number): void => {
    const now = (running.get(name) ?? 0) + by;
    running.set(name, now);
    most.set(name, Math.max(most.get(name) ?? 0, now));
  };
  const stage: Scene = scene({
    ...options,
    work: async (info) => {
      for (const name of ["all", info.agent.name]) count(name, 1);
      try {
        await (options.work === undefined ? stage.clock.sleep("10m") : options.work(info));
      } finally {
        for (const name of ["all", info.agent.name]) count(name, -1);
      }
    },
  });
  return { ...stage, most };
}

/** An agent with `count` schedules that are all due at once. */
const eager = (name: string, count: number, capacity?: number): Agent =>
  agent(name, Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, every("1d")])), {
    capacity,
  });

describe("an agent's capacity", () => {
  it("holds within one pass: of five due schedules three start, and the rest as capacity becomes free", async () => {
    const { scheduler, clock, runs, events, most } = crowd();
    await scheduler.start([eager("a", 5, 3)]);
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/s0", "00:00 a/s1", "00:00 a/s2"]);
    expect(events.filter((event) => event.startsWith("skipped"))).toEqual([
      "skipped a/s3 at_capacity 00:00",
      "skipped a/s4 at_capacity 00:00",
    ]);
    await clock.advance("9m");
    expect(runs.slice(3)).toEqual(["00:10 a/s3", "00:10 a/s4"]);
    expect(most.get("a")).toBe(3);
  });

  it("is 1 by default", async () => {
    const { scheduler, clock, most, runs } = crowd();
    const { instances: _, ...plain } = eager("a", 3);
    await scheduler.start([plain]);
    await clock.advance("25m");
    expect(runs).toEqual(["00:00 a/s0", "00:10 a/s1", "00:20 a/s2"]);
    expect(most.get("a")).toBe(1);
  });

  it("is counted for each agent separately", async () => {
    const { scheduler, clock, runs } = crowd();
    await scheduler.start([eager("a", 2), eager("b", 2)]);
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/s0", "00:00 b/s0"]);
  });

  it("holds for trigger, which returns at_capacity", async () => {
    const { scheduler, clock } = crowd();
    await scheduler.start([eager("a", 3, 2)]);
    await clock.advance("1m");
    expect(await scheduler.trigger("a", "s2")).toEqual({
      success: false,
      skipped: true,
      skipReason: "at_capacity",
    });
  });

  it("holds when many are triggered at once", async () => {
    const { scheduler, clock, most } = crowd();
    const late = Object.fromEntries(
      Array.from({ length: 6 }, (_, i) => [`s${i}`, once("2026-03-09T00:00:00Z")]),
    );
    await scheduler.start([agent("a", late, { capacity: 2 })]);
    const results = await Promise.all(Object.keys(late).map((name) => scheduler.trigger("a", name)));
    await clock.advance("1m");
    expect(results.filter(({ success }) => success)).toHaveLength(2);
    expect(results.filter(({ skipReason }) => skipReason === "at_capacity")).toHaveLength(4);
    expect(most.get("a")).toBe(2);
  });

  it("lowered while jobs run lets them continue, and starts nothing before there is capacity again", async () => {
    const { scheduler, clock, runs } = crowd({
      work: ({ scheduleName }) => clock.sleep(`${10 * (1 + Number(scheduleName.slice(1)))}m`),
    });
    await scheduler.start([eager("a", 5, 3)]);
    await clock.advance("1m");
    scheduler.setAgents([eager("a", 5, 1)]);
    await clock.advance("1m");
    expect(scheduler.getRunningJobCount("a")).toBe(3);
    // s0 ends at 10, s1 at 20: two places are gone for good. s2 ends at 30.
    await clock.advance("27m");
    expect(runs).toHaveLength(3);
    await clock.advance("2m");
    expect(runs.slice(3)).toEqual(["00:30 a/s3"]);
  });

  it("raised again takes effect at the next pass", async () => {
    const { scheduler, clock, runs } = crowd();
    await scheduler.start([eager("a", 4, 1)]);
    await clock.advance("1m");
    scheduler.setAgents([eager("a", 4, 3)]);
    await clock.advance("1s");
    expect(runs).toEqual(["00:00 a/s0", "00:01 a/s1", "00:01 a/s2"]);
  });

  it("counts the jobs of an agent that was removed and comes back", async () => {
    const { scheduler, clock, runs, most } = crowd();
    await scheduler.start([eager("a", 2)]);
    await clock.advance("1m");
    scheduler.setAgents([]);
    await clock.advance("1m");
    scheduler.setAgents([eager("a", 2)]);
    await clock.advance("7m");
    expect(runs).toEqual(["00:00 a/s0"]);
    await clock.advance("2m");
    expect(runs).toEqual(["00:00 a/s0", "00:10 a/s1"]);
    expect(most.get("a")).toBe(1);
  });
});

describe("the herd's maxConcurrent", () => {
  it("holds over all agents, the oldest slot first", async () => {
    const { scheduler, clock, runs, most } = crowd({ maxConcurrent: 2 });
    await scheduler.start(["a", "b", "c", "d", "e"].map((name) => eager(name, 1)));
    await clock.advance("25m");
    expect(runs).toEqual(["00:00 a/s0", "00:00 b/s0", "00:10 c/s0", "00:10 d/s0", "00:20 e/s0"]);
    expect(most.get("all")).toBe(2);
  });

  it("holds for trigger, which returns at_capacity", async () => {
    const { scheduler, clock } = crowd({ maxConcurrent: 1 });
    await scheduler.start([eager("a", 1), agent("b", { x: once("2026-03-09T00:00:00Z") })]);
    await clock.advance("1m");
    expect(await scheduler.trigger("b")).toMatchObject({ skipped: true, skipReason: "at_capacity" });
  });

  it("holds for a trigger while a pass writes its claims", async () => {
    const door = gate();
    class SlowStore extends MemoryStore {
      override async claimDue(limit: number): ReturnType<MemoryStore["claimDue"]> {
        const due = await super.claimDue(limit);
        if (due.claims.length > 0) await door.pass();
        return due;
      }
    }
    const stage = crowd({ maxConcurrent: 1, store: new SlowStore() });
    await stage.scheduler.start([eager("a", 1), agent("b", { x: once("2026-03-09T00:00:00Z") })]);
    await door.reached;
    const triggered = stage.scheduler.trigger("b");
    await stage.clock.advance("1m");
    door.open();
    expect(await triggered).toMatchObject({ skipReason: "at_capacity" });
    await stage.clock.advance("1m");
    expect(stage.most.get("all")).toBe(1);
  });

  it("holds for a pass while a trigger writes its claim", async () => {
    const door = gate();
    class SlowStore extends MemoryStore {
      override async claim(key: Parameters<MemoryStore["claim"]>[0]): ReturnType<MemoryStore["claim"]> {
        await door.pass();
        return super.claim(key);
      }
    }
    const stage = crowd({ maxConcurrent: 1, store: new SlowStore() });
    const at = once("2026-03-01T00:05:00Z");
    await stage.scheduler.start([agent("a", { x: at }), agent("b", { x: once("2026-03-09T00:00:00Z") })]);
    const triggered = stage.scheduler.trigger("b");
    await door.reached;
    await stage.clock.advance("6m");
    door.open();
    expect(await triggered).toMatchObject({ success: true });
    await stage.clock.advance("1m");
    expect(stage.runs).toEqual(["00:06 b/x"]);
    await stage.clock.advance("10m");
    expect(stage.runs).toEqual(["00:06 b/x", "00:16 a/x"]);
  });
});

describe("the counts of running jobs", () => {
  it.each([
    ["success", () => {}],
    ["a rejection", () => Promise.reject(new Error("boom"))],
    [
      "a throw",
      () => {
        throw new Error("boom");
      },
    ],
  ])("are back at zero after %s", async (_, ending) => {
    const door = gate();
    const { scheduler, clock } = crowd({ work: () => door.pass().then(ending) });
    await scheduler.start([eager("a", 3, 2), eager("b", 1)]);
    await clock.advance("1s");
    const counts = (): number[] => [
      scheduler.getRunningJobCount("a"),
      scheduler.getRunningJobCount("b"),
      scheduler.getTotalRunningJobCount(),
    ];
    expect(counts()).toEqual([2, 1, 3]);
    door.open();
    await clock.advance("1s");
    expect(counts()).toEqual([0, 0, 0]);
  });

  it("are back at zero after a cancellation, and the place is free", async () => {
    const stage = crowd({ work: ({ signal }) => stage.clock.sleep("1h", signal) });
    await stage.scheduler.start([eager("a", 2)]);
    await stage.clock.advance("1s");
    stage.scheduler.cancel(stage.jobs[0]?.id ?? "");
    await stage.clock.advance("1s");
    expect(stage.runs).toEqual(["00:00 a/s0", "00:00:01 a/s1"]);
    stage.scheduler.cancel(stage.jobs[1]?.id ?? "");
    await stage.clock.advance("1s");
    expect(stage.scheduler.getTotalRunningJobCount()).toBe(0);
    expect(stage.scheduler.cancel(stage.jobs[1]?.id ?? "")).toBe(false);
  });
});

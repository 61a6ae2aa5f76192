/** Jobs that outlast a stop, a lease, or a machine's sleep: their claims stay theirs and their results are kept. */
import { describe, expect, it } from "vitest";
import { type Agent, FakeClock, type JobRecord, MemoryStore, Scheduler } from "../../../src/index.js";
import { agent, every, gatedScene, type GatedScene, HOURLY } from "../scene.js";
import { watch } from "../../watched-promise.js";

const WORK = { agent: "a", schedule: "work" };

interface Run {
  readonly scene: GatedScene;
  readonly agents: readonly Agent[];
  readonly running: { now: number; most: number };
}

/** An agent "a" whose job takes ten minutes and does not listen to its signal. */
function tenMinutes(options: Parameters<typeof gatedScene>[0] = {}, minutes = 10): Run {
  const scene = gatedScene(options);
  const running = { now: 0, most: 0 };
  const run = async (): Promise<string> => {
    running.most = Math.max(running.most, ++running.now);
    await scene.clock.sleep(`${minutes}m`);
    running.now--;
    return "done";
  };
  return { scene, agents: [agent("a", { work: every("1h") }, { run })], running };
}

async function timedOut({ scheduler, clock }: GatedScene): Promise<void> {
  const stop = watch(scheduler.stop({ timeout: 5_000 }));
  await clock.advance("5s");
  expect(stop.state).toBe("rejected");
}

describe("a job that outlasts a stop", () => {
  it("is recorded when it ends, with its next plan", async () => {
    const { scene, agents } = tenMinutes();
    const { scheduler, clock, store, troubles } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    await clock.advance("10m");
    expect(await store.jobs.list()).toMatchObject([
      { status: "completed", summary: "done", duration_ms: 600_000, finished_at: "2026-03-01T00:10:00.000Z" },
    ]);
    expect(await store.read(WORK)).toMatchObject({
      status: "idle",
      last_run_at: "2026-03-01T00:00:00.000Z",
      last_completed_at: "2026-03-01T00:10:00.000Z",
      next_run_at: "2026-03-01T01:10:00.000Z",
      next_run_source: "baseline-interval",
      failure_count: 0,
    });
    expect((await store.read(WORK)).claim ?? null).toBeNull();
    expect(troubles).toEqual([]);
  });

  it("keeps the store open until it has ended", async () => {
    const { scene, agents } = tenMinutes();
    const { scheduler, clock, store } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    await clock.advance("8m");
    expect(store.count("close")).toBe(0);
    await clock.advance("1m");
    expect([store.count("close"), store.listenerCount, clock.sleeping]).toEqual([1, 0, 0]);
  });

  it("is still counted, and can be cancelled", async () => {
    const scene = gatedScene();
    const { scheduler, clock, store, settle } = scene;
    const ids: string[] = [];
    scheduler.on("job:started", ({ job }) => ids.push(job.id));
    const run: Agent["run"] = ({ signal }) =>
      new Promise((_, reject) => {
        // It takes a second word.
        let words = 0;
        signal.addEventListener("abort", () => words++);
        void clock.sleep("1m").then(() => reject(new Error(`${words} abort`)));
      });
    await scheduler.start([agent("a", HOURLY, { run })]);
    await clock.advance("1s");
    await timedOut(scene);
    expect([scheduler.getTotalRunningJobCount(), scheduler.getRunningJobCount("a")]).toEqual([1, 1]);
    expect(ids.map((id) => scheduler.cancel(id))).toEqual([true]);
    await clock.advance("1m");
    await settle();
    expect(await store.jobs.list()).toMatchObject([{ status: "cancelled", error: "1 abort" }]);
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
  });

  it("is not started again by a start meanwhile, until it has ended", async () => {
    const { scene, agents, running } = tenMinutes();
    const { scheduler, clock, starts, store } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    await scheduler.start(agents);
    await clock.advance("1h");
    expect([starts, running.most]).toEqual([["a 00:00"], 1]);
    expect(store.count("open")).toBe(1);
    await clock.advance("10m");
    expect(starts).toEqual(["a 00:00", "a 01:10"]);
  });

  it("does not keep a start meanwhile from running other schedules", async () => {
    const { scene, agents } = tenMinutes();
    const { scheduler, clock, starts } = scene;
    await scheduler.start(agents);
    await clock.advance("55s");
    await timedOut(scene);
    await scheduler.start([...agents, agent("b")]);
    await clock.advance("1s");
    expect(starts).toEqual(["a 00:00", "b 00:01"]);
    expect(scheduler.getState().triggerCount).toBe(1);
  });

  it("is waited for by the next stop", async () => {
    const { scene, agents } = tenMinutes();
    const { scheduler, clock, store } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    const stop = watch(scheduler.stop({ timeout: 3_600_000 }));
    await clock.advance("8m");
    expect(stop.state).toBe("pending");
    await clock.advance("1m");
    expect([stop.state, store.count("close"), clock.sleeping]).toEqual(["fulfilled", 1, 0]);
  });

  it("is recorded although the write fails at first", async () => {
    const { scene, agents } = tenMinutes();
    const { scheduler, clock, store, troubles } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    store.fail("finishJobs", new Error("the disk is gone"), 5);
    await clock.advance("10m");
    expect(await store.read(WORK)).toMatchObject({ status: "idle", next_run_at: "2026-03-01T01:10:00.000Z" });
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
    expect(troubles).toEqual(["Could not record the end of a job of a/work: the disk is gone"]);
    expect([store.count("close"), clock.sleeping]).toEqual([1, 0]);
  });
});

describe("a claim", () => {
  it.each([{ checkInterval: 1_000 }, { checkInterval: 60_000 }])(
    "of 30 s lasts for a job of ten minutes, looking every $checkInterval ms",
    async ({ checkInterval }) => {
      const { scene, agents, running } = tenMinutes({ checkInterval, leaseMs: 30_000 });
      const { scheduler, clock, starts, store, lines } = scene;
      await scheduler.start(agents);
      for (let i = 0; i < 10; i++) {
        await clock.advance("59s");
        // Whoever else may claim finds nothing to claim.
        expect((await store.claimDue(10)).claims).toEqual([]);
      }
      await clock.advance("30s");
      expect([starts, running.most]).toEqual([["a 00:00"], 1]);
      expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
      expect(lines.filter((line) => line.startsWith("warn"))).toEqual([]);
    },
  );

  it("is renewed also while its job outlasts a stop", async () => {
    const { scene, agents } = tenMinutes({ checkInterval: 60_000, leaseMs: 30_000 });
    const { scheduler, clock, store } = scene;
    await scheduler.start(agents);
    await clock.advance("1m");
    await timedOut(scene);
    for (let i = 0; i < 8; i++) {
      await clock.advance("59s");
      expect((await store.claimDue(10)).claims).toEqual([]);
    }
    await clock.advance("2m");
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
    expect(await store.read(WORK)).toMatchObject({ status: "idle", failure_count: 0 });
  });

  it.each(["claimDue", "define", "renew"] as const)(
    "is kept although a store that hung in %s for 120 s let its lease end",
    async (call) => {
      const { scene, agents, running } = tenMinutes({ leaseMs: 30_000 });
      const { scheduler, clock, starts, store } = scene;
      await scheduler.start(agents);
      await clock.advance("1m");
      const gate = store.hold(call);
      scheduler.setAgents(agents);
      for (let i = 0; i < 120; i++) await clock.advance("1s");
      gate.open();
      await clock.advance("5m");
      expect([starts, running]).toEqual([["a 00:00"], { now: 1, most: 1 }]);
      await clock.advance("30m");
      expect(starts).toEqual(["a 00:00"]);
      expect(await store.read(WORK)).toMatchObject({
        status: "idle",
        last_completed_at: "2026-03-01T00:10:00.000Z",
        next_run_at: "2026-03-01T01:10:00.000Z",
      });
      expect(scheduler.getTotalRunningJobCount()).toBe(0);
      await scheduler.stop();
      expect(clock.sleeping).toBe(0);
    },
  );

  it("is kept although its lease ended while the result of its job could not be written", async () => {
    const { scene, agents, running } = tenMinutes({ leaseMs: 30_000 });
    const { scheduler, clock, starts, store } = scene;
    await scheduler.start(agents);
    await clock.advance("9m");
    store.fail("finishJobs", new Error("the disk is gone"), 150);
    const gate = store.hold("claimDue");
    for (let i = 0; i < 180; i++) await clock.advance("1s");
    gate.open();
    await clock.advance("10m");
    expect([starts, running.most]).toEqual([["a 00:00"], 1]);
    expect(await store.read(WORK)).toMatchObject({ status: "idle", next_run_at: "2026-03-01T01:10:00.000Z" });
    await scheduler.stop();
    expect([clock.sleeping, scheduler.getTotalRunningJobCount()]).toEqual([0, 0]);
  });

  it("that comes while the result of the last job is being written starts a new job", async () => {
    const scene = gatedScene({ leaseMs: 30_000 });
    const { scheduler, clock, starts, store } = scene;
    const gate = store.hold("finishJobs", "after");
    await scheduler.start([agent("a", { work: every("10s") }, { run: () => clock.sleep("1s") })]);
    await clock.advance("1s");
    await gate.reached;
    await clock.advance("10s");
    expect([starts, scheduler.getRunningJobCount("a")]).toEqual([["a 00:00", "a 00:00:11"], 1]);
    gate.open();
    await clock.advance(500);
    expect(scheduler.getRunningJobCount("a")).toBe(1);
    await clock.advance("10s");
    expect(scheduler.getRunningJobCount("a")).toBe(0);
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }, { status: "completed" }]);
  });
});

describe("a job that ignores its timeout", () => {
  it.each([
    ["its agent's", { timeout: "1m" }, {}],
    ["its schedule's", { timeout: "1h" }, { timeout: 60_000 }],
  ])(
    "is recorded as timeout when %s is over, its place is free, and its late result is dropped",
    async (_, mine, its) => {
      const clock = new FakeClock("2026-03-01T00:00:00Z");
      const store = new MemoryStore();
      const lines: string[] = [];
      const note = (line: string): unknown => lines.push(line);
      const scheduler = new Scheduler({ store, clock, logger: { info: note, warn: note, error: note } });
      const ended: JobRecord[] = [];
      scheduler.on("job:finished", ({ job }) => void ended.push(job));
      let starts = 0;
      const run = (): unknown => (++starts === 1 ? clock.sleep("30m") : "done");
      const x = { type: "interval", interval: "5m", ...its } as const;
      await scheduler.start([{ name: "stubborn", schedules: { x }, run, ...mine }]);
      await clock.advance("71s");
      expect(ended).toMatchObject([
        { status: "timeout", error: expect.stringContaining("Timed out after 60000 ms") as string },
      ]);
      expect(scheduler.getTotalRunningJobCount()).toBe(0);
      await clock.advance("40m");
      expect(ended.filter(({ status }) => status === "timeout")).toHaveLength(1);
      expect(ended.at(-1)).toMatchObject({ status: "completed", summary: "done" });
      expect(lines.filter((line) => line.includes("its result is ignored"))).toHaveLength(1);
      await scheduler.stop();
    },
  );
});

/** Whenever `stop` is called, and whether it waits for jobs or not: nothing starts, nothing is left, nothing runs twice. */
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/index.js";
import { agent, cron, every, gatedScene, type GatedScene } from "./scene.js";
import { watch, type Watched } from "../watched-promise.js";

interface Stage extends GatedScene {
  readonly agents: readonly Agent[];
  /** How many jobs of "slow" ran at the same time, at most. */
  readonly overlap: { most: number };
}

/** "slow" is due at once and runs for 10 s whatever happens; "daily" is due after an hour, when all is over. */
function stage(): Stage {
  const scene = gatedScene();
  const { clock } = scene;
  const overlap = { most: 0 };
  let running = 0;
  const run = async (): Promise<void> => {
    running++;
    overlap.most = Math.max(overlap.most, running);
    await clock.sleep("10s");
    running--;
  };
  const agents = [
    agent("slow", { work: every("10h") }, { run }),
    agent("daily", { work: cron("0 1 * * *") }),
  ];
  return { ...scene, agents, overlap };
}

interface Moment {
  readonly name: string;
  /** Brings the scheduler there, and answers what goes on once `stop` was called. */
  readonly arrive: (scene: Stage) => Promise<() => void>;
}

const onward = (): void => {};

async function started({ scheduler, agents, clock }: Stage, ms = 1_000): Promise<() => void> {
  await scheduler.start(agents);
  await clock.advance(ms);
  return onward;
}

async function startedUpTo(scene: Stage, ...hold: Parameters<Stage["store"]["hold"]>): Promise<() => void> {
  const gate = scene.store.hold(...hold);
  watch(scene.scheduler.start(scene.agents));
  await gate.reached;
  return () => gate.open();
}

async function timedOutAt(scene: Stage, ...hold: Parameters<Stage["store"]["hold"]>): Promise<() => void> {
  const goOn = await startedUpTo(scene, ...hold);
  const stop = watch(scene.scheduler.stop({ timeout: 100 }));
  await scene.clock.advance(100);
  expect(stop.state).toBe("rejected");
  return goOn;
}

const MOMENTS: readonly Moment[] = [
  { name: "before start", arrive: async () => onward },
  { name: "while start opens the store", arrive: (scene) => startedUpTo(scene, "open") },
  { name: "while start defines the schedules", arrive: (scene) => startedUpTo(scene, "define", "after") },
  { name: "while start writes the first plans", arrive: (scene) => startedUpTo(scene, "updateAll") },
  {
    name: "while start writes the first plans one by one",
    arrive: (scene) => {
      scene.store.fail("updateAll", new Error("too large"));
      return startedUpTo(scene, "update");
    },
  },
  { name: "before a claim is written", arrive: (scene) => startedUpTo(scene, "claimDue") },
  { name: "while a claim is being written", arrive: (scene) => startedUpTo(scene, "claimDue", "after") },
  { name: "while the start of a job is being logged", arrive: (scene) => startedUpTo(scene, "startJobs") },
  { name: "while a job runs", arrive: (scene) => started(scene) },
  {
    name: "while a job's result is being written",
    arrive: async (scene) => {
      const gate = scene.store.hold("finishJobs");
      await started(scene, 11_000);
      await gate.reached;
      return () => gate.open();
    },
  },
  {
    name: "while a job's record is being closed",
    arrive: async (scene) => {
      const gate = scene.store.hold("closeRecords", "after");
      await started(scene, 11_000);
      await gate.reached;
      return () => gate.open();
    },
  },
  { name: "while the loop sleeps", arrive: (scene) => started(scene, 20_000) },
  {
    name: "while its schedules are paused",
    arrive: async (scene) => {
      await started(scene, 20_000);
      await scene.scheduler.pause("slow");
      return onward;
    },
  },
  {
    name: "while a job is triggered",
    arrive: async (scene) => {
      const gate = scene.store.hold("claim", "after");
      await started(scene, 20_000);
      watch(scene.scheduler.trigger("daily"));
      await gate.reached;
      return () => gate.open();
    },
  },
  {
    name: "when stop has been called already",
    arrive: async (scene) => {
      await started(scene);
      watch(scene.scheduler.stop());
      return onward;
    },
  },
  {
    name: "after a stop that did not wait",
    arrive: async (scene) => {
      await started(scene);
      await scene.scheduler.stop({ waitForJobs: false });
      return onward;
    },
  },
  {
    name: "after a stop that timed out while start opened the store",
    arrive: (scene) => timedOutAt(scene, "open"),
  },
  {
    name: "after a stop that timed out while a claim was being written",
    arrive: (scene) => timedOutAt(scene, "claimDue", "after"),
  },
  {
    name: "after a stop that timed out",
    arrive: async (scene) => {
      await started(scene);
      const stop = watch(scene.scheduler.stop({ timeout: 100 }));
      await scene.clock.advance(100);
      expect(stop.state).toBe("rejected");
      return onward;
    },
  },
];

const CASES = MOMENTS.flatMap(({ name, arrive }) =>
  [true, false].map((waitForJobs) => ({ name, arrive, waitForJobs })),
);

/** Stops at the moment, and lets 20 s pass: by then every job has ended. */
async function stopAt({ arrive, waitForJobs }: Moment & { waitForJobs: boolean }): Promise<{
  readonly scene: Stage;
  readonly stop: Watched;
  readonly startsBefore: readonly string[];
}> {
  const scene = stage();
  const goOn = await arrive(scene);
  const startsBefore = [...scene.starts];
  const stop = watch(scene.scheduler.stop({ waitForJobs }));
  await scene.settle();
  goOn();
  await scene.clock.advance("20s");
  return { scene, stop, startsBefore };
}

describe.each(CASES)("stop $name, waiting for jobs: $waitForJobs,", (moment) => {
  it("resolves", async () => {
    const { stop, scene } = await stopAt(moment);
    expect(stop).toEqual({ state: "fulfilled" });
    expect(scene.scheduler.getStatus()).toBe("stopped");
  });

  it("starts no job afterwards", async () => {
    const { scene, startsBefore } = await stopAt(moment);
    await scene.clock.advance("2h");
    expect(scene.starts).toEqual(startsBefore);
  });

  it("leaves no timer, no listener and no open store", async () => {
    const { scene } = await stopAt(moment);
    const { clock, store, scheduler } = scene;
    expect([clock.sleeping, store.listenerCount, scheduler.getTotalRunningJobCount()]).toEqual([0, 0, 0]);
    expect(store.count("close")).toBe(store.count("open"));
  });

  it("logs no error", async () => {
    const { scene } = await stopAt(moment);
    expect(scene.troubles).toEqual([]);
    expect(scene.lines.filter((line) => line.startsWith("warn"))).toEqual([]);
  });

  it("lets a later start run what is due, each slot once", async () => {
    const { scene } = await stopAt(moment);
    await scene.clock.advance("2h");
    await scene.scheduler.start(scene.agents);
    await scene.clock.advance("1h");
    expect(scene.starts.map((start) => start.split(" ")[0])).toEqual(["slow"]);
    expect(scene.store.listenerCount).toBe(1);
    expect(scene.scheduler.getState()).toMatchObject({ status: "running" });
  });

  it("lets a start right afterwards run what is due, each slot once", async () => {
    const scene = stage();
    const goOn = await moment.arrive(scene);
    const stop = watch(scene.scheduler.stop({ waitForJobs: moment.waitForJobs }));
    await scene.settle();
    goOn();
    for (let ms = 0; ms < 12_000 && stop.state === "pending"; ms += 500) await scene.clock.advance(500);
    await scene.scheduler.start(scene.agents);
    await scene.clock.advance("30m");
    expect(scene.starts.map((start) => start.split(" ")[0])).toEqual(["slow"]);
    expect(scene.overlap.most).toBe(1);
    expect(await scene.store.read({ agent: "slow", schedule: "work" })).toMatchObject({ status: "idle" });
  });
});

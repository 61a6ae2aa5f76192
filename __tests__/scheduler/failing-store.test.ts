/** The state cannot be written for a while: nothing is wedged, nothing lost, and it is told once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  FakeClock,
  FileStore,
  MemoryStore,
  type ScheduleKey,
  type ScheduleState,
  type StateStore,
} from "../../src/index.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { GatedStore, type StoreCall } from "./gated-store.js";
import { agent, cron, every, gate, once, scene, type Scene, type SceneOptions, START } from "./scene.js";

interface Flaky extends Scene {
  /** The calls of the store that fail. */
  readonly broken: Set<StoreCall>;
}

function onFlakyStore(options: SceneOptions = {}): Flaky {
  const store = new GatedStore();
  return { ...scene({ ...options, store }), broken: store.broken };
}

describe("a store that cannot claim for a while", () => {
  it("delays only what is due, and is reported once for each time that it fails", async () => {
    const { scheduler, clock, runs, errors, broken } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1m");
    broken.add("claimDue");
    await clock.advance("5m");
    expect(runs).toHaveLength(1);
    expect(errors).toEqual(["Error during schedule check: disk full at claimDue"]);
    broken.clear();
    await clock.advance("6m");
    expect(runs).toEqual(["00:00 a/x", "00:06:01 a/x", "00:11:01 a/x"]);
    broken.add("claimDue");
    await clock.advance("5m");
    expect(errors).toHaveLength(2);
  });

  it("does not make a cron slot late that was seen in time", async () => {
    class Unwritable extends MemoryStore {
      isBroken = false;
      protected override async commit(operation: Parameters<MemoryStore["commit"]>[0]): Promise<void> {
        if (this.isBroken) throw new Error("disk full");
        await super.commit(operation);
      }
    }
    const store = new Unwritable();
    const { scheduler, clock, jobs, state } = scene({ store });
    await scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await clock.advance("59m");
    store.isBroken = true;
    await clock.advance("10m");
    store.isBroken = false;
    await clock.advance("1s");
    expect(jobs).toMatchObject([{ source: "baseline-cron", slot: "2026-03-01T01:00:00.000Z" }]);
    expect((await state("a", "x")).missed_count ?? 0).toBe(0);
  });
});

describe("a store that cannot record the end of a job for a while", () => {
  it.each(["finishJobs", "closeRecords"] as const)(
    "counts the job as unrecorded until it can: %s",
    async (call) => {
      const clock = new FakeClock(START);
      const { scheduler, broken } = onFlakyStore({ clock, work: () => clock.sleep("1s") });
      const { unrecordedJobCount: before } = scheduler.getState();
      await scheduler.start([agent("a", { x: every("5m") }), agent("b", { x: every("5m") })]);
      broken.add(call);
      const whileRunning = scheduler.getState().unrecordedJobCount;
      await clock.advance("10s");
      const whileBroken = scheduler.getState().unrecordedJobCount;
      broken.clear();
      await clock.advance("10s");
      const after = scheduler.getState().unrecordedJobCount;
      expect([before, whileRunning, whileBroken, after]).toEqual([0, 0, 2, 0]);
    },
  );

  it.each(["finishJobs", "closeRecords"] as const)(
    "counts the job as unrecorded after it was given up at a stop: %s",
    async (call) => {
      const clock = new FakeClock(START);
      const { scheduler, broken } = onFlakyStore({ clock, work: () => clock.sleep("1s") });
      await scheduler.start([agent("a", { x: every("5m") })]);
      await clock.advance(500);
      broken.add(call);
      const stopping = scheduler.stop({ timeout: Infinity });
      await clock.advance("1m");
      await stopping;
      expect(scheduler.getState().unrecordedJobCount).toBe(1);
    },
  );

  it("is called until it can: the outcome stays, the failure is reported once, and the schedule continues", async () => {
    const { scheduler, clock, runs, errors, broken, state, plan, ended } = onFlakyStore({
      work: () => Promise.reject(new Error("boom")),
    });
    await scheduler.start([agent("a", { x: every("5m") })]);
    broken.add("finishJobs");
    await clock.advance("1m");
    expect(errors).toEqual([expect.stringContaining("disk full at finishJobs")]);
    expect(scheduler.getRunningJobCount("a")).toBe(1);
    broken.clear();
    await clock.advance("1s");
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
    expect(await state("a", "x")).toMatchObject({
      status: "idle",
      failure_count: 1,
      last_error: "boom",
      last_completed_at: START,
    });
    expect(ended).toMatchObject([{ status: "failed", finished_at: START }]);
    expect(await plan("a", "x")).toBe("00:10 baseline-interval");
    await clock.advance("10m");
    expect(runs).toEqual(["00:00 a/x", "00:10 a/x"]);
  });

  it("keeps the capacity of its agent in use meanwhile, and no other agent waits", async () => {
    const { scheduler, clock, runs, broken } = onFlakyStore();
    await scheduler.start([
      agent("a", { x: every("1d"), y: every("1d") }),
      agent("b", { x: once("2026-03-01T00:01:00Z") }),
    ]);
    broken.add("finishJobs");
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/x", "00:01 b/x"]);
    broken.clear();
    await clock.advance("2s");
    expect(runs).toContain("00:01:01 a/y");
  });

  it("drops a missed slot as soon as it can", async () => {
    const { scheduler, clock, broken, errors, state } = onFlakyStore();
    broken.add("finishJobs");
    await scheduler.start([agent("a", { x: once("2026-02-01T00:00:00Z") })]);
    await clock.advance("10s");
    expect(errors).toHaveLength(1);
    broken.clear();
    await clock.advance("2s");
    expect(await state("a", "x")).toMatchObject({ status: "idle", missed_count: 1, next_run_at: null });
  });
});

describe("a job log that cannot be written for a while", () => {
  it.each(["startJobs", "closeRecords"] as const)(
    "stops no job and no schedule, and records everything in the end: %s",
    async (call) => {
      const { scheduler, clock, runs, errors, warnings, broken, store, ended } = onFlakyStore({
        maxConcurrent: 1,
      });
      await scheduler.start([agent("a", { x: every("1m") })]);
      broken.add(call);
      await clock.advance("130s");
      expect(runs).toEqual(["00:00 a/x", "00:01 a/x", "00:02 a/x"]);
      expect(ended).toHaveLength(call === "startJobs" ? 3 : 0);
      expect(errors.length > 0).toBe(call === "closeRecords");
      broken.clear();
      await clock.advance("2s");
      const records = await store.jobs.list();
      expect(records.map(({ status, finished_at }) => [status, finished_at])).toEqual([
        ["completed", "2026-03-01T00:02:00.000Z"],
        ["completed", "2026-03-01T00:01:00.000Z"],
        ["completed", START],
      ]);
      expect(ended).toHaveLength(3);
      expect(warnings).toEqual([]);
      expect(scheduler.getTotalRunningJobCount()).toBe(0);
    },
  );

  it("is reported once for each job", async () => {
    const { scheduler, clock, errors, broken } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("1h") })]);
    broken.add("closeRecords");
    await clock.advance("10m");
    expect(errors).toEqual([expect.stringContaining("a/x")]);
  });
});

describe("a store that cannot keep plans for a while", () => {
  it("at the start delays its schedules and not the start, and is reported once for each schedule", async () => {
    const { scheduler, clock, runs, errors, broken } = onFlakyStore();
    broken.add("update").add("updateAll");
    await scheduler.start([agent("a", { x: every("5m"), y: cron("* * * * *") }, { capacity: 2 })]);
    await clock.advance("30s");
    expect(errors.toSorted()).toEqual([
      "Could not plan a/x: disk full at update",
      "Could not plan a/y: disk full at update",
    ]);
    broken.clear();
    await clock.advance("30s");
    expect(runs).toEqual(["00:00:31 a/x", "00:01 a/y"]);
  });

  it("while agents are set plans them as soon as it can", async () => {
    const { scheduler, clock, runs, broken, plan } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    broken.add("update").add("updateAll");
    scheduler.setAgents([agent("a", { x: every("1m") }), agent("b", { x: every("5m") })]);
    await clock.advance("10s");
    broken.clear();
    await clock.advance("2s");
    expect(await plan("a", "x")).toBe("00:01 baseline-interval");
    expect(runs).toEqual(["00:00 a/x", "00:00:12 b/x"]);
  });

  it("removes the plan of a removed schedule as soon as it can, unless the schedule has come back", async () => {
    const { scheduler, clock, broken, plan } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("5m"), y: every("5m") }, { capacity: 2 })]);
    await clock.advance("1s");
    broken.add("update").add("updateAll");
    scheduler.setAgents([]);
    await clock.advance("2s");
    scheduler.setAgents([agent("a", { x: every("7m") })]);
    await clock.advance("2s");
    broken.clear();
    await clock.advance("2s");
    expect(await plan("a", "x")).toBe("00:07 baseline-interval");
    expect(await plan("a", "y")).toBe("never none");
  });

  it("rejects a requested change, and the schedule continues as before", async () => {
    const { scheduler, clock, broken, runs } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    broken.add("update").add("updateAll");
    await expect(scheduler.pause("a", "x")).rejects.toThrow("disk full");
    await expect(scheduler.hint("a", "x", { interval: "1m" })).rejects.toThrow("disk full");
    broken.clear();
    await clock.advance("5m");
    expect(runs).toEqual(["00:00 a/x", "00:05 a/x"]);
  });

  it("drops the slot of a busy agent as soon as it can", async () => {
    const clock = new FakeClock(START);
    const { scheduler, broken, plan, errors } = onFlakyStore({
      clock,
      work: ({ scheduleName }) => (scheduleName === "long" ? clock.sleep("40m") : undefined),
    });
    await scheduler.start([agent("a", { long: every("1d"), x: cron("10 * * * *", { when_busy: "skip" }) })]);
    await clock.advance("1m");
    broken.add("update").add("updateAll");
    await clock.advance("10m");
    expect(errors).toHaveLength(1);
    broken.clear();
    await clock.advance("1s");
    expect(await plan("a", "x")).toBe("01:10 baseline-cron");
  });
});

describe("the plans of a start", () => {
  const agents = [
    agent("a", { x: every("5m"), y: cron("5 * * * *") }, { capacity: 2 }),
    agent("b", { z: cron("6 * * * *") }),
  ];
  const planned = [
    "planned a/x 00:00 first-run",
    "planned a/y 00:05 baseline-cron",
    "planned b/z 00:06 baseline-cron",
  ];

  it("are written in one call, and reported after it", async () => {
    const store = new GatedStore();
    const { scheduler, events } = scene({ store });
    const gated = store.hold("updateAll", "after");
    const starting = scheduler.start(agents);
    await gated.reached;
    expect(events).toEqual([]);
    gated.open();
    await starting;
    expect(events).toEqual(planned);
    expect([store.count("updateAll"), store.count("update")]).toEqual([1, 0]);
  });

  it("are written one by one when that fails, without an error", async () => {
    const store = new GatedStore();
    const { scheduler, events, errors } = scene({ store });
    store.fail("updateAll", new Error("too large"));
    await scheduler.start(agents);
    expect(events).toEqual(planned);
    expect(errors).toEqual([]);
    expect(store.count("update")).toBe(3);
  });

  it("are written although one of them cannot be", async () => {
    class PickyStore extends MemoryStore {
      isPicky = true;
      override async update(...[key, change]: Parameters<StateStore["update"]>): Promise<ScheduleState> {
        this.#pick([key]);
        return super.update(key, change);
      }
      override async updateAll(...[keys, decide]: Parameters<StateStore["updateAll"]>): Promise<void> {
        this.#pick(keys);
        return super.updateAll(keys, decide);
      }
      #pick(keys: readonly ScheduleKey[]): void {
        if (this.isPicky && keys.some(({ schedule }) => schedule === "y")) throw new Error("not y");
      }
    }
    const store = new PickyStore();
    const { scheduler, clock, events, errors, plan } = scene({ store });
    await scheduler.start(agents);
    await clock.advance("30s");
    expect(events.filter((event) => event.startsWith("planned"))).toContain(
      "planned b/z 00:06 baseline-cron",
    );
    expect(errors).toEqual(["Could not plan a/y: not y"]);
    expect(await plan("a", "y")).toBe("never none");
    store.isPicky = false;
    await clock.advance("2s");
    expect(await plan("a", "y")).toBe("00:05 baseline-cron");
  });

  it("replace plans that could not be written before", async () => {
    const { scheduler, clock, broken, plan } = onFlakyStore();
    await scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1s");
    broken.add("update").add("updateAll");
    scheduler.setAgents([]);
    await clock.advance(900);
    broken.clear();
    scheduler.setAgents([agent("a", { x: every("7m") })]);
    await clock.advance("3s");
    expect(await plan("a", "x")).toBe("00:07 baseline-interval");
  });
});

describe("a store that replies late", () => {
  it("costs no running job its claim", async () => {
    const door = gate();
    class SlowStore extends MemoryStore {
      isSlow = false;
      override async updateAll(...args: Parameters<StateStore["updateAll"]>): Promise<void> {
        if (this.isSlow) await door.pass();
        return super.updateAll(...args);
      }
    }
    const store = new SlowStore({ leaseMs: 30_000 });
    const clock = new FakeClock(START);
    const { scheduler, runs, ended, warnings } = scene({ store, clock, work: () => clock.sleep("5m") });
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    store.isSlow = true;
    scheduler.setAgents([agent("a", { x: every("1h"), y: once("2026-03-09T00:00:00Z") })]);
    await door.reached;
    await clock.advance("2m");
    store.isSlow = false;
    door.open();
    await clock.advance("4m");
    expect(runs).toEqual(["00:00 a/x"]);
    expect(ended).toMatchObject([{ status: "completed" }]);
    expect(warnings).toEqual([]);
  });
});

describe("a process that is stopped in the middle of a claim", () => {
  it("costs no running job its claim", async () => {
    class StoppedStore extends MemoryStore {
      isStopped = false;
      protected override async refresh(): Promise<void> {
        if (this.isStopped) await clock.sleep("2m");
        this.isStopped = false;
      }
    }
    const store = new StoppedStore({ leaseMs: 30_000 });
    const clock = new FakeClock(START);
    const { scheduler, runs, warnings } = scene({ store, clock, work: () => clock.sleep("5m") });
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    store.isStopped = true;
    await clock.advance("6m");
    expect(runs).toEqual(["00:00 a/x"]);
    expect(await store.jobs.list()).toMatchObject([{ status: "completed", error: null }]);
    expect(warnings).toEqual([]);
  });
});

describe("garbage in the state of one schedule", () => {
  it("that is a valid time affects neither the schedules that are due with it nor its own", async () => {
    const { scheduler, clock, store, runs, errors } = scene();
    const garbage = { next_run_at: "0500-01-01T00:00:00Z", next_run_source: "baseline-cron" as const };
    await store.update({ agent: "a", schedule: "old" }, garbage);
    await scheduler.start([agent("a", { old: cron("7 * * * *") }), agent("b", { x: every("5m") })]);
    await clock.advance("1m");
    clock.jump("4m");
    await store.update({ agent: "a", schedule: "old" }, garbage);
    await clock.advance("2m");
    expect(runs).toEqual(["00:00 b/x", "00:05:01 b/x", "00:07 a/old"]);
    expect(errors).toEqual([]);
  });

  it("affects no other schedule: its own is planned as if it never ran", async () => {
    const stateDir = stateDirectory();
    const planned =
      'status: idle, last_completed_at: "2026-03-01T00:00:00Z", next_run_at: "2026-03-01T00:30:00Z"';
    writeFileSync(
      join(stateDir, "state.yaml"),
      `agents:
  a:
    schedules:
      bad: { status: sleepy, next_run_at: soon, failure_count: -3 }
      good: { ${planned}, next_run_source: baseline-interval }
`,
    );
    const { logger, warnings } = {
      warnings: [] as string[],
      logger: { info() {}, warn: (m: string) => void warnings.push(m), error() {} },
    };
    const stage = scene({ store: new FileStore({ stateDir, logger }) });
    await stage.scheduler.start([agent("a", { bad: every("30m"), good: every("30m") }, { capacity: 2 })]);
    await vi.waitFor(() => expect(stage.ended).toHaveLength(1));
    expect(stage.jobs).toMatchObject([{ schedule: "bad", source: "first-run" }]);
    expect(await stage.plan("a", "good")).toBe("00:30 baseline-interval");
    expect(warnings).toHaveLength(1);
  });
});

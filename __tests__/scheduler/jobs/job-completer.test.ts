/** Jobs that end together are written together; an end that cannot be written costs the others nothing. */
import { describe, expect, it } from "vitest";
import {
  FakeClock,
  type FinishResult,
  type JobFinish,
  type JobRecord,
  StateLockedError,
} from "../../../src/index.js";
import { GatedStore } from "../gated-store.js";
import { agent, cron, every, scene, type Scene, type SceneOptions, START } from "../scene.js";

const DISK_FULL = new Error("disk full");

/** Notes which agents each call is for, and fails the ends of one agent. */
class NotingStore extends GatedStore {
  readonly calls: string[] = [];
  /** The agent whose ends cannot be written. */
  refused: string | undefined;

  override startJobs(jobs: readonly JobRecord[]): Promise<void> {
    this.calls.push(`startJobs ${jobs.map((job) => job.agent).join("")}`);
    return super.startJobs(jobs);
  }

  override async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    this.calls.push(`finishJobs ${ends.map(({ claim }) => claim.agent).join("")}`);
    const written = await super.finishJobs(ends.filter(({ claim }) => claim.agent !== this.refused));
    const results = written.values();
    return ends.map(({ claim }) =>
      claim.agent === this.refused
        ? { claim: "failed", record: "failed", error: DISK_FULL }
        : (results.next().value ?? { claim: "failed", record: "failed" }),
    );
  }
}

interface Stage extends Scene {
  readonly store: NotingStore;
  readonly endedAgents: () => string;
}

function stage(options: Omit<SceneOptions, "store"> = {}): Stage {
  const store = new NotingStore();
  const set = scene({ ...options, store });
  return { ...set, store, endedAgents: () => set.ended.map((job) => job.agent).join("") };
}

const fleetOf = (names: string): ReturnType<typeof agent>[] =>
  names.split("").map((name) => agent(name, { x: every("1h") }));

describe("jobs that end together", () => {
  it("have one call for all their ends, and none for their starts", async () => {
    const { scheduler, clock, store, endedAgents } = stage();
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(store.calls).toEqual(["finishJobs abc"]);
    expect(endedAgents()).toBe("abc");
  });

  it("have one call for their starts when they run for a while", async () => {
    const clock = new FakeClock(START);
    const oneSecond = clock.sleep("1s");
    const { scheduler, store } = stage({ clock, work: () => oneSecond });
    await scheduler.start(fleetOf("abc"));
    await clock.advance("1s");
    expect(store.calls).toEqual(["startJobs abc", "finishJobs abc"]);
  });
});

describe("an end that the store cannot write", () => {
  it("delays no other job, and is written when the store can", async () => {
    const { scheduler, clock, store, errors, ended, endedAgents, state, plan } = stage();
    store.refused = "b";
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(endedAgents()).toBe("ac");
    expect(scheduler.getTotalRunningJobCount()).toBe(1);
    expect(scheduler.getState().unrecordedJobCount).toBe(1);
    await clock.advance("10s");
    expect(errors).toEqual(["Could not record the end of a job of b/x: disk full"]);
    store.refused = undefined;
    await clock.advance("1s");
    expect(endedAgents()).toBe("acb");
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
    expect(scheduler.getState().unrecordedJobCount).toBe(0);
    expect(ended.map(({ finished_at }) => finished_at)).toEqual([START, START, START]);
    for (const name of ["a", "b", "c"]) {
      expect(await state(name, "x")).toMatchObject({ status: "idle", last_completed_at: START });
      expect(await plan(name, "x")).toBe("01:00 baseline-interval");
    }
    expect(await store.jobs.list({ status: "completed" })).toHaveLength(3);
  });

  it("is tried again alone: what was written is not written again", async () => {
    const { scheduler, clock, store } = stage();
    store.refused = "b";
    await scheduler.start(fleetOf("abc"));
    await clock.advance("2s");
    expect(store.calls).toEqual(["finishJobs abc", "finishJobs b", "finishJobs b", "finishJobs b"]);
  });

  it("is not reported when the second try works", async () => {
    const { scheduler, clock, store, errors, endedAgents } = stage();
    store.fail("finishJobs", DISK_FULL);
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(endedAgents()).toBe("abc");
    expect(errors).toEqual([]);
  });

  it("counts once though the call that failed had its effect", async () => {
    const { scheduler, clock, store, endedAgents, state } = stage({
      work: () => Promise.reject(new Error("boom")),
    });
    store.failAfter("finishJobs", DISK_FULL);
    await scheduler.start(fleetOf("abc"));
    await clock.advance("2s");
    expect(endedAgents()).toBe("abc");
    for (const name of ["a", "b", "c"])
      expect(await state(name, "x")).toMatchObject({ status: "idle", failure_count: 1, last_error: "boom" });
    expect(await store.jobs.list({ status: "failed" })).toHaveLength(3);
  });

  it("is given up after 30 tries when the scheduler has stopped, and stays counted", async () => {
    const { scheduler, clock, store, errors } = stage();
    store.fail("finishJobs", DISK_FULL, Infinity);
    await scheduler.start(fleetOf("a"));
    await clock.advance(0);
    const stopping = scheduler.stop({ timeout: 3_600_000 });
    await clock.advance("1m");
    await stopping;
    expect(errors.at(-1)).toBe("Gave up recording the end of a job of a/x: disk full");
    expect(scheduler.getState().unrecordedJobCount).toBe(1);
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
  });

  it("is given up at once when a different scheduler owns the state", async () => {
    const { scheduler, clock, store, errors } = stage();
    store.fail("finishJobs", new StateLockedError("taken over", "state.yaml", undefined), 1);
    await scheduler.start(fleetOf("a"));
    await clock.advance(0);
    expect(errors).toEqual(["Gave up recording the end of a job of a/x: taken over"]);
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
  });
});

describe("a record that cannot be written", () => {
  it("frees its schedule all the same, and is written when the log can", async () => {
    const { scheduler, clock, store, endedAgents, errors, plan } = stage();
    store.fail("closeRecords", DISK_FULL, 5);
    await scheduler.start(fleetOf("a"));
    await clock.advance("1s");
    expect(endedAgents()).toBe("");
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
    expect(scheduler.getState().unrecordedJobCount).toBe(1);
    expect(await plan("a", "x")).toBe("01:00 baseline-interval");
    await clock.advance("5s");
    expect(endedAgents()).toBe("a");
    expect(errors).toEqual(["Could not record the end of a job of a/x: disk full"]);
    expect(await store.jobs.list({ status: "completed" })).toHaveLength(1);
  });
});

describe("a job log that hangs", () => {
  it("keeps no schedule waiting, and has all ends when it continues", async () => {
    const { scheduler, clock, store, runs, endedAgents } = stage();
    const gate = store.hold("closeRecords");
    await scheduler.start([agent("a", { x: cron("* * * * *") })]);
    await clock.advance("3m");
    expect(runs).toEqual(["00:01 a/x", "00:02 a/x", "00:03 a/x"]);
    expect(endedAgents()).toBe("");
    gate.open();
    await clock.advance(0);
    expect(endedAgents()).toBe("aaa");
  });
});

describe("a start that cannot be recorded", () => {
  it("is reported, and the end is recorded whole", async () => {
    const clock = new FakeClock(START);
    const { scheduler, store, endedAgents, errors } = stage({ clock, work: () => clock.sleep("1s") });
    store.fail("startJobs", DISK_FULL);
    await scheduler.start(fleetOf("a"));
    await clock.advance("2s");
    expect(errors).toEqual(["Could not record the start of a job of a/x: disk full"]);
    expect(endedAgents()).toBe("a");
    expect(await store.jobs.list()).toMatchObject([{ status: "completed", started_at: START }]);
  });
});

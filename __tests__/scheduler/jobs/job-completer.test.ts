/** Jobs that end together are written together; what cannot be written of one costs the others nothing. */
import { describe, expect, it } from "vitest";
import { type ClaimEnd, FakeClock, MemoryStore } from "../../../src/index.js";
import {
  agent,
  cron,
  every,
  gate,
  type Gate,
  scene,
  type Scene,
  type SceneOptions,
  START,
} from "../scene.js";

type Write = "completeAll" | "startAll" | "finishAll";

/** Notes whom each write is for, and may refuse it or hold it back. */
class NotingStore extends MemoryStore {
  readonly writes: string[] = [];
  /** The agent of whom nothing can be written, and which kind of write that goes for. */
  refused: { readonly agent: string; readonly write: Write } | undefined;
  /** Whether what fails has had its effect all the same. */
  isLate = false;
  door: { readonly gate: Gate; readonly write: Write } | undefined;

  constructor() {
    super();
    const log = this.jobs;
    const startAll = log.startAll.bind(log);
    const finishAll = log.finishAll.bind(log);
    const agents = new Map<string, string>();
    log.startAll = (jobs) => {
      for (const job of jobs) agents.set(job.id, job.agent);
      const names = jobs.map((job) => job.agent);
      return this.#write("startAll", names, () => startAll(jobs));
    };
    log.finishAll = (outcomes) => {
      const names = outcomes.map(({ id }) => agents.get(id) ?? "");
      return this.#write("finishAll", names, () => finishAll(outcomes));
    };
  }

  override completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]> {
    const names = ends.map(({ claim }) => claim.agent);
    return this.#write("completeAll", names, () => super.completeAll(ends));
  }

  async #write<Result>(write: Write, names: readonly string[], act: () => Promise<Result>): Promise<Result> {
    this.writes.push(`${write} ${names.join("")}`);
    if (this.door?.write === write) await this.door.gate.pass();
    const fails = this.refused?.write === write && names.includes(this.refused.agent);
    if (fails && !this.isLate) throw new Error("disk full");
    const result = await act();
    if (fails) throw new Error("disk full");
    return result;
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
  it("have one write for all their starts, one for their outcomes and one for their records", async () => {
    const { scheduler, clock, store, endedAgents } = stage();
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(store.writes.toSorted()).toEqual(["completeAll abc", "finishAll abc", "startAll abc"]);
    expect(endedAgents()).toBe("abc");
  });

  it("go with the next write when one is under way, and one that ends alone is written at once", async () => {
    const clock = new FakeClock(START);
    const seconds: Record<string, number> = { a: 1, b: 2, c: 3 };
    const { scheduler, store, endedAgents } = stage({
      clock,
      work: (info) => clock.sleep(1_000 * (seconds[info.agent.name] ?? 0)),
    });
    const door = gate();
    store.door = { gate: door, write: "completeAll" };
    await scheduler.start(fleetOf("abc"));
    await clock.advance("1s");
    await door.reached;
    await clock.advance("4s");
    expect(store.writes.filter((write) => write.startsWith("complete"))).toEqual(["completeAll a"]);
    store.door = undefined;
    door.open();
    await clock.advance(0);
    expect(store.writes.filter((write) => write.startsWith("complete"))).toEqual([
      "completeAll a",
      "completeAll bc",
    ]);
    expect(endedAgents()).toBe("abc");
  });
});

describe.each(["completeAll", "finishAll"] as const)("a job that a store refuses at %s", (write) => {
  it("costs no other its result or a moment, and has its own when the store takes it", async () => {
    const { scheduler, clock, store, errors, ended, endedAgents, state, plan } = stage();
    store.refused = { agent: "b", write };
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(endedAgents()).toBe("ac");
    expect(scheduler.getTotalRunningJobCount()).toBe(write === "completeAll" ? 1 : 0);
    await clock.advance("10s");
    expect(errors).toEqual(["Could not record the end of a job of b/x: disk full"]);
    store.refused = undefined;
    await clock.advance("1s");
    expect(endedAgents()).toBe("acb");
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
    expect(ended.map(({ finished_at }) => finished_at)).toEqual([START, START, START]);
    for (const name of ["a", "b", "c"]) {
      expect(await state(name, "x")).toMatchObject({ status: "idle", last_completed_at: START });
      expect(await plan(name, "x")).toBe("01:00 baseline-interval");
    }
    expect(await store.jobs.list({ status: "completed" })).toHaveLength(3);
  });

  it("has the part written once that could be written, and the other until it could", async () => {
    const { scheduler, clock, store } = stage();
    const other = write === "completeAll" ? "finishAll" : "completeAll";
    store.refused = { agent: "b", write };
    await scheduler.start(fleetOf("abc"));
    await clock.advance("5s");
    store.refused = undefined;
    await clock.advance("5s");
    expect(store.writes.filter((text) => text.startsWith(other))).toEqual([`${other} abc`]);
    const tries = store.writes.filter((text) => text.startsWith(write));
    expect(tries.slice(0, 4)).toEqual([`${write} abc`, `${write} a`, `${write} b`, `${write} c`]);
    expect(new Set(tries.slice(4))).toEqual(new Set([`${write} b`]));
  });

  it("is recorded once though the write that failed had its effect", async () => {
    const { scheduler, clock, store, endedAgents, state } = stage({
      work: () => Promise.reject(new Error("boom")),
    });
    store.refused = { agent: "b", write };
    store.isLate = true;
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    store.refused = undefined;
    await clock.advance("2s");
    expect(endedAgents().split("").toSorted().join("")).toBe("abc");
    for (const name of ["a", "b", "c"])
      expect(await state(name, "x")).toMatchObject({ status: "idle", failure_count: 1, last_error: "boom" });
    expect(await store.jobs.list({ status: "failed" })).toHaveLength(3);
  });
});

describe("a job log that hangs", () => {
  it("keeps no schedule waiting, and has all ends when it goes on", async () => {
    const { scheduler, clock, store, runs, endedAgents } = stage();
    const door = gate();
    store.door = { gate: door, write: "finishAll" };
    await scheduler.start([agent("a", { x: cron("* * * * *") })]);
    await clock.advance("3m");
    expect(runs).toEqual(["00:01 a/x", "00:02 a/x", "00:03 a/x"]);
    expect(endedAgents()).toBe("");
    store.door = undefined;
    door.open();
    await clock.advance(0);
    expect(endedAgents()).toBe("aaa");
    expect(store.writes.filter((write) => write.startsWith("finish"))).toEqual([
      "finishAll a",
      "finishAll aa",
    ]);
  });
});

describe("a log that refuses the start of one job of a burst", () => {
  it("has those of the others, and that one before its end when it can", async () => {
    const { scheduler, clock, store, endedAgents, errors } = stage();
    store.refused = { agent: "b", write: "startAll" };
    await scheduler.start(fleetOf("abc"));
    await clock.advance(0);
    expect(endedAgents().split("").toSorted().join("")).toBe("ac");
    expect(errors[0]).toBe("Could not record the start of a job of b/x: disk full");
    store.refused = undefined;
    await clock.advance("1s");
    expect(endedAgents()).toHaveLength(3);
    expect(await store.jobs.list({ status: "completed" })).toHaveLength(3);
  });
});

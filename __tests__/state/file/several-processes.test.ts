/** Nothing that was acknowledged is lost, however many write at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { completeClaim, type ScheduleState } from "../../../src/index.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { getAgentScheduleStates, getScheduleState } from "../../../src/state/file/state-functions.js";
import { Children } from "../child.js";
import { temporaryDirectory } from "../temporary-directory.js";
import { WatchedDisk } from "../watched-disk.js";

const PAST = "2026-01-01T00:00:00.000Z";
const UPDATES = 500;
/** What each process changes in the schedule they share. */
const KEYS = ["failure_count", "missed_count", "interrupted_count", "last_error"] as const;

/** Claims and completes one schedule and updates another, over and over, until it is stopped. */
class BusyOwner implements AsyncDisposable {
  readonly #store: FileStore;
  readonly #running: Promise<number>;
  #isStopped = false;

  constructor(stateDir: string) {
    this.#store = new FileStore({ stateDir });
    this.#running = this.#run();
  }

  /** Answers how many rounds it made. */
  async stop(): Promise<number> {
    this.#isStopped = true;
    return this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#store.close();
  }

  async #run(): Promise<number> {
    const store = this.#store;
    await store.open();
    await store.update({ agent: "owner", schedule: "claimed" }, { next_run_at: PAST });
    await store.define({ schedules: [{ agent: "owner", schedule: "claimed" }] });
    let rounds = 0;
    for (; !this.#isStopped; rounds++) {
      const { claims } = await store.claimDue(1);
      await store.update({ agent: "owner", schedule: "updated" }, { failure_count: rounds });
      for (const claim of claims)
        await completeClaim(store, claim, { next_run_at: PAST, missed_count: rounds });
      await setTimeout(10); // as a scheduler, which is not always at it
    }
    return rounds;
  }
}

describe("four processes that make 500 updates each, beside an owner", () => {
  it("keep 2,000 of 2,000, and all of the owner's", async () => {
    using temporary = temporaryDirectory();
    const stateDir = temporary.path;
    await using owner = new BusyOwner(stateDir);
    await using children = new Children();
    const writers = KEYS.map((key, index) =>
      children.start("update-often.js", [stateDir, `agent-${index}`, key, String(UPDATES)]),
    );
    await Promise.all(writers.map((writer) => writer.end()));
    const rounds = await owner.stop();

    expect(writers.map(({ lines, exitCode }) => ({ lines, exitCode }))).toEqual(
      writers.map(() => ({ lines: ["done"], exitCode: 0 })),
    );
    const numbers = Array.from({ length: UPDATES / 2 }, (_, index) => 2 * index);
    const own = Object.fromEntries(numbers.map((number) => [`schedule-${number}`, number]));
    for (const index of KEYS.keys()) {
      const states = Object.entries(await getAgentScheduleStates(stateDir, `agent-${index}`));
      expect(Object.fromEntries(states.map(([name, { failure_count }]) => [name, failure_count]))).toEqual(
        own,
      );
    }
    const last = UPDATES - 1;
    expect(await getScheduleState(stateDir, "shared", "schedule")).toMatchObject({
      failure_count: last,
      missed_count: last,
      interrupted_count: last,
      last_error: String(last),
    });
    expect(rounds).toBeGreaterThan(10);
    expect(await getAgentScheduleStates(stateDir, "owner")).toMatchObject({
      claimed: { status: "idle", missed_count: rounds - 1 },
      updated: { failure_count: rounds - 1 },
    });
  }, 180_000);
});

describe("100 updates at once in one process", () => {
  it("are all kept, in two writes at most", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { disk: watched.disk });
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    await Promise.all(
      numbers.map((number) =>
        store.update({ agent: `agent-${number % 7}`, schedule: `${number}` }, { failure_count: number }),
      ),
    );
    expect(watched.count(/^mkdir .*lock-/)).toBeLessThanOrEqual(2);
    expect(watched.count(/^writeFile /)).toBeLessThanOrEqual(2);
    const { agents } = parse(readFileSync(join(temporary.path, "state.yaml"), "utf8")) as {
      agents: Record<string, { schedules: Record<string, ScheduleState> }>;
    };
    for (const number of numbers) {
      const schedule = agents[`agent-${number % 7}`]?.schedules[`${number}`];
      expect(schedule?.failure_count).toBe(number);
    }
  });

  it("that come while a write is under way go into the next one together", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { disk: watched.disk });
    const updates: Promise<unknown>[] = [];
    const key = { agent: "a", schedule: "s" };
    watched.before = (step) => {
      // Before the first write alone, which is under way then.
      if (!step.startsWith("sync ") || updates.length > 0) return;
      for (let number = 0; number < 100; number++) updates.push(store.update(key, { failure_count: number }));
    };
    await store.update(key, { last_error: "first" });
    await Promise.all(updates);
    expect(updates).toHaveLength(100);
    expect(watched.count(/^mkdir .*lock-/)).toBe(2);
    expect(watched.count(/^writeFile /)).toBe(2);
    expect(await store.read(key)).toMatchObject({ last_error: "first", failure_count: 99 });
  });
});

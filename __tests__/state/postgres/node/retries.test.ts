/** Slots whose jobs fail, tried again on a database that several nodes share. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type AgentSchedule, type FakeClock, type RuntimeJob, Scheduler } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { LEASE_MS, only, scene } from "../scene.js";

const KEY = { agent: "a", schedule: "x" };
const SLOT = "2026-03-01T01:00:00.000Z";
const CRON = { type: "cron", expression: "0 * * * *", timezone: "UTC" } as const;
const RETRIED: AgentSchedule = { ...CRON, retries: { count: 3, delay: "1m" } };
const logger = { info: () => {}, warn: () => {}, error: () => {} };

interface Try {
  readonly slot: string | undefined;
  readonly attempt: number;
  readonly node: string;
}

interface Stage {
  readonly clock: FakeClock;
  readonly tries: Try[];
  /** The slots that were given up: "slot after 2". */
  readonly abandoned: string[];
  readonly store: () => Promise<PostgresStore>;
  /** A scheduler on a node of its own. */
  readonly node: (name: string, schedule?: AgentSchedule) => Promise<Scheduler>;
  /** Moves the clock until it holds. */
  readonly until: (holds: () => Promise<boolean> | boolean) => Promise<void>;
}

/** Nodes whose first `failures` jobs fail, all together. */
function stage(failures: number): Stage {
  const { clock, node: store } = scene();
  const tries: Try[] = [];
  const abandoned: string[] = [];
  return {
    clock,
    tries,
    abandoned,
    store: () => store(),
    node: async (name, schedule = RETRIED) => {
      const scheduler = new Scheduler({ store: await store(), clock, logger });
      onTestFinished(() => scheduler.stop({ waitForJobs: false, timeout: 0 }));
      scheduler.on("schedule:abandoned", ({ slot, attempts }) =>
        abandoned.push(`${slot.toISOString()} after ${attempts}`),
      );
      const run = ({ slot, attempt }: RuntimeJob): void => {
        tries.push({ slot: slot?.toISOString(), attempt, node: name });
        if (tries.length <= failures) throw new Error("out of luck");
      };
      await scheduler.start([{ name: "a", schedules: { x: schedule }, run }]);
      return scheduler;
    },
    until: (holds) =>
      vi.waitFor(
        async () => {
          await clock.advance("1s");
          expect(await holds()).toBe(true);
        },
        { timeout: 30_000, interval: 5 },
      ),
  };
}

const isIdle = async (store: PostgresStore): Promise<boolean> => {
  const { claim, last_completed_at } = await store.read(KEY);
  return claim == null && last_completed_at != null;
};

describe("a slot that is tried again on PostgreSQL", { timeout: 60_000 }, () => {
  it("is the same slot in every attempt, on whichever of two nodes", async () => {
    const { clock, tries, store, node, until } = stage(2);
    const reader = await store();
    await node("one");
    await node("two");
    await clock.advance("59m");
    await until(async () => tries.length === 3 && (await isIdle(reader)));
    expect(tries.map(({ slot, attempt }) => ({ slot, attempt }))).toEqual([
      { slot: SLOT, attempt: 1 },
      { slot: SLOT, attempt: 2 },
      { slot: SLOT, attempt: 3 },
    ]);
    const records = await reader.jobs.list({ agent: "a" });
    const told = records.toSorted((one, two) => one.attempt - two.attempt);
    expect(told.map(({ trigger, status }) => [trigger, status])).toEqual([
      ["cron", "failed"],
      ["retry", "failed"],
      ["retry", "completed"],
    ]);
    const state = await reader.read(KEY);
    expect(state).toMatchObject({ failure_count: 0, next_run_at: "2026-03-01T02:00:00.000Z" });
    expect(state.retry ?? state.missed_count).toBeUndefined();
  });

  it("goes on where a node stopped between two tries, and a second one died in the next", async () => {
    const { clock, tries, store, node, until } = stage(1);
    const reader = await store();
    const one = await node("one");
    await clock.advance("59m");
    await until(async () => tries.length === 1 && (await isIdle(reader)));
    await one.stop();
    expect(await reader.read(KEY)).toMatchObject({ retry: { slot: SLOT, attempt: 2, failures: 1 } });
    const dead = await store();
    await dead.define({ agents: [{ agent: "a", maxConcurrent: 1 }], schedules: [KEY] });
    await clock.advance("2m");
    const claim = only((await dead.claimDue(10)).claims);
    expect(claim).toMatchObject({ slot: new Date(SLOT), attempt: 2, source: "retry" });
    await clock.advance(LEASE_MS + 1_000);
    await node("two");
    await until(async () => tries.length === 2 && (await isIdle(reader)));
    expect(tries.at(-1)).toEqual({ slot: SLOT, attempt: 3, node: "two" });
    expect(await reader.jobs.get(claim.jobId)).toMatchObject({ status: "interrupted", attempt: 2 });
    expect(await reader.read(KEY)).toMatchObject({ failure_count: 0 });
  });

  it("is given up with on_interrupt: skip when a node dies in a try, and counts as one failure", async () => {
    const { clock, tries, abandoned, store, node, until } = stage(1);
    const reader = await store();
    const one = await node("one");
    await clock.advance("59m");
    await until(async () => tries.length === 1 && (await isIdle(reader)));
    await one.stop();
    const dead = await store();
    await dead.define({ agents: [{ agent: "a", maxConcurrent: 1 }], schedules: [KEY] });
    await clock.advance("2m");
    only((await dead.claimDue(10)).claims);
    await clock.advance(LEASE_MS + 1_000);
    await node("two", { ...RETRIED, on_interrupt: "skip" });
    await until(() => abandoned.length > 0);
    expect(abandoned).toEqual([`${SLOT} after 2`]);
    expect(await reader.read(KEY)).toMatchObject({ abandoned_count: 1, failure_count: 1 });
    expect(tries).toHaveLength(1);
  });

  it("is tried again with on_interrupt: skip where it failed without an interruption", async () => {
    const { clock, tries, store, node, until } = stage(1);
    const reader = await store();
    await node("one", { ...RETRIED, on_interrupt: "skip" });
    await clock.advance("59m");
    await until(async () => tries.length === 2 && (await isIdle(reader)));
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect((await reader.read(KEY)).abandoned_count).toBeUndefined();
  });
});

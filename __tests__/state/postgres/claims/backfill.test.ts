import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type FakeClock, Scheduler } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { backfilled } from "../../../../src/scheduler/control/backfill.js";
import { LEASE_MS, scene } from "../scene.js";

const KEY = { agent: "a", schedule: "x" };
const SLOTS = ["2026-02-28T21:00:00.000Z", "2026-02-28T22:00:00.000Z", "2026-02-28T23:00:00.000Z"];
const PERIOD = { from: "2026-02-28T20:30:00Z", to: "2026-02-28T23:30:00Z" };
const logger = { info: () => {}, warn: () => {}, error: () => {} };

interface Run {
  readonly slot: string | undefined;
  readonly attempt: number;
}

async function startNode(
  store: PostgresStore,
  clock: FakeClock,
  run: (started: Run) => unknown,
): Promise<Scheduler> {
  const scheduler = new Scheduler({ store, clock, logger });
  onTestFinished(() => scheduler.stop({ waitForJobs: false, timeout: 0 }));
  const x = { type: "cron", expression: "0 * * * *", timezone: "UTC" } as const;
  const start = ({ slot, attempt }: { readonly slot: Date | null; readonly attempt: number }): unknown =>
    run({ slot: slot?.toISOString(), attempt });
  await scheduler.start([{ name: "a", schedules: { x }, run: start }]);
  return scheduler;
}

async function untilDone(store: PostgresStore, clock: FakeClock): Promise<void> {
  await vi.waitFor(
    async () => {
      await clock.advance("1s");
      const { backfill, claim } = await store.read(KEY);
      expect(backfill ?? claim).toBeUndefined();
    },
    { timeout: 20_000 },
  );
}

describe("a backfill on PostgreSQL", () => {
  it("runs each slot one time, in order and never two at once, on two nodes", async () => {
    const { clock, node } = scene();
    const runs: (string | undefined)[] = [];
    let running = 0;
    let most = 0;
    const run = async ({ slot }: Run): Promise<void> => {
      runs.push(slot);
      most = Math.max(most, ++running);
      await clock.sleep("2s");
      running--;
    };
    const [first, second] = [await node(), await node()];
    const scheduler = await startNode(first, clock, run);
    await startNode(second, clock, run);
    await scheduler.backfill("a", "x", PERIOD);
    await untilDone(first, clock);
    expect([runs, most]).toEqual([SLOTS, 1]);
    const records = await first.jobs.list({ agent: "a", schedule: "x" });
    expect(new Set(records.map(({ slot }) => slot))).toEqual(new Set(SLOTS));
    expect(records).toHaveLength(SLOTS.length);
    expect(records.map(({ trigger, source }) => [trigger, source])).toEqual(
      SLOTS.map(() => ["manual", "manual"]),
    );
  });

  it("is found by a running scheduler when a store that is not open writes it", async () => {
    const { clock, node, outsider } = scene();
    const runs: (string | undefined)[] = [];
    const store = await node();
    await startNode(store, clock, ({ slot }) => runs.push(slot));
    await outsider().update(KEY, backfilled(SLOTS.map((slot) => new Date(slot))));
    await untilDone(store, clock);
    expect(runs).toEqual(SLOTS);
  });

  it("goes on where a node was when it died, and tries that slot again", async () => {
    const { clock, node } = scene();
    const dead = await node();
    await dead.define({ agents: [{ agent: "a", maxConcurrent: 1 }], schedules: [KEY] });
    const at = clock.now().toISOString();
    const backfill = { slots: SLOTS, total: 3, at };
    await dead.update(KEY, { backfill, next_run_at: at, next_run_source: "manual", accounted_until: at });
    const { claims } = await dead.claimDue(10);
    expect(claims.map(({ slot }) => slot.toISOString())).toEqual(SLOTS.slice(0, 1));
    const runs: Run[] = [];
    const store = await node();
    await startNode(store, clock, (run) => runs.push(run));
    await clock.advance(LEASE_MS + 1_000);
    await untilDone(store, clock);
    expect(runs).toEqual(SLOTS.map((slot, index) => ({ slot, attempt: index === 0 ? 2 : 1 })));
  });
});

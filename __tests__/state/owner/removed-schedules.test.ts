import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Claim,
  completeClaim,
  FakeClock,
  FileStore,
  MemoryStore,
  releaseClaim,
  type StateStore,
} from "../../../src/index.js";
import { stateDirectory } from "../temporary-directory.js";

const START = "2026-03-01T00:00:00.000Z";
const LATER = "2026-03-01T01:00:00.000Z";
const A = { agent: "a", schedule: "x" };
const B = { agent: "b", schedule: "y" };
const C = { agent: "c", schedule: "z" };

describe.each<[string, (clock: FakeClock) => StateStore]>([
  ["memory store", (clock) => new MemoryStore({ clock })],
  ["file store", (clock) => new FileStore({ clock, stateDir: stateDirectory() })],
])("a schedule that a %s defines no longer", (_, make) => {
  async function opened(): Promise<{ store: StateStore; clock: FakeClock }> {
    const clock = new FakeClock(START);
    const store = make(clock);
    onTestFinished(() => store.close());
    await store.open();
    return { store, clock };
  }

  it("loses its plan in the same call", async () => {
    const { store } = await opened();
    for (const key of [B, C])
      await store.update(key, { next_run_at: LATER, next_run_source: "baseline-cron", failure_count: 2 });
    await store.define({ schedules: [B, C] });
    await store.define({ schedules: [C] });
    const state = await store.read(B);
    expect(state).toEqual({
      status: "idle",
      last_run_at: null,
      next_run_at: null,
      last_error: null,
      failure_count: 2,
    });
    expect(await store.read(C)).toMatchObject({ next_run_at: LATER, next_run_source: "baseline-cron" });
  });

  it("keeps its state while its job runs, and has no plan when the job ends", async () => {
    const { store } = await opened();
    for (const key of [A, B]) await store.update(key, { next_run_at: START });
    await store.define({ schedules: [A, B] });
    const [a, b] = (await store.claimDue(10)).claims as [Claim, Claim];
    await store.define({ schedules: [C] });
    expect(await store.read(A)).toEqual(a.state);
    expect(await completeClaim(store, a, { next_run_at: LATER, failure_count: 1 })).toBe(true);
    expect(await releaseClaim(store, b)).toBe(true);
    expect(await store.read(A)).toMatchObject({ status: "idle", next_run_at: null, failure_count: 1 });
    expect(await store.read(B)).toMatchObject({ status: "idle", next_run_at: null });
  });

  it("keeps the plan of a schedule that this store never defined", async () => {
    const { store } = await opened();
    await store.update(B, { next_run_at: LATER });
    await store.define({ schedules: [A] });
    await store.define({ schedules: [] });
    expect(await store.read(B)).toMatchObject({ next_run_at: LATER });
  });
});

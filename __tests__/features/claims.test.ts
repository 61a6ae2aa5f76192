/** What Rota promises about claims, one test a promise. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type Claim, completeClaim, FakeClock, MemoryStore, type ScheduleKey } from "../../src/index.js";

const START = "2026-03-01T00:00:00.000Z";

/** A store with `count` schedules of as many agents, each due a second after the one before. */
async function storeWithDue(count: number): Promise<{ store: MemoryStore; clock: FakeClock }> {
  const clock = new FakeClock(START);
  const store = new MemoryStore({ clock });
  onTestFinished(() => store.close());
  await store.open();
  const keys = Array.from({ length: count }, (_, i): ScheduleKey => ({ agent: `a${i}`, schedule: "x" }));
  for (const [i, key] of keys.entries()) {
    await store.update(key, { next_run_at: new Date(Date.parse(START) - 1000 * (count - i)).toISOString() });
  }
  await store.define({ schedules: keys });
  return { store, clock };
}

const agents = (claims: readonly Claim[]): string[] => claims.map(({ agent }) => agent);

describe("claiming", () => {
  it("returns due schedules in batches, oldest first: 25 are 10, 10 and 5", async () => {
    const { store } = await storeWithDue(25);
    const batches = [await store.claimDue(10), await store.claimDue(10), await store.claimDue(10)];
    expect(batches.map(({ claims }) => claims.length)).toEqual([10, 10, 5]);
    const claimed = batches.flatMap(({ claims }) => agents(claims));
    expect(claimed).toEqual(Array.from({ length: 25 }, (_, i) => `a${i}`));
  });

  it("gives 100 due schedules to two workers, each to one of them", async () => {
    const { store } = await storeWithDue(100);
    const rounds = Array.from({ length: 10 }, () => [store.claimDue(10), store.claimDue(10)]).flat();
    const claimed = (await Promise.all(rounds)).flatMap(({ claims }) => agents(claims));
    expect(claimed).toHaveLength(100);
    expect(new Set(claimed).size).toBe(100);
  });

  it("again is possible when the lease of 30 s has ended, and not before", async () => {
    const { store, clock } = await storeWithDue(1);
    await store.claimDue(1);
    await clock.advance("29s");
    expect((await store.claimDue(1)).claims).toEqual([]);
    await clock.advance("1s");
    expect((await store.claimDue(1)).claims).toHaveLength(1);
  });

  it("again makes the result of the first holder superseded", async () => {
    const { store, clock } = await storeWithDue(1);
    const [first] = (await store.claimDue(1)).claims as [Claim];
    await clock.advance("30s");
    const [second] = (await store.claimDue(1)).claims as [Claim];
    expect(await completeClaim(store, first, { last_error: "late" })).toBe(false);
    expect(await completeClaim(store, second, { last_error: null })).toBe(true);
    expect(await store.read(first)).toMatchObject({ last_error: null });
  });

  it("closes the record of a job whose lease ended, and leaves all other records open", async () => {
    const { store, clock } = await storeWithDue(2);
    const [stale, fresh] = (await store.claimDue(2)).claims as [Claim, Claim];
    for (const { jobId, ...key } of [stale, fresh])
      await store.jobs.start({ id: jobId, agent: key.agent, schedule: key.schedule, trigger: "interval" });
    for (let i = 0; i < 30; i++) {
      await clock.advance("10s");
      await store.renew(fresh);
      await store.claimDue(0);
    }
    expect(await store.jobs.get(stale.jobId)).toMatchObject({ status: "interrupted" });
    expect(await store.jobs.get(fresh.jobId)).toMatchObject({ status: "running" });
  });

  it("lasts for a run of 90 s that renews it every 10 s: one run", async () => {
    const { store, clock } = await storeWithDue(1);
    const [claim] = (await store.claimDue(1)).claims as [Claim];
    let others = 0;
    for (let i = 0; i < 9; i++) {
      await clock.advance("10s");
      await store.renew(claim);
      others += (await store.claimDue(10)).claims.length;
    }
    expect(others).toBe(0);
    expect(await completeClaim(store, claim, {})).toBe(true);
  });
});

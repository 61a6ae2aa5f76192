import { describe, expect, it } from "vitest";
import { type Claim, FakeClock, MemoryStore } from "../../../src/index.js";
import { HeldClaims } from "../../../src/scheduler/claims/held-claims.js";
import { EventHub } from "../../../src/scheduler/events.js";
import { WakeableLoop } from "../../../src/scheduler/loop/wakeable-loop.js";
import { Roster } from "../../../src/scheduler/roster.js";

interface Holder {
  readonly claim: Claim;
  stopped: string | undefined;
  stop(cause: string): boolean;
}

interface Stage {
  readonly held: HeldClaims;
  readonly clock: FakeClock;
  readonly store: MemoryStore;
  readonly holders: Holder[];
}

/** Holders of one claim each. */
async function holding(count: number): Promise<Stage> {
  const clock = new FakeClock();
  const store = new MemoryStore();
  await store.open(clock);
  const keys = Array.from({ length: count }, (_, i) => ({ agent: `a${i}`, schedule: "x" }));
  await store.define({ schedules: keys });
  const holders: Holder[] = [];
  for (const key of keys) {
    const claim = await store.claim(key);
    if (typeof claim === "string") continue;
    holders.push({
      claim,
      stopped: undefined,
      stop(cause) {
        this.stopped = cause;
        return true;
      },
    });
  }
  const log = { info() {}, warn() {}, error() {} };
  const events = new EventHub(() => {});
  const random = (): number => 0;
  const held = new HeldClaims({
    clock,
    store,
    log,
    events,
    random,
    roster: new Roster([]),
    loop: new WakeableLoop(clock),
    checkInterval: 1_000,
  });
  for (const holder of holders) held.add(holder, clock.monotonic());
  return { held, clock, store, holders };
}

/** Lets 100 s pass, in steps that a lease of 30 s outlasts. */
async function renewFor100s({ held, clock, store }: Stage): Promise<void> {
  for (let step = 0; step < 10; step++) {
    await held.renew();
    await clock.advance("10s");
    await store.claimDue(10);
  }
}

describe("held claims", () => {
  it.each([
    ["the first", [0]],
    ["the last", [4]],
    ["one in the middle", [2]],
    ["two", [4, 3]],
    ["the same one twice", [1, 1]],
  ])("are renewed when %s of them is removed", async (_, removed) => {
    const stage = await holding(5);
    const { held, holders } = stage;
    for (const index of removed) {
      const holder = holders[index];
      if (holder !== undefined) held.remove(holder);
    }
    const kept = holders.filter((_holder, index) => !removed.includes(index));
    expect(held.isEmpty).toBe(false);
    await renewFor100s(stage);
    expect(kept.filter(({ stopped }) => stopped !== undefined)).toEqual([]);
    for (const holder of kept) held.remove(holder);
    expect(held.isEmpty).toBe(true);
  });

  it("stop the job whose claim could not be renewed because its slot was claimed again", async () => {
    const stage = await holding(2);
    const { held, clock, store, holders } = stage;
    await clock.advance("31s");
    await store.claimDue(0);
    await held.renew();
    expect(holders.map(({ stopped }) => stopped)).toEqual(["superseded", "superseded"]);
  });
});

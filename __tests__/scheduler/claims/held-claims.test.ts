import { describe, expect, it } from "vitest";
import { type Claim, FakeClock, MemoryStore } from "../../../src/index.js";
import { ClaimKeeper } from "../../../src/scheduler/claims/held-claims.js";
import { EventHub } from "../../../src/scheduler/events.js";
import { Roster } from "../../../src/scheduler/roster.js";

interface Holder {
  readonly claim: Claim;
  place: number;
  heldMs: number;
  isLost: boolean;
  readonly abort: () => void;
}

/** A keeper, and who holds one claim each that nobody else has. */
async function keeping(count: number): Promise<{ keeper: ClaimKeeper; clock: FakeClock; holders: Holder[] }> {
  const clock = new FakeClock();
  const store = new MemoryStore();
  await store.open(clock);
  const keys = Array.from({ length: count }, (_, i) => ({ agent: `a${i}`, schedule: "x" }));
  await store.define(keys);
  const holders: Holder[] = [];
  for (const key of keys) {
    const claim = await store.claim(key);
    if (typeof claim === "string") continue;
    const holder: Holder = {
      claim,
      place: -1,
      heldMs: 0,
      isLost: false,
      abort: () => {
        holder.isLost = true;
      },
    };
    holders.push(holder);
  }
  const log = { info() {}, warn() {}, error() {} };
  const events = new EventHub(() => {});
  const random = (): number => 0;
  const roster = new Roster([]);
  const keeper = new ClaimKeeper({ clock, store, log, events, random, roster, checkInterval: 1_000 });
  for (const holder of holders) keeper.add(holder, clock.monotonic());
  return { keeper, clock, holders };
}

/** Those whose claims are lost although time went by in small steps: nobody renewed them. */
async function lostOf(keeper: ClaimKeeper, clock: FakeClock, holders: readonly Holder[]): Promise<Holder[]> {
  for (let step = 0; step < 10; step++) {
    await keeper.renew();
    await clock.advance("10s");
  }
  return holders.filter(({ isLost }) => isLost);
}

describe("a keeper of claims", () => {
  it.each([
    ["first", [0]],
    ["last", [4]],
    ["one in the middle", [2]],
    ["last, and then the one that took its place", [4, 3]],
    ["first, and then the one that took its place", [0, 4]],
    ["same one twice", [1, 1]],
  ])("keeps all others when the %s is removed", async (_, removed) => {
    const { keeper, clock, holders } = await keeping(5);
    for (const index of removed) {
      const holder = holders[index];
      if (holder !== undefined) keeper.remove(holder);
    }
    const kept = holders.filter((_holder, index) => !removed.includes(index));
    expect(kept.map(({ place }) => place).toSorted((a, b) => a - b)).toEqual([...kept.keys()]);
    expect(keeper.isIdle).toBe(false);
    expect(await lostOf(keeper, clock, kept)).toEqual([]);
    for (const holder of kept) keeper.remove(holder);
    expect(keeper.isIdle).toBe(true);
  });
});

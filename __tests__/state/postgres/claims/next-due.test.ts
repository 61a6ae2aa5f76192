/** When the next call of claimDue can find a slot, as each call returns it. */
import { describe, expect, it } from "vitest";
import { completeClaim, key, names, only, planAll, scene } from "../scene.js";
import { loseNextAnswer, SteeredPool } from "../steered-pool.js";

const LATER = "2026-03-01T00:05:00.000Z";

describe("the next due time that claimDue returns", () => {
  it("is the epoch when more is due than the store gives at once", async () => {
    const { node } = scene();
    const store = await node();
    const schedules = Array.from({ length: 2_001 }, (_, index) => `a${index}/x`);
    await planAll([store], schedules);
    const first = await store.claimDue(10_000);
    expect([first.claims.length, first.nextDueAt]).toEqual([2_000, new Date(0)]);
    const second = await store.claimDue(10_000);
    expect([second.claims.length, second.nextDueAt]).toEqual([1, undefined]);
  });

  it("is that of the next plan when the limit left no due slot", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/x"]);
    await store.update(key("b/x"), { next_run_at: LATER });
    expect((await store.claimDue(1)).nextDueAt).toEqual(new Date(LATER));
  });

  it("is undefined when nothing is planned", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x"]);
    expect((await store.claimDue(10)).nextDueAt).toBeUndefined();
  });

  it.each([1, 10])("ignores slots that wait for capacity, with a limit of %i", async (limit) => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"]);
    await store.claimDue(10);
    const { claims, nextDueAt } = await store.claimDue(limit);
    expect([claims, nextDueAt]).toEqual([[], undefined]);
  });

  it("ignores a slot that waits for the limit when its agent has capacity again", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"]);
    const claim = only((await store.claimDue(10)).claims);
    await completeClaim(store, claim, {});
    expect((await store.claimDue(0)).nextDueAt).toBeUndefined();
    expect(names((await store.claimDue(1)).claims)).toEqual(["a/y"]);
  });

  it("is that of a plan although the reply to its write was lost", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    await store.define({ schedules: [key("a/x")] });
    await store.claimDue(10);
    const isLost = loseNextAnswer(pool);
    await store.update(key("a/x"), { next_run_at: LATER });
    expect(isLost()).toBe(true);
    expect((await store.claimDue(10)).nextDueAt).toEqual(new Date(LATER));
  });
});

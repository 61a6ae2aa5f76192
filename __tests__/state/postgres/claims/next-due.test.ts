/** When the next call of claimDue can find a slot, as each call returns it. */
import { describe, expect, it } from "vitest";
import { completeClaim, key, names, only, planAll, scene, START } from "../scene.js";
import { loseNextAnswer, SteeredPool } from "../steered-pool.js";

const LATER = "2026-03-01T00:05:00.000Z";

describe("the next due time that claimDue returns", () => {
  it("is in the past when the limit left a due slot", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/x"]);
    expect((await store.claimDue(1)).nextDueAt).toEqual(new Date(START));
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

  it("is in the past when the limit left a slot whose agent has capacity again", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"]);
    const claim = only((await store.claimDue(10)).claims);
    await completeClaim(store, claim, {});
    expect((await store.claimDue(0)).nextDueAt).toEqual(new Date(START));
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

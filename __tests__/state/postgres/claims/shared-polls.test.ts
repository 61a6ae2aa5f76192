/** What one node saw due and had no room for, others judge as seen in time: but only what that node could see. */
import { describe, expect, it } from "vitest";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, key, LEASE_MS, names, only, planAll, scene, type Scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";

/** Finds all of its slots due and takes none, for as long as it takes for others to be told. */
async function leaveAll({ clock }: Scene, full: PostgresStore): Promise<void> {
  await full.claimDue(0);
  await clock.advance("10s");
  await full.claimDue(0);
  await clock.advance("10s");
}

const pollsIn = async ({ schema }: Scene): Promise<number | null> =>
  (await sharedPool().query(`select from "${schema}".polls`)).rowCount;

const seenBy = async (node: PostgresStore): Promise<readonly unknown[]> =>
  (await node.claimDue(10)).claims.map(({ seenAt }) => seenAt.toISOString());

describe("a slot that a node saw due without room", () => {
  it("stays marked as seen after that node has signed off", async () => {
    const set = scene();
    const [full, free] = [await set.node(), await set.node()];
    await planAll([full, free], ["a/x"]);
    await leaveAll(set, full);
    await full.close();
    expect(await pollsIn(set)).toBe(0);
    expect(await seenBy(free)).toEqual([START]);
  });

  it("stays marked as seen after that node is dead and removed", async () => {
    const set = scene();
    const [full, free] = [await set.node(), await set.node()];
    await planAll([full, free], ["a/x"]);
    await leaveAll(set, full);
    await set.clock.advance(21 * LEASE_MS);
    await free.claimDue(0);
    expect(await pollsIn(set)).toBe(0);
    expect(await seenBy(free)).toEqual([START]);
  });

  it.each([10_000, 100])("was seen then also when it waits for its agent %i ms later", async (later) => {
    for (const index of [0, 1]) {
      const set = scene();
      const nodes = [await set.node(), await set.node()];
      await planAll(nodes, ["a/x", "a/y"]);
      const [full] = nodes as [PostgresStore];
      const claim = only((await full.claimDue(1)).claims);
      await full.claimDue(0);
      await set.clock.advance(later);
      expect((await full.claimDue(1)).claims).toEqual([]);
      await set.clock.advance("10s");
      await completeClaim(full, claim, {});
      expect(await Promise.all(nodes.slice(index, index + 1).map(seenBy))).toEqual([[START]]);
    }
  });

  it("was not seen by a node that does not define it", async () => {
    const set = scene();
    const [full, free] = [await set.node(), await set.node()];
    await planAll([free], ["a/x", "b/x"]);
    await full.define({ schedules: [key("b/x")] });
    await leaveAll(set, full);
    expect(await seenBy(free)).toEqual(["2026-03-01T00:00:20.000Z", START]);
  });

  it("was not seen before that node defined it, and earlier marks stay", async () => {
    const set = scene();
    const [full, free] = [await set.node(), await set.node()];
    await planAll([free], ["a/x", "b/x"]);
    await full.define({ schedules: [key("b/x")] });
    await leaveAll(set, full);
    await full.define({ schedules: [key("a/x"), key("b/x")] });
    expect(await seenBy(free)).toEqual(["2026-03-01T00:00:20.000Z", START]);
  });

  it("waits for its agent as seen then, and is reported once", async () => {
    const set = scene();
    const [full, free] = [await set.node(), await set.node()];
    await planAll([full, free], ["a/x", "a/y"]);
    await leaveAll(set, full);
    const { claims, skipped } = await free.claimDue(10);
    expect([names(claims), skipped]).toEqual([["a/x"], []]);
    for (const claim of claims) await completeClaim(free, claim, {});
    expect(await seenBy(free)).toEqual([START]);
  });

  it("leaves no poll behind when it was claimed", async () => {
    const set = scene();
    const one = await set.node();
    await planAll([one], ["a/x"]);
    await leaveAll(set, one);
    expect(await pollsIn(set)).toBe(1);
    await one.claimDue(10);
    await one.claimDue(10);
    expect(await pollsIn(set)).toBe(0);
  });
});

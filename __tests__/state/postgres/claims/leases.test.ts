/** When to look whether claims have been renewed is kept apart from them: nothing of it may be forgotten, or stay for ever. */
import { describe, expect, it } from "vitest";
import { completeClaim, key, LEASE_MS, names, only, planAll, scene, type Scene } from "../scene.js";
import { sharedPool } from "../schema.js";

const leasesIn = async ({ schema }: Scene): Promise<number | null> =>
  (await sharedPool().query(`select from "${schema}".leases`)).rowCount;

describe("the lease of a claim", () => {
  it("ends when it was renewed for the last time, however often that was", async () => {
    const set = scene();
    const [one, two] = [await set.node(), await set.node()];
    await planAll([one, two], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    for (let renewals = 0; renewals < 6; renewals++) {
      await set.clock.advance(LEASE_MS / 2);
      expect(await one.renew(claim)).toBe(true);
      expect((await two.claimDue(10)).claims).toEqual([]);
    }
    await set.clock.advance(LEASE_MS);
    expect(names((await two.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("ends only for the claims of a batch that were not renewed", async () => {
    const set = scene();
    const [one, two] = [await set.node(), await set.node()];
    await planAll([one, two], ["a/x", "b/x", "c/x"]);
    const { claims } = await one.claimDue(10);
    await set.clock.advance(LEASE_MS / 2);
    for (const claim of claims.slice(0, 2)) await one.renew(claim);
    if (claims[0] !== undefined) await completeClaim(one, claims[0], {});
    await set.clock.advance(LEASE_MS / 2);
    expect(names((await two.claimDue(10)).claims)).toEqual(["c/x"]);
    await set.clock.advance(LEASE_MS / 2);
    expect(names((await two.claimDue(10)).claims)).toEqual(["b/x"]);
  });

  it("ends for a claim on request", async () => {
    const { node, clock } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x"]);
    expect(await one.claim(key("a/x"))).toMatchObject({ source: "manual" });
    await clock.advance(LEASE_MS);
    expect(names((await two.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is checked once when all its claims have ended or were renewed", async () => {
    const set = scene();
    const one = await set.node();
    await planAll([one], ["a/x", "b/x"]);
    const [first, second] = (await one.claimDue(10)).claims;
    if (first !== undefined) await completeClaim(one, first, {});
    await set.clock.advance(LEASE_MS / 2);
    if (second !== undefined) await one.renew(second);
    expect(await leasesIn(set)).toBe(2);
    await set.clock.advance(LEASE_MS / 2);
    await one.claimDue(10);
    expect(await leasesIn(set)).toBe(1);
  });
});

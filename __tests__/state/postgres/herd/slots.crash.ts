import { describe, expect, it } from "vitest";
import { Children } from "../../child.js";
import { claimedBy, fleetOf } from "./slots.js";

describe("a hundred thousand slots of a PostgreSQL store", () => {
  it.each([2, 3, 5])("are run once each by %i processes", async (count) => {
    await using children = new Children();
    const fleet = await fleetOf(children, { agents: 1_000, slots: 100, batch: 200, leaseMs: 30_000 });
    const nodes = Array.from({ length: count }, () => fleet.start());
    expect(await claimedBy(nodes)).toBe(100_000);
    expect(await fleet.accepted()).toEqual({ slots: 100_000, tokens: 100_000 });
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });
});

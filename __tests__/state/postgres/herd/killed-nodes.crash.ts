import { describe, expect, it } from "vitest";
import { runKilledNodes } from "./killed-nodes.js";

describe("three nodes of which a random one is killed every few seconds", () => {
  it.each([1, 2, 3])("take over in time, lose no slot and run no slot twice (seed %i)", async (seed) => {
    const { breaches, takeovers, allowedMs } = await runKilledNodes({
      kills: 20,
      everyMs: 3_000,
      agents: 6,
      seed,
    });
    expect(breaches).toEqual([]);
    expect(takeovers.filter((ms) => ms > allowedMs)).toEqual([]);
    expect(takeovers.length).toBeGreaterThan(20);
  });
});

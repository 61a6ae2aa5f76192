import { describe, expect, it } from "vitest";
import { runKilledNodes } from "./killed-nodes.js";

describe("nodes of which one is killed again and again", { timeout: 180_000 }, () => {
  it("take over its claims in time, lose no slot and run no slot twice", async () => {
    const { breaches, takeovers, allowedMs } = await runKilledNodes({
      kills: 2,
      everyMs: 500,
      agents: 3,
      leaseMs: 5_000,
    });
    expect(breaches).toEqual([]);
    expect(takeovers.filter((ms) => ms > allowedMs)).toEqual([]);
    expect(takeovers.length).toBeGreaterThan(0);
  });
});

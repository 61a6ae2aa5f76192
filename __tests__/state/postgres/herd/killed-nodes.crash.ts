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

describe("three nodes that are killed, stopped and restarted at random", () => {
  it.each(Array.from({ length: 10 }, (_, index) => 100 + index))(
    "lose no slot, run no attempt twice and keep to the capacity (seed %i)",
    async (seed) => {
      const { breaches, runs, cut, continued } = await runKilledNodes({
        kills: 30,
        everyMs: 1_000,
        agents: 40,
        seed,
        troubles: ["kill", "stop", "restart"],
        jobMs: [5, 200],
      });
      const figures = `${runs} runs, ${cut} cut, ${continued} continued, ${breaches.length} breaches`;
      process.stdout.write(`seed ${seed}: ${figures}\n`);
      expect(breaches).toEqual([]);
      expect(cut).toBeGreaterThan(0);
      expect(continued).toBe(cut);
    },
  );
});

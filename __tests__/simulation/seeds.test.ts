import { describe, expect, it } from "vitest";
import { simulate } from "./simulation.js";
import { explain } from "./explain.js";

const SEEDS = 200;
const SEEDS_A_TEST = 25;

describe("a simulated scheduler", () => {
  const groups = Array.from({ length: SEEDS / SEEDS_A_TEST }, (_, group) => group * SEEDS_A_TEST + 1);

  it.each(groups)("keeps its guarantees for the seeds from %i", async (first) => {
    for (let seed = first; seed < first + SEEDS_A_TEST; seed++)
      expect(explain(await simulate(seed))).toBeUndefined();
  });

  it("lives the same life again for the same seed", async () => {
    for (const seed of [1, 2, 3, 5, 8, 13, 21]) {
      const { trace } = await simulate(seed);
      expect((await simulate(seed)).trace).toEqual(trace);
    }
  });
});

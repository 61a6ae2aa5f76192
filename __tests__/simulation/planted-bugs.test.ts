import { describe, expect, it } from "vitest";
import { PLANTED_BUGS, withBug } from "./planted-bugs.js";
import { type Rota, simulate } from "./simulation.js";

const MOST_SEEDS = 60;

async function firstBroken(rota: Rota, firstSeed: number): Promise<string | undefined> {
  const others = Array.from({ length: MOST_SEEDS }, (_, index) => index + 1);
  for (const seed of [firstSeed, ...others]) {
    const { broken } = await simulate(seed, rota);
    if (broken !== undefined) return broken.guarantee;
  }
  return undefined;
}

describe("the simulator", () => {
  const bugs = PLANTED_BUGS.map((bug, index) => [bug.name, bug, index] as const);

  it.each(bugs)("notices when %s", async (_, bug, index) => {
    expect(bug.breaks).toContain(await firstBroken(await withBug(bug, index), bug.seed ?? 1));
  });
});

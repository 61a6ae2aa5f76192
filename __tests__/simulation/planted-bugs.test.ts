import { describe, expect, it } from "vitest";
import { PLANTED_BUGS } from "./planted-bugs.js";
import { seam, withSeams } from "./seams.js";
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
  const bugs = PLANTED_BUGS.map((bug) => [bug.name, bug] as const);

  it.each(bugs)("notices when %s", async (_, bug) => {
    expect(bug.breaks).toContain(await firstBroken(await withSeams(bug.seams), bug.seed ?? 1));
  });
});

describe("a seam", () => {
  it("is gone from what is loaded after it", async () => {
    const [bug] = PLANTED_BUGS;
    const planted = await withSeams(bug?.seams ?? []);
    expect((await simulate(1, planted)).broken).toBeDefined();
    expect((await simulate(1, await withSeams([]))).broken).toBeUndefined();
  });

  it("of a module that nothing imports is refused", async () => {
    await expect(withSeams([seam("state/no-such-module", () => ({}))])).rejects.toThrow(
      "nothing imports src/state/no-such-module.ts",
    );
  });

  it("of an export that is not there is refused", async () => {
    const misnamed = seam<object>("state/claim-rules", () => ({ interuption: () => ({}) }));
    await expect(withSeams([misnamed])).rejects.toThrow("src/state/claim-rules.ts has no export interuption");
  });
});

/** The kills of a journal's owner at length: minutes of it, so it runs on its own and not with every `npm test`. */
import { describe, expect, it } from "vitest";
import { systemRandom } from "../../../../src/random.js";
import { killJournals } from "./journal-kills.js";

const DIRECTORIES = 4;

describe("a journal whose owner is killed 1,000 times", () => {
  it("has every decision that was acknowledged, and each decision wholly or not at all", async () => {
    const killing = Array.from({ length: DIRECTORIES }, () =>
      killJournals(1_000 / DIRECTORIES, systemRandom),
    );
    const counts = await Promise.all(killing);
    expect(Math.min(...counts)).toBeGreaterThan(1_000);
  });
});

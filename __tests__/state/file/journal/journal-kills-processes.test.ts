/** What a process leaves in its journal that is killed at any moment. `npm run test:crash` does the same for longer. */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../src/random.js";
import { killJournals } from "./journal-kills.js";

describe("a journal whose owner is killed 30 times", () => {
  it("has every decision that was acknowledged, and each decision wholly or not at all", async () => {
    const counts = await Promise.all([1, 2].map((seed) => killJournals(15, seededRandom(seed))));
    expect(Math.min(...counts)).toBeGreaterThan(100);
  }, 240_000);
});

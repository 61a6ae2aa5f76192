/** What an owner leaves behind that is killed at any moment. `npm run test:crash` does the same for longer. */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/random.js";
import { crashCycles } from "./crash-cycles.js";

const DIRECTORIES = [1, 2, 3, 4];

describe("a state directory whose owner is killed 100 times", () => {
  it("holds what was acknowledged and at most one write more, and nothing half done", async () => {
    const counts = await Promise.all(DIRECTORIES.map((seed) => crashCycles(25, seededRandom(seed))));
    // Each cycle has at least been ready.
    expect(Math.min(...counts)).toBeGreaterThan(25);
  }, 240_000);
});

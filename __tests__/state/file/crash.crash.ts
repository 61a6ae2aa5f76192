/** The crash test at length: minutes of it, so it runs on its own and not with every `npm test`. */
import { describe, expect, it } from "vitest";
import { systemRandom } from "../../../src/random.js";
import { crashCycles } from "./crash-cycles.js";

const DIRECTORIES = 4;

describe("a state directory whose owner is killed 1,000 times", () => {
  it("holds what was acknowledged and at most one write more, and nothing half done", async () => {
    const cycling = Array.from({ length: DIRECTORIES }, () => crashCycles(1_000 / DIRECTORIES, systemRandom));
    const counts = await Promise.all(cycling);
    expect(Math.min(...counts)).toBeGreaterThan(1_000 / DIRECTORIES);
  });
});

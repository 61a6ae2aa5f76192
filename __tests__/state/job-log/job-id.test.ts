import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/index.js";
import { JobIds } from "../../../src/state/job-log/job-id.js";

describe("the ids of one process", () => {
  const at = new Date("2026-03-01T09:00:00Z");

  it.each([1, 2, 3])("are all different, also 200,000 of one day: seed %i", (seed) => {
    const ids = new JobIds(seededRandom(seed));
    const drawn = Array.from({ length: 200_000 }, () => ids.next(at));
    expect(new Set(drawn).size).toBe(200_000);
    expect(drawn.filter((id) => !/^job-2026-03-01-[0-9a-z]{6}$/.test(id))).toEqual([]);
  });

  it("are different also for a source of randomness that answers one number", () => {
    for (const number of [0, 0.5, 1 - 2 ** -53]) {
      const ids = new JobIds(() => number);
      expect(new Set(Array.from({ length: 1_000 }, () => ids.next(at))).size).toBe(1_000);
    }
  });

  it("differ from process to process", () => {
    expect(new JobIds(seededRandom(1)).next(at)).not.toBe(new JobIds(seededRandom(2)).next(at));
  });
});

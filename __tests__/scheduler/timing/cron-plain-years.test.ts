import { describe, expect, it } from "vitest";
import { comparePlainYears } from "../../oracle/plain-years.js";

describe("nextCronRun in plain years", () => {
  it("agrees with the oracle on random expressions", () => {
    const result = comparePlainYears(2_000, 1);
    expect(result.disagreements).toEqual([]);
    expect(result.points).toBeGreaterThan(39_000);
    expect(result.neverMatching).toBeGreaterThan(0);
  });
});

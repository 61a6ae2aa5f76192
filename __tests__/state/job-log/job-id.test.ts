import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/index.js";
import { FIRST_LONG_NUMBER, isJobId, JobIds, numberedJobId } from "../../../src/state/job-log/job-id.js";

describe("the ids of one process", () => {
  const at = new Date("2026-03-01T09:00:00Z");

  it.each([1, 2, 3])("are all different, also 200,000 of one day: seed %i", (seed) => {
    const ids = new JobIds(seededRandom(seed));
    const drawn = Array.from({ length: 200_000 }, () => ids.next(at));
    expect(new Set(drawn).size).toBe(200_000);
    expect(drawn.filter((id) => !/^job-2026-03-01-[0-9a-z]{8}$/.test(id))).toEqual([]);
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

describe("the ids of two processes of one day", () => {
  const at = new Date("2026-03-01T09:00:00Z");

  // With six characters, 43,200 jobs before and after a restart had 0.86 ids in common.
  it("do not meet in 100 restarts between 2,000 jobs each", () => {
    const random = seededRandom(7);
    const drawn = new Set<string>();
    for (let restart = 0; restart < 100; restart++) {
      const ids = new JobIds(random);
      for (let job = 0; job < 2_000; job++) drawn.add(ids.next(at));
    }
    expect(drawn.size).toBe(200_000);
  });
});

describe("the id of a numbered job", () => {
  const at = new Date("2026-03-01T09:00:00Z");

  it("has six characters below the first number of this version, as its record has", () => {
    expect(numberedJobId(at, 1)).toBe("job-2026-03-01-000001");
    expect(numberedJobId(at, FIRST_LONG_NUMBER - 1)).toBe("job-2026-03-01-zzzzzz");
  });

  it("has eight characters from there on, in the order of the numbers", () => {
    expect(numberedJobId(at, FIRST_LONG_NUMBER)).toBe("job-2026-03-01-01000000");
    expect(numberedJobId(at, FIRST_LONG_NUMBER + 35)).toBe("job-2026-03-01-0100000z");
  });

  it.each(["job-2026-03-01-000001", "job-2026-03-01-01000000"])("is read: %s", (id) => {
    expect(isJobId(id)).toBe(true);
  });

  it.each(["job-2026-03-01-00001", "job-2026-03-01-0000001", "job-2026-03-01-010000000"])(
    "is refused with a different length: %s",
    (id) => {
      expect(isJobId(id)).toBe(false);
    },
  );
});

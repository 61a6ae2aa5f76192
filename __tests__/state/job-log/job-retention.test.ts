import { describe, expect, it } from "vitest";
import { excessOf, type PartTally, retentionLimits } from "../../../src/state/job-log/job-retention.js";
import { FileJobLog } from "../../../src/state/file/jobs/file-job-log.js";
import { MemoryJobLog } from "../../../src/state/memory/memory-job-log.js";

const now = new Date("2026-11-15T12:00:00Z");
const limits = retentionLimits({});

interface Given {
  readonly open?: number;
  readonly isCurrent?: boolean;
  readonly newestAt?: string;
  /** The bytes of each job. */
  readonly bytes?: number;
}

/** A part with so many jobs of each schedule. */
function part(name: string, schedules: Record<string, number>, given: Given = {}): PartTally {
  const day = `2026-${name.slice(0, 5)}`;
  const { open = 0, isCurrent = false, newestAt = `${day}T11:00:00.000Z`, bytes = 500 } = given;
  const tallies = Object.entries(schedules).map(([id, jobs]) => [id, { jobs, bytes: jobs * bytes }] as const);
  const jobs = open + Object.values(schedules).reduce((sum, count) => sum + count, 0);
  return {
    part: `2026-${name}`,
    day,
    open,
    jobs,
    newestAt,
    isCurrent,
    schedules: new Map(tallies),
  };
}

const plain = (excess: ReturnType<typeof excessOf>): unknown =>
  Object.fromEntries(
    Array.from(excess, ([name, one]) => [name.slice(5), one === "all" ? one : Object.fromEntries(one)]),
  );

describe("a part of a job log", () => {
  it("goes when the last of its jobs started longer ago than the age", () => {
    const parts = [
      part("11-15", { a: 1 }, { isCurrent: true }),
      part("10-16", { a: 1 }),
      part("10-15", { a: 1 }),
    ];
    expect(plain(excessOf(parts, now, limits))).toEqual({ "10-16": "all", "10-15": "all" });
    expect(plain(excessOf(parts, now, { ...limits, maxAgeDays: 31 }))).toEqual({ "10-15": "all" });
  });

  it("goes by an age of hours too, when it gets no new jobs", () => {
    const parts = [
      part("11-15.1", { a: 1 }, { isCurrent: true, newestAt: "2026-11-15T01:00:00.000Z" }),
      part("11-15", { a: 1 }, { newestAt: "2026-11-15T01:00:00.000Z" }),
    ];
    expect(plain(excessOf(parts, now, { ...limits, maxAgeDays: 0.25 }))).toEqual({ "11-15": "all" });
  });

  it("goes when the newer parts have as many jobs as are kept in all", () => {
    const parts = [
      part("11-15", { a: 39 }, { isCurrent: true }),
      part("11-14", { a: 60 }),
      part("11-13", { a: 1 }),
    ];
    const kept = { ...limits, keep: Infinity };
    expect(plain(excessOf(parts, now, { ...kept, maxJobs: 99 }))).toEqual({ "11-13": "all" });
    expect(plain(excessOf(parts, now, { ...kept, maxJobs: 100 }))).toEqual({});
  });

  it("loses what is beyond the last jobs of each schedule, by schedule", () => {
    const parts = [
      part("11-15", { busy: 150, rare: 1 }, { isCurrent: true }),
      part("11-14", { busy: 150, rare: 1 }),
      part("11-13", { busy: 150, rare: 1 }),
    ];
    expect(plain(excessOf(parts, now, limits))).toEqual({ "11-14": { busy: 100 }, "11-13": { busy: 150 } });
  });

  it("is not written anew for a few jobs", () => {
    const parts = [part("11-15", { a: 200 }, { isCurrent: true }), part("11-14", { a: 49, b: 151 })];
    expect(plain(excessOf(parts, now, limits))).toEqual({});
  });

  it("stays while a job of it is open, and counts", () => {
    const parts = [
      part("11-14", { a: 300 }, { open: 1 }),
      part("11-13", { a: 1 }),
      part("01-01", {}, { open: 1 }),
    ];
    expect(plain(excessOf(parts, now, limits))).toEqual({ "11-13": { a: 1 } });
  });

  it("of a day to come stays, because the clock may have been set back", () => {
    expect(plain(excessOf([part("11-16", { a: 1 })], now, { ...limits, maxAgeDays: 0 }))).toEqual({});
  });
});

describe("a size that is exceeded", () => {
  it("costs the schedules with the most jobs, and leaves each its last", () => {
    const parts = [
      part("11-15", { busy: 1 }, { isCurrent: true }),
      part("11-14", { busy: 180, rare: 10 }),
      part("11-13", { rare: 1 }),
    ];
    const excess = plain(excessOf(parts, now, { ...limits, maxSizeBytes: 20_000 })) as Record<
      string,
      Record<string, number>
    >;
    expect(excess["11-14"]?.["rare"]).toBeUndefined();
    expect(excess["11-14"]?.["busy"]).toBeGreaterThan(140);
    const nothing = excessOf(parts, now, { ...limits, maxSizeBytes: 0 });
    expect(plain(nothing)).toEqual({ "11-14": { busy: 180, rare: 9 }, "11-13": { rare: 1 } });
  });

  it("removes jobs in steps of a tenth until all fits", () => {
    const parts = [part("11-15", {}, { isCurrent: true }), part("11-14", { a: 200 })];
    const excess = excessOf(parts, now, { ...limits, maxSizeBytes: 70_000 });
    expect(plain(excess)).toEqual({ "11-14": { a: 70 } });
  });
});

describe("the limits of a job log", () => {
  it("are the defaults where nothing was asked for", () => {
    expect(retentionLimits({ maxJobs: undefined })).toEqual({
      keep: 200,
      maxAgeDays: 30,
      maxJobs: Infinity,
      maxOutputBytes: 1_000_000,
      maxSizeBytes: 1_000_000_000,
    });
  });

  it("have none of each schedule where one of all jobs was asked for", () => {
    expect(retentionLimits({ maxJobs: 10 })).toMatchObject({ maxJobs: 10, keep: Infinity });
    expect(retentionLimits({ maxJobs: 10, keep: 3 })).toMatchObject({ maxJobs: 10, keep: 3 });
  });

  it.each([0, 0.5, 1e9, Infinity])("may be %d", (limit) => {
    const asked = { maxAgeDays: limit, maxJobs: limit, maxOutputBytes: limit, maxSizeBytes: limit };
    expect(retentionLimits(asked)).toMatchObject(asked);
  });

  it.each([NaN, -1, -Infinity])("are refused when one is %d", (limit) => {
    const message = `: expected a number from 0, or Infinity for no limit.`;
    for (const name of ["maxAgeDays", "maxJobs", "maxOutputBytes", "maxSizeBytes"])
      expect(() => retentionLimits({ [name]: limit })).toThrow(`Invalid ${name} ${limit}${message}`);
  });

  it.each([0, -1, 1.5, NaN])("are refused with %d jobs of each schedule", (keep) => {
    expect(() => retentionLimits({ keep })).toThrow(`Invalid keep ${keep}: expected a whole number from 1`);
  });

  it("are refused when a log is made", () => {
    expect(() => new FileJobLog({ directory: "unused", maxAgeDays: NaN })).toThrow("Invalid maxAgeDays NaN");
    expect(() => new FileJobLog({ directory: "unused", maxJobs: -1 })).toThrow("Invalid maxJobs -1");
    expect(() => new MemoryJobLog({ keep: 0 })).toThrow("Invalid keep 0");
  });
});

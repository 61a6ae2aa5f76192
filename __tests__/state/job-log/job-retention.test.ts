import { describe, expect, it } from "vitest";
import { FileJobLog } from "../../../src/state/file/jobs/file-job-log.js";
import { expiredDays, retentionLimits } from "../../../src/state/job-log/job-retention.js";
import { MemoryJobLog } from "../../../src/state/memory/memory-job-log.js";

const now = new Date("2026-11-15T12:00:00Z");
const day = (date: string, jobs = 1, open = 0): { day: string; jobs: number; open: number } => ({
  day: `2026-${date}`,
  jobs,
  open,
});
const plenty = { maxAgeDays: 30, maxJobs: 10_000 };

describe("a day of jobs", () => {
  it("goes when it ended longer ago than the age", () => {
    const days = [day("10-14"), day("10-15"), day("10-16"), day("11-15")];
    expect(expiredDays(days, now, plenty)).toEqual(["2026-10-15", "2026-10-14"]);
  });

  it("goes when the newer days alone have enough jobs", () => {
    const days = [day("11-11", 1), day("11-12", 1), day("11-13", 60), day("11-14", 60), day("11-15", 39)];
    expect(expiredDays(days, now, { maxAgeDays: 30, maxJobs: 99 })).toEqual([
      "2026-11-13",
      "2026-11-12",
      "2026-11-11",
    ]);
    expect(expiredDays(days, now, { maxAgeDays: 30, maxJobs: 100 })).toEqual(["2026-11-12", "2026-11-11"]);
  });

  it("stays while a job of it is open, and counts", () => {
    const days = [day("01-01", 5, 1), day("11-12", 5), day("11-13", 5, 1), day("11-14", 5)];
    expect(expiredDays(days, now, { maxAgeDays: 30, maxJobs: 5 })).toEqual(["2026-11-12"]);
  });

  it("stays while it is today, or to come", () => {
    const days = [day("11-15", 5), day("11-16", 5), day("12-31", 5)];
    expect(expiredDays(days, now, { maxAgeDays: 0, maxJobs: 0 })).toEqual([]);
  });

  it("is gone at midnight where nothing is to be kept", () => {
    expect(expiredDays([day("11-14")], now, { maxAgeDays: 0, maxJobs: 10 })).toEqual(["2026-11-14"]);
  });
});

describe("the limits of a job log", () => {
  it("are the defaults where nothing was asked for", () => {
    expect(retentionLimits({ maxJobs: undefined })).toEqual(plenty);
  });

  it.each([0, 0.5, 1e9, Infinity])("may be %d", (limit) => {
    const limits = { maxAgeDays: limit, maxJobs: limit };
    expect(retentionLimits(limits)).toEqual(limits);
  });

  it.each([NaN, -1, -Infinity])("are refused when one is %d", (limit) => {
    const message = `: expected a number from 0, or Infinity for no limit.`;
    expect(() => retentionLimits({ maxAgeDays: limit })).toThrow(`Invalid maxAgeDays ${limit}${message}`);
    expect(() => retentionLimits({ maxJobs: limit })).toThrow(`Invalid maxJobs ${limit}${message}`);
  });

  it("are refused when a log is made", () => {
    expect(() => new FileJobLog({ directory: "unused", maxAgeDays: NaN })).toThrow("Invalid maxAgeDays NaN");
    expect(() => new FileJobLog({ directory: "unused", maxJobs: -1 })).toThrow("Invalid maxJobs -1");
    expect(() => new MemoryJobLog({ maxJobs: -1 })).toThrow("Invalid maxJobs -1");
  });
});

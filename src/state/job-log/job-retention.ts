/**
 * How much a job log keeps: of each schedule, in all, how long, and how many bytes. Which jobs of which parts of a log of files
 * have to go is decided here; removing them is the log's.
 */
import { quote } from "../../errors.js";
import { invalidState } from "../errors.js";
import {
  DEFAULT_KEEP,
  DEFAULT_MAX_AGE_DAYS,
  DEFAULT_MAX_OUTPUT_BYTES,
  DEFAULT_MAX_SIZE_BYTES,
  type JobLimits,
} from "./job-log.js";

export interface RetentionLimits {
  readonly keep: number;
  readonly maxAgeDays: number;
  readonly maxJobs: number;
  readonly maxOutputBytes: number;
  readonly maxSizeBytes: number;
}

/** What was asked for, or the defaults. Infinity stands for unlimited; throws for an invalid number. */
export function retentionLimits(asked: JobLimits): RetentionLimits {
  const {
    maxAgeDays = DEFAULT_MAX_AGE_DAYS,
    maxJobs = Infinity,
    maxSizeBytes = DEFAULT_MAX_SIZE_BYTES,
  } = asked;
  const { maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES } = asked;
  for (const [name, limit] of Object.entries({ maxAgeDays, maxJobs, maxOutputBytes, maxSizeBytes }))
    if (!(limit >= 0))
      throw invalidState(
        `Invalid ${name} ${quote(limit)}: expected a number from 0, or Infinity for no limit.`,
      );
  // A limit of all jobs was asked for before there was one of each schedule.
  const { keep = asked.maxJobs === undefined ? DEFAULT_KEEP : Infinity } = asked;
  if (keep !== Infinity && !(Number.isSafeInteger(keep) && keep >= 1))
    throw invalidState(
      `Invalid keep ${quote(keep)}: expected a whole number from 1, or Infinity for no limit.`,
    );
  return { keep, maxAgeDays, maxJobs, maxOutputBytes, maxSizeBytes };
}

/** The jobs of one schedule in a part. */
export interface ScheduleTally {
  readonly jobs: number;
  /** Of records and outputs. */
  readonly bytes: number;
}

/** A part of a day's jobs. */
export interface PartTally {
  readonly part: string;
  /** "2026-11-15" */
  readonly day: string;
  /** How many of its jobs have not ended. */
  readonly open: number;
  readonly jobs: number;
  /** When the last of its jobs started. */
  readonly newestAt: string;
  readonly schedules: ReadonlyMap<string, ScheduleTally>;
  /** Whether new jobs may still be added to it. */
  readonly isCurrent: boolean;
}

/** What has to go from a part: all jobs, or so many of the oldest of each schedule. */
export type Excess = "all" | ReadonlyMap<string, number>;

const DAY_MS = 86_400_000;
/** A part is written anew when so large a share of its jobs or bytes goes. */
const WORTH_WRITING = 1 / 4;
const SMALLER_KEEP = 0.9;

/**
 * What has to go from each part; the parts are given newest first. A part with an open job stays, and so does the current
 * part: if it has an excess, the log begins the next part. If all is too large, fewer jobs of each schedule are kept, so that
 * the busiest lose the most; the last job of each schedule stays.
 */
export function excessOf(
  tallies: readonly PartTally[],
  now: Date,
  limits: RetentionLimits,
): ReadonlyMap<string, Excess> {
  const today = now.toISOString().slice(0, 10);
  const oldestMs = now.getTime() - limits.maxAgeDays * DAY_MS;
  const excess = new Map<string, Excess>();
  const remaining: PartTally[] = [];
  let newerJobs = 0;
  for (const tally of tallies) {
    const isOld = !(Date.parse(tally.newestAt) > oldestMs) || newerJobs >= limits.maxJobs;
    newerJobs += tally.jobs;
    // The clock may have been set back from a day to come.
    const isPast = tally.day < today || (tally.day === today && !tally.isCurrent);
    if (isOld && tally.open === 0 && isPast) excess.set(tally.part, "all");
    else remaining.push(tally);
  }
  const keep = keepWithin(remaining, limits);
  for (const [index, drops] of dropsOf(remaining, keep).entries()) {
    const tally = remaining[index];
    if (tally !== undefined && tally.open === 0 && isWorthIt(tally, drops)) excess.set(tally.part, drops);
  }
  return excess;
}

/** How many jobs of each schedule may be kept, so that all together are not too large. */
function keepWithin(tallies: readonly PartTally[], { keep, maxSizeBytes }: RetentionLimits): number {
  if (bytesWith(tallies, keep) <= maxSizeBytes) return keep;
  const jobs = new Map<string, number>();
  let most = 1;
  for (const { schedules } of tallies)
    for (const [schedule, tally] of schedules) {
      const count = (jobs.get(schedule) ?? 0) + tally.jobs;
      jobs.set(schedule, count);
      most = Math.max(most, count);
    }
  let fitting = Math.min(keep, most);
  while (fitting > 1 && bytesWith(tallies, fitting) > maxSizeBytes)
    fitting = Math.max(1, Math.floor(fitting * SMALLER_KEEP));
  return fitting;
}

function bytesWith(tallies: readonly PartTally[], keep: number): number {
  const drops = dropsOf(tallies, keep);
  let bytes = 0;
  for (const [index, { schedules }] of tallies.entries())
    for (const [schedule, tally] of schedules)
      bytes += tally.bytes * (1 - (drops[index]?.get(schedule) ?? 0) / tally.jobs);
  return bytes;
}

/** For each part, how many jobs of each schedule come after the newest `keep`. */
function dropsOf(tallies: readonly PartTally[], keep: number): readonly Map<string, number>[] {
  const newer = new Map<string, number>();
  return tallies.map(({ schedules }) => {
    const drops = new Map<string, number>();
    for (const [schedule, { jobs }] of schedules) {
      const before = newer.get(schedule) ?? 0;
      newer.set(schedule, before + jobs);
      const dropped = Math.min(jobs, before + jobs - keep);
      if (dropped > 0) drops.set(schedule, dropped);
    }
    return drops;
  });
}

function isWorthIt({ jobs, schedules }: PartTally, drops: ReadonlyMap<string, number>): boolean {
  let [bytes, droppedBytes, dropped] = [0, 0, 0];
  for (const [schedule, tally] of schedules) {
    const count = drops.get(schedule) ?? 0;
    bytes += tally.bytes;
    droppedBytes += (tally.bytes * count) / tally.jobs;
    dropped += count;
  }
  return dropped > 0 && (dropped >= jobs * WORTH_WRITING || droppedBytes >= bytes * WORTH_WRITING);
}

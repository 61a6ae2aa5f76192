/**
 * How long and how many jobs are kept, and which days of a job log are old enough to go. Whole days only: removing them
 * is the log's.
 */
import { quote } from "../../errors.js";
import { invalidState } from "../errors.js";
import { DEFAULT_MAX_AGE_DAYS, DEFAULT_MAX_JOBS } from "./job-log.js";

export interface DayTally {
  /** "2026-11-15" */
  readonly day: string;
  readonly jobs: number;
  /** How many of them have not ended. */
  readonly open: number;
}

export interface RetentionLimits {
  /** How long a day is kept after its end. @default 30 */
  readonly maxAgeDays: number;
  /** A day goes when the newer days alone have this many jobs. @default 10_000 */
  readonly maxJobs: number;
}

/** What was asked for, or the defaults. Infinity stands for unlimited; throws for an invalid number. */
export function retentionLimits(asked: {
  readonly [Limit in keyof RetentionLimits]?: number | undefined;
}): RetentionLimits {
  const maxAgeDays = asked.maxAgeDays ?? DEFAULT_MAX_AGE_DAYS;
  const maxJobs = asked.maxJobs ?? DEFAULT_MAX_JOBS;
  for (const [name, limit] of Object.entries({ maxAgeDays, maxJobs }))
    if (!(limit >= 0))
      throw invalidState(
        `Invalid ${name} ${quote(limit)}: expected a number from 0, or Infinity for no limit.`,
      );
  return { maxAgeDays, maxJobs };
}

/** How many ended jobs of one schedule are kept. @default Infinity */
export function keepLimit(asked: number | undefined): number {
  const keep = asked ?? Infinity;
  if (keep === Infinity || (Number.isSafeInteger(keep) && keep >= 1)) return keep;
  throw invalidState(
    `Invalid keep ${quote(keep)}: expected a whole number from 1, or Infinity for no limit.`,
  );
}

const DAY_MS = 86_400_000;

/** Never today or a day to come, which the clock may have been set back from, nor a day with a job still open. */
export function expiredDays(tallies: readonly DayTally[], now: Date, limits: RetentionLimits): string[] {
  const today = now.toISOString().slice(0, 10);
  const expired: string[] = [];
  let newerJobs = 0;
  for (const { day, jobs, open } of tallies.toSorted((a, b) => (a.day < b.day ? 1 : -1))) {
    const ageMs = now.getTime() - (Date.parse(day) + DAY_MS);
    const isOld = ageMs >= limits.maxAgeDays * DAY_MS || newerJobs >= limits.maxJobs;
    if (isOld && day < today && open === 0) expired.push(day);
    newerJobs += jobs;
  }
  return expired;
}

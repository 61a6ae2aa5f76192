/**
 * Reads the days of a job log one by one, counts their jobs, and removes days past the limits. Says once per file
 * that lines of it were skipped. Writing is elsewhere.
 */
import type { Logger } from "../../../logger.js";
import { type DayJob, type JobDay, readDay, recordOfJob } from "./job-day.js";
import type { JobDirectory } from "./job-directory.js";
import { dayOf, dayOfJob } from "../../job-log/job-id.js";
import type { EndedJobRecord, JobRecord } from "../../job-log/job-log.js";
import { isEnded } from "../../job-log/job-record.js";
import { type DayTally, expiredDays, type RetentionLimits } from "../../job-log/job-retention.js";

/** What a log is writing to at this moment, and so must stay. */
export interface FilesInUse {
  isDayInUse(day: string): boolean;
  isOutputInUse(id: string): boolean;
}

interface SizedTally extends DayTally {
  /** Of the file that was counted: it only ever grows. */
  readonly size: number;
}

export class JobArchive {
  readonly #directory: JobDirectory;
  readonly #logger: Logger;
  readonly #tallies = new Map<string, SizedTally>();
  readonly #reported = new Set<string>();

  constructor(directory: JobDirectory, logger: Logger) {
    this.#directory = directory;
    this.#logger = logger;
  }

  async read(day: string): Promise<JobDay> {
    const bytes = (await this.#directory.read(this.#directory.dayPath(day))) ?? Buffer.alloc(0);
    const read = readDay(bytes);
    let open = 0;
    for (const { end } of read.jobs.values()) if (end === undefined) open++;
    this.#tallies.set(day, { day, jobs: read.jobs.size, open, size: bytes.length });
    this.#report(day, read.damagedLines);
    return read;
  }

  /** `undefined` where the job's line turns out to be damaged. */
  record(day: string, job: DayJob): JobRecord | undefined {
    const record = recordOfJob(job);
    if (record === undefined) this.#report(day, [job.lineNumber]);
    return record;
  }

  /** The jobs of a day that have not ended. */
  async openJobs(day: string): Promise<readonly DayJob[]> {
    if ((await this.#knownTally(day))?.open === 0) return [];
    const { jobs } = await this.read(day);
    return [...jobs.values()].filter(({ end }) => end === undefined);
  }

  /** Removes the days that are past the limits, with their outputs, and answers them. */
  async removeExpired(now: Date, limits: RetentionLimits, inUse: FilesInUse): Promise<readonly string[]> {
    const { days, outputs } = await this.#directory.list();
    const tallies: DayTally[] = [];
    for (const day of days) tallies.push(await this.#tally(day));
    const expired = new Set(expiredDays(tallies, now, limits).filter((day) => !inUse.isDayInUse(day)));
    for (const day of expired) {
      await this.#directory.remove(this.#directory.dayPath(day));
      this.#tallies.delete(day);
      this.#reported.delete(day);
    }
    const kept = new Set(days.filter((day) => !expired.has(day)));
    for (const id of outputs) {
      const day = dayOfJob(id);
      // Also what an earlier removal left behind. Today's first job may not have its line yet.
      const isWithoutDay = !kept.has(day) && day < dayOf(now) && !inUse.isOutputInUse(id);
      if (isWithoutDay) await this.#directory.remove(this.#directory.outputPath(id));
    }
    return [...expired];
  }

  async closedRecords(ids: readonly string[]): Promise<ReadonlyMap<string, EndedJobRecord>> {
    const closed = new Map<string, EndedJobRecord>();
    for (const [day, ofDay] of byDay(ids)) {
      const { jobs } = await this.read(day);
      for (const id of ofDay) {
        const job = jobs.get(id);
        const record = job?.end === undefined ? undefined : this.record(day, job);
        if (record !== undefined && isEnded(record)) closed.set(id, record);
      }
    }
    return closed;
  }

  /** The jobs without an end, apart from jobs of days that may have been removed. */
  async unrecordedJobs(
    ids: readonly string[],
    now: Date,
    limits: RetentionLimits,
  ): Promise<ReadonlySet<string>> {
    const unrecorded = new Set<string>();
    for (const [day, ofDay] of byDay(ids)) {
      const { jobs } = await this.read(day);
      for (const id of ofDay) if (jobs.get(id)?.end === undefined) unrecorded.add(id);
    }
    const expired = await this.#expiredAmong(new Set(Array.from(unrecorded, dayOfJob)), now, limits);
    return new Set([...unrecorded].filter((id) => !expired.has(dayOfJob(id))));
  }

  /** The given days that are past the limits, or would be if they still had a job. */
  async #expiredAmong(
    asked: ReadonlySet<string>,
    now: Date,
    limits: RetentionLimits,
  ): Promise<ReadonlySet<string>> {
    if (asked.size === 0) return new Set();
    const { days } = await this.#directory.list();
    const tallies: DayTally[] = [];
    for (const day of days) tallies.push(await this.#tally(day));
    for (const day of asked) if (!days.includes(day)) tallies.push({ day, jobs: 1, open: 0 });
    return new Set(expiredDays(tallies, now, limits).filter((day) => asked.has(day)));
  }

  async #tally(day: string): Promise<DayTally> {
    const known = await this.#knownTally(day);
    if (known !== undefined) return known;
    await this.read(day);
    return this.#tallies.get(day) ?? { day, jobs: 0, open: 0 };
  }

  /** `undefined` for a day that was never counted, or has grown since. */
  async #knownTally(day: string): Promise<DayTally | undefined> {
    const known = this.#tallies.get(day);
    if (known === undefined) return undefined;
    return known.size === (await this.#directory.sizeOfDay(day)) ? known : undefined;
  }

  #report(day: string, damagedLines: readonly number[]): void {
    const [first] = damagedLines;
    if (first === undefined || this.#reported.has(day)) return;
    this.#reported.add(day);
    const more = damagedLines.length > 1 ? ` and ${damagedLines.length - 1} more` : "";
    this.#logger.warn(
      `Skipped line ${first}${more} of ${this.#directory.dayPath(day)}: expected the record of a job.`,
    );
  }
}

function byDay(ids: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const days = new Map<string, string[]>();
  for (const id of ids) {
    const day = dayOfJob(id);
    const ofDay = days.get(day);
    if (ofDay === undefined) days.set(day, [id]);
    else ofDay.push(id);
  }
  return days;
}

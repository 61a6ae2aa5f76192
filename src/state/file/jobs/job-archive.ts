/**
 * Reads the days of a job log one by one, counts their jobs, and removes days past the limits. Says once per file
 * that lines of it were skipped. Writing is elsewhere.
 */
import type { Logger } from "../../../logger.js";
import { attempt, closeQuietly } from "../disk.js";
import { type DayJob, type JobDay, readDay, recordOfJob } from "./job-day.js";
import type { JobDirectory } from "./job-directory.js";
import { linePieces } from "../line-pieces.js";
import { type LineGlance, scanLines } from "./job-line.js";
import { dayOf, dayOfJob, numberOfJobId } from "../../job-log/job-id.js";
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
  async openJobs(day: string): Promise<readonly LineGlance[]> {
    if ((await this.#knownTally(day))?.open === 0) return [];
    return this.#count(day);
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
      const jobs = await this.#jobsOf(day, new Set(ofDay));
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
      const jobs = await this.#jobsOf(day, new Set(ofDay));
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
    await this.#count(day);
    return this.#tallies.get(day) ?? { day, jobs: 0, open: 0 };
  }

  /** Counts the jobs of a day, and returns the jobs that have not ended. Keeps a number of each job in memory, no line. */
  async #count(day: string): Promise<readonly LineGlance[]> {
    const started = new Set<number>();
    const open = new Map<string, LineGlance>();
    const size = await this.#scan(day, (glance) => {
      const { id, startedAt } = glance;
      if (startedAt === undefined) open.delete(id);
      else if (!started.has(numberOfJob(id))) open.set(id, glance);
      if (startedAt !== undefined) started.add(numberOfJob(id));
    });
    this.#tallies.set(day, { day, jobs: started.size, open: open.size, size });
    return [...open.values()];
  }

  /** Those of the asked jobs that the day has. */
  async #jobsOf(day: string, ids: ReadonlySet<string>): Promise<ReadonlyMap<string, DayJob>> {
    const jobs = new Map<string, DayJob>();
    await this.#scan(day, ({ id, startedAt, process }, line, lineNumber) => {
      if (!ids.has(id)) return;
      const job = jobs.get(id);
      // A copy: the line is a part of a large piece.
      if (startedAt !== undefined && job === undefined)
        jobs.set(id, { id, startedAt, lineNumber, process, start: Buffer.from(line), end: undefined });
      else if (startedAt === undefined && job !== undefined && job.end === undefined)
        jobs.set(id, { ...job, end: Buffer.from(line) });
    });
    return jobs;
  }

  /** Visits the lines of a day piece by piece, and returns how many bytes there were. */
  async #scan(
    day: string,
    visit: (glance: LineGlance, line: Buffer, lineNumber: number) => void,
  ): Promise<number> {
    const path = this.#directory.dayPath(day);
    const handle = await this.#directory.open(path, "read");
    if (handle === undefined) return 0;
    let bytes = 0;
    let lines = 0;
    const damagedLines: number[] = [];
    try {
      const { size } = await attempt(path, "stat", handle.stat());
      for await (const piece of linePieces(handle, path, 0, size)) {
        const before = lines;
        const damaged = (lineNumber: number): number => damagedLines.push(before + lineNumber);
        lines += scanLines(
          piece,
          (glance, line, number) => visit(glance, line, before + number),
          damaged,
        ).lines;
        bytes += piece.length;
      }
    } finally {
      await closeQuietly(handle);
    }
    this.#report(day, damagedLines);
    return bytes;
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

const SHORT_ID_LENGTH = "job-2026-11-15-k3x9qa".length;

/** The number in a job's id; negative for the six characters of earlier versions. */
function numberOfJob(id: string): number {
  return id.length === SHORT_ID_LENGTH ? -numberOfJobId(id) : numberOfJobId(id);
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

/**
 * The job log in files: a day's jobs in `<directory>/<day>.jsonl`, a job's output in `<directory>/<job-id>.log`. A
 * job belongs to the day in its id, also when it ends on a later day. How a line gets there is day-file.ts's
 * business.
 */
import { type Clock, systemClock } from "../../../clock.js";
import { type Logger, processLogger } from "../../../logger.js";
import { type Random, randomToken, systemRandom } from "../../../random.js";
import { DayFile, type DayFileOptions, type JobAddition } from "./day-file.js";
import { type Disk, nodeDisk } from "../disk.js";
import { StateError } from "../../errors.js";
import { type FilesInUse, JobArchive } from "./job-archive.js";
import { newestFirst } from "./job-day.js";
import { JobDirectory } from "./job-directory.js";
import { dayOf, dayOfJob, drawJobId, idTakenError, MOST_DRAWS } from "../../job-log/job-id.js";
import {
  DEFAULT_LIST_LIMIT,
  DEFAULT_MAX_OUTPUT_BYTES,
  type JobFilter,
  type JobOutcomeRecord,
  type JobOutput,
  type JobRecord,
  type JobStart,
  type EndedJobRecord,
  type NewJob,
} from "../../job-log/job-log.js";
import {
  checkFilter,
  instantOr,
  isPlainRecord,
  isWanted,
  jobRecord,
  newEnd,
  newStart,
} from "../../job-log/job-record.js";
import { JobOutputs } from "./job-outputs.js";
import { interruptionOf } from "./job-recovery.js";
import { retentionLimits, type RetentionLimits } from "../../job-log/job-retention.js";
import { signedName } from "../lock/process-identity.js";
import type { OwnedJobLog, RecordFailure, RecordFailures } from "../../owner/owned-job-log.js";

export interface FileJobLogOptions {
  /** Created, with what is missing above it, when the first job starts. */
  readonly directory: string;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly disk?: Disk | undefined;
  readonly logger?: Logger | undefined;
  /** How long a day is kept after its end. @default 30 */
  readonly maxAgeDays?: number | undefined;
  /** A day goes when the newer days alone have this many jobs. @default 10_000 */
  readonly maxJobs?: number | undefined;
  /** What is kept of one job's output. @default 1_000_000 */
  readonly maxOutputBytes?: number | undefined;
}

/** What is added to one day, and the places of its jobs in the caller's list. */
interface DayWrite {
  readonly additions: JobAddition[];
  readonly indexes: number[];
}

/** Days whose ids are kept in memory: today, yesterday around midnight, and the days of jobs that run for days. */
const MOST_DAYS_KNOWN = 4;

export class FileJobLog implements OwnedJobLog, AsyncDisposable {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #limits: RetentionLimits;
  readonly #directory: JobDirectory;
  readonly #archive: JobArchive;
  readonly #outputs: JobOutputs;
  readonly #dayOptions: DayFileOptions = {
    // Which process wrote a line, and which log in it.
    signature: signedName(randomToken()),
    onCreated: () => this.#pruneUnasked(),
  };
  /** In the order of their last use. */
  readonly #days = new Map<string, DayFile>();
  /** When each running job of this log started, on the monotonic clock. */
  readonly #startedMs = new Map<string, number>();
  /** The running jobs of this log that run under claims. */
  readonly #claimed = new Set<string>();
  #pruning: Promise<readonly string[]> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: FileJobLogOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = options.logger ?? processLogger;
    this.#limits = retentionLimits(options);
    this.#directory = new JobDirectory(options.directory, options.disk ?? nodeDisk);
    this.#archive = new JobArchive(this.#directory, this.#logger);
    this.#outputs = new JobOutputs(this.#directory, options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  }

  async start(job: NewJob): Promise<JobRecord> {
    this.#assertOpen();
    if (job.id !== undefined) dayOfJob(job.id);
    const startedAt = instantOr(job.started_at, this.#clock.now());
    const draws = job.id === undefined ? MOST_DRAWS : 1;
    let id = "";
    for (let draw = 0; draw < draws; draw++) {
      id = job.id ?? drawJobId(startedAt, this.#random);
      const start = newStart(job, id, startedAt);
      if (await this.#open(start)) return jobRecord(start, undefined);
    }
    throw idTakenError(id, draws);
  }

  async finish(id: string, outcome: JobOutcomeRecord): Promise<boolean> {
    this.#assertOpen();
    const day = dayOfJob(id);
    const addition = { id, start: undefined, ...this.#endOf(id, outcome), isCounted: false };
    await this.#dayFile(day).append([addition]);
    this.#startedMs.delete(id);
    this.#claimed.delete(id);
    return addition.isCounted;
  }

  async openRecords(jobs: readonly JobRecord[]): Promise<RecordFailures> {
    this.#assertOpen();
    const startedMs = this.#clock.monotonic();
    const additions: JobAddition[] = [];
    const failures = await this.#appendEach(jobs, (job) => {
      const addition = startOnly(this.#startOf(job));
      additions.push(addition);
      return addition;
    });
    for (const { id, isCounted } of additions) {
      if (!isCounted) continue;
      this.#startedMs.set(id, startedMs);
      this.#claimed.add(id);
    }
    return failures;
  }

  async closeRecords(jobs: readonly EndedJobRecord[]): Promise<RecordFailures> {
    this.#assertOpen();
    const failures = await this.#appendEach(jobs, (job) => this.#wholeJob(job));
    for (const [index, { id }] of jobs.entries()) {
      if (failures[index] !== undefined) continue;
      this.#startedMs.delete(id);
      this.#claimed.delete(id);
    }
    return failures;
  }

  closedRecords(ids: readonly string[]): Promise<ReadonlyMap<string, EndedJobRecord>> {
    return this.#archive.closedRecords(ids);
  }

  unrecordedJobs(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#archive.unrecordedJobs(ids, this.#clock.now(), this.#limits);
  }

  async get(id: string): Promise<JobRecord | undefined> {
    const day = dayOfJob(id);
    const job = (await this.#archive.read(day)).jobs.get(id);
    return job === undefined ? undefined : this.#archive.record(day, job);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
    checkFilter(filter);
    const { limit = DEFAULT_LIST_LIMIT, since } = filter;
    const records: JobRecord[] = [];
    const { days } = await this.#directory.list();
    for (const day of days) {
      if (records.length >= limit || (since !== undefined && day < dayOf(since))) break;
      for (const job of newestFirst(await this.#archive.read(day))) {
        if (records.length >= limit || (since !== undefined && job.startedAt < since.toISOString())) break;
        const record = this.#archive.record(day, job);
        if (record !== undefined && isWanted(record, filter)) records.push(record);
      }
    }
    return records;
  }

  async openOutput(id: string): Promise<JobOutput> {
    this.#assertOpen();
    dayOfJob(id);
    return this.#outputs.open(id);
  }

  async readOutput(id: string): Promise<string | undefined> {
    dayOfJob(id);
    return this.#outputs.read(id);
  }

  /**
   * Closes as interrupted what was left open by processes that are gone, and what `startJobs` opened here for claims that
   * are not in `claimed` any longer; returns the ids. Only the owner of the state directory may call it: a process of a
   * different machine counts as gone, because it has lost ownership.
   */
  async recover(claimed?: ReadonlySet<string>): Promise<readonly string[]> {
    const recovered: string[] = [];
    for (const id of claimed === undefined ? [] : this.#claimed) {
      if (claimed?.has(id) === true) continue;
      const error = "Interrupted: its claim ended without a record.";
      if (await this.finish(id, { status: "interrupted", error, duration_ms: null })) recovered.push(id);
    }
    const { days } = await this.#directory.list();
    for (const day of days) {
      const closing = (await this.#archive.openJobs(day)).map(async ({ id, process }) => {
        const error = interruptionOf(process);
        if (error === undefined) return;
        if (await this.finish(id, { status: "interrupted", error, duration_ms: null })) recovered.push(id);
      });
      await Promise.all(closing);
    }
    return recovered;
  }

  /** Removes the days that are past the limits, with their outputs, and answers them. Runs by itself once a day. */
  prune(): Promise<readonly string[]> {
    const inUse: FilesInUse = {
      isDayInUse: (day) => this.#days.get(day)?.isIdle === false,
      isOutputInUse: (id) => this.#outputs.isOpen(id),
    };
    this.#pruning ??= this.#archive.removeExpired(this.#clock.now(), this.#limits, inUse).finally(() => {
      this.#pruning = undefined;
    });
    return this.#pruning;
  }

  /** Waits for what is under way, and closes the outputs that are open. */
  close(): Promise<void> {
    this.#closing ??= this.#finishUp();
    return this.#closing;
  }

  /** Takes `close` back, once that has ended. */
  reopen(): void {
    this.#closing = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #finishUp(): Promise<void> {
    await Promise.all(Array.from(this.#days.values(), (day) => day.settled()));
    await this.#pruning?.catch(() => {});
    await this.#outputs.close();
  }

  async #open(start: JobStart): Promise<boolean> {
    const startedMs = this.#clock.monotonic();
    const addition = startOnly(start);
    await this.#dayFile(dayOfJob(start.id)).append([addition]);
    if (addition.isCounted) this.#startedMs.set(start.id, startedMs);
    return addition.isCounted;
  }

  /** Start and end of a job that has ended, because its start may not be in the file yet. */
  #wholeJob(job: EndedJobRecord): JobAddition {
    const { id, duration_ms: durationMs } = job;
    if (isPlainRecord(job)) return { id, start: job, end: job, durationMs, isCounted: false };
    return { id, start: this.#startOf(job), ...this.#endOf(id, job), isCounted: false };
  }

  #startOf(job: JobRecord): JobStart {
    return newStart(job, job.id, instantOr(job.started_at, this.#clock.now()));
  }

  #endOf(id: string, outcome: JobOutcomeRecord): Pick<JobAddition, "end" | "durationMs"> {
    const { duration_ms, finished_at } = outcome;
    const end = newEnd(outcome, instantOr(finished_at, this.#clock.now()));
    return { end, durationMs: duration_ms === undefined ? this.#sinceStart(id) : duration_ms };
  }

  /** `undefined` for a job that this log has not started. */
  #sinceStart(id: string): number | undefined {
    const startedMs = this.#startedMs.get(id);
    return startedMs === undefined ? undefined : Math.round(this.#clock.monotonic() - startedMs);
  }

  /** Adds many jobs, in one write for each day. A job that is invalid, or whose day fails, fails alone. */
  async #appendEach<Job extends JobRecord>(
    jobs: readonly Job[],
    additionOf: (job: Job) => JobAddition,
  ): Promise<RecordFailures> {
    const failures: (RecordFailure | undefined)[] = Array.from(jobs, () => undefined);
    const days = new Map<string, DayWrite>();
    for (const [index, job] of jobs.entries()) {
      try {
        const day = dayOfJob(job.id);
        const addition = additionOf(job);
        const write = days.get(day) ?? { additions: [], indexes: [] };
        days.set(day, write);
        write.additions.push(addition);
        write.indexes.push(index);
      } catch (error) {
        failures[index] = { error };
      }
    }
    const writes = Array.from(days, async ([day, { additions, indexes }]) => {
      try {
        await this.#dayFile(day).append(additions);
      } catch (error) {
        for (const index of indexes) failures[index] = { error };
      }
    });
    await Promise.all(writes);
    return failures;
  }

  #dayFile(day: string): DayFile {
    const known = this.#days.get(day);
    if (known !== undefined && this.#days.size === 1) return known;
    const file = known ?? new DayFile(this.#directory, day, this.#dayOptions);
    this.#days.delete(day);
    this.#days.set(day, file);
    for (const [other, { isIdle }] of this.#days) {
      if (this.#days.size <= MOST_DAYS_KNOWN) break;
      if (isIdle && other !== day) this.#days.delete(other);
    }
    return file;
  }

  #pruneUnasked(): void {
    this.prune().catch((error: unknown) => {
      this.#logger.warn(
        `Could not remove old jobs: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StateError("The job log is closed.", { code: "STATE_CLOSED" });
  }
}

function startOnly(start: JobStart): JobAddition {
  return { id: start.id, start, end: undefined, durationMs: undefined, isCounted: false };
}

/**
 * The job log in files: a day's jobs in `<directory>/<day>.jsonl`, a job's output in `<directory>/<job-id>.log`.
 * A job belongs to the day in its id, also when it ends on another. How a line gets there is day-file.ts's business.
 */
import { type Clock, systemClock } from "../../../clock.js";
import { type Logger, processLogger } from "../../../logger.js";
import { type Random, randomToken, systemRandom } from "../../../random.js";
import { type DayChange, DayFile } from "./day-file.js";
import { type Disk, nodeDisk } from "../disk.js";
import { StateError } from "../../errors.js";
import { type FilesInUse, JobArchive } from "./job-archive.js";
import { newestFirst } from "./job-day.js";
import { JobDirectory } from "./job-directory.js";
import { dayOf, dayOfJob, drawJobId, idTakenError, MOST_DRAWS } from "../../job-log/job-id.js";
import { JobClosing, JobOpening } from "./job-changes.js";
import {
  DEFAULT_LIST_LIMIT,
  DEFAULT_MAX_OUTPUT_BYTES,
  type JobFilter,
  type JobLog,
  type JobOutcomeRecord,
  type JobOutput,
  type JobRecord,
  type JobStart,
  type NamedJob,
  type NamedOutcome,
  type NewJob,
} from "../../job-log/job-log.js";
import { instantOr, isWanted, jobRecord, newEnd, newStart } from "../../job-log/job-record.js";
import { JobOutputs } from "./job-outputs.js";
import { interruptionOf } from "./job-recovery.js";
import { retentionLimits, type RetentionLimits } from "../../job-log/job-retention.js";
import { signedName } from "../lock/process-identity.js";

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

/** Days whose ids are kept in memory: today's, yesterday's at midnight, and those of jobs that run for days. */
const MOST_DAYS_KNOWN = 4;

export class FileJobLog implements JobLog, AsyncDisposable {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #limits: RetentionLimits;
  readonly #directory: JobDirectory;
  readonly #archive: JobArchive;
  readonly #outputs: JobOutputs;
  /** Signs the lines of this log: which process wrote them, and which log in it. */
  readonly #signature: string = signedName(randomToken());
  /** In the order of their last use. */
  readonly #days = new Map<string, DayFile>();
  /** When each running job of this log started, on the monotonic clock. */
  readonly #startedMs = new Map<string, number>();
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
      const [isOpened] = await this.#open([start]);
      if (isOpened === true) return jobRecord(start, undefined);
    }
    throw idTakenError(id, draws);
  }

  async startAll(jobs: readonly NamedJob[]): Promise<readonly boolean[]> {
    this.#assertOpen();
    return this.#open(jobs.map((job) => newStart(job, job.id, instantOr(job.started_at, this.#clock.now()))));
  }

  async finish(id: string, outcome: JobOutcomeRecord): Promise<boolean> {
    const [isClosed] = await this.finishAll([{ ...outcome, id }]);
    return isClosed === true;
  }

  async finishAll(outcomes: readonly NamedOutcome[]): Promise<readonly boolean[]> {
    this.#assertOpen();
    const changes = outcomes.map((outcome) => this.#endOf(outcome));
    await this.#append(changes);
    return changes.map(({ id, counted }) => {
      this.#startedMs.delete(id);
      return counted;
    });
  }

  async get(id: string): Promise<JobRecord | undefined> {
    const day = dayOfJob(id);
    const job = (await this.#archive.read(day)).jobs.get(id);
    return job === undefined ? undefined : this.#archive.record(day, job);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
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
   * Closes as interrupted what was left open by processes that are gone, and answers the ids. For the one that owns
   * the state directory: a process of another machine counts as gone, because it cannot own it any more.
   */
  async recover(): Promise<readonly string[]> {
    const recovered: string[] = [];
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

  async #open(starts: readonly JobStart[]): Promise<readonly boolean[]> {
    const startedMs = this.#clock.monotonic();
    const changes = starts.map((start) => new JobOpening(start, this.#signature));
    await this.#append(changes);
    return changes.map(({ id, counted }) => {
      if (counted) this.#startedMs.set(id, startedMs);
      return counted;
    });
  }

  #endOf(outcome: NamedOutcome): JobClosing {
    const { id, duration_ms, finished_at } = outcome;
    const end = newEnd(outcome, instantOr(finished_at, this.#clock.now()));
    return new JobClosing(
      id,
      end,
      duration_ms === undefined ? this.#sinceStart(id) : duration_ms,
      this.#signature,
    );
  }

  /** `undefined` for a job that another log has started. */
  #sinceStart(id: string): number | undefined {
    const startedMs = this.#startedMs.get(id);
    return startedMs === undefined ? undefined : Math.round(this.#clock.monotonic() - startedMs);
  }

  /** In one write for each day. */
  async #append(changes: readonly DayChange[]): Promise<void> {
    const days = new Map<string, DayChange[]>();
    for (const change of changes) {
      const day = dayOfJob(change.id);
      const ofDay = days.get(day);
      if (ofDay === undefined) days.set(day, [change]);
      else ofDay.push(change);
    }
    await Promise.all(Array.from(days, ([day, ofDay]) => this.#dayFile(day).append(ofDay)));
  }

  #dayFile(day: string): DayFile {
    const known = this.#days.get(day);
    if (known !== undefined && this.#days.size === 1) return known;
    const file = known ?? new DayFile(this.#directory, day, () => this.#pruneUnasked());
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

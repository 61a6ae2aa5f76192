/**
 * The job log in files: a day's jobs in `<directory>/<day>.jsonl` and, when that is full, in `<day>.1.jsonl` and so on; a job's
 * output in `<directory>/<job-id>.log`. A job belongs to the day in its id, and both of its lines are in one part. How a line
 * gets there is decided in day-file.ts, what is removed in job-tidy.ts.
 */
import { type Clock, systemClock } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import { type Logger, processLogger } from "../../../logger.js";
import { type Random, randomToken, systemRandom } from "../../../random.js";
import { DayFile, type DayFileOptions, type JobAddition, type KnownPart } from "./day-file.js";
import { closeQuietly, type Disk, nodeDisk } from "../disk.js";
import { StateError } from "../../errors.js";
import { JobArchive } from "./job-archive.js";
import { JobDirectory, nextPart } from "./job-directory.js";
import { type FilesInUse, JobTidy } from "./job-tidy.js";
import { dayOfJob, drawJobId, idTakenError, MOST_DRAWS } from "../../job-log/job-id.js";
import type {
  EndedJobRecord,
  JobFilter,
  JobLimits,
  JobOutcomeRecord,
  JobOutput,
  JobRecord,
  JobStart,
  NewJob,
} from "../../job-log/job-log.js";
import {
  checkFilter,
  instantOr,
  isPlainRecord,
  jobRecord,
  newEnd,
  newStart,
} from "../../job-log/job-record.js";
import { JobOutputs } from "./job-outputs.js";
import { JobPlaces } from "./job-places.js";
import { interruptionOf } from "./job-recovery.js";
import { retentionLimits, type RetentionLimits } from "../../job-log/job-retention.js";
import { signedName } from "../lock/process-identity.js";
import type { OwnedJobLog, RecordFailure, RecordFailures } from "../../owner/owned-job-log.js";

export interface FileJobLogOptions extends JobLimits {
  /** Created, with what is missing above it, when the first job starts. */
  readonly directory: string;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly disk?: Disk | undefined;
  readonly logger?: Logger | undefined;
  /** Whether this log may remove old jobs, which a process beside the owner may not. @default always */
  readonly mayPrune?: (() => boolean | Promise<boolean>) | undefined;
  /** When a part of a day is so large, the next one begins. @default 8_000_000 */
  readonly partBytes?: number | undefined;
}

/** What is added to one part of a day, and the places of its jobs in the caller's list. */
interface DayWrite {
  readonly file: DayFile;
  readonly additions: JobAddition[];
  readonly indexes: number[];
}

/** Parts whose ids are kept in memory: of today, of yesterday around midnight, and of the days of jobs that run for days. */
const MOST_PARTS_KNOWN = 4;
const DEFAULT_PART_BYTES = 8_000_000;

export class FileJobLog implements OwnedJobLog, AsyncDisposable {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #limits: RetentionLimits;
  readonly #directory: JobDirectory;
  readonly #archive: JobArchive;
  readonly #tidy: JobTidy;
  readonly #mayPrune: () => boolean | Promise<boolean>;
  readonly #partBytes: number;
  readonly #outputs: JobOutputs;
  readonly #dayOptions: DayFileOptions = {
    // Which process wrote a line, and which log in it.
    signature: signedName(randomToken()),
    onCreated: () => {
      this.#prunedUnasked = this.#pruneUnasked();
    },
  };
  /** In the order of their last use. */
  readonly #parts = new Map<string, DayFile>();
  readonly #places: JobPlaces;
  /** When each running job of this log started, on the monotonic clock. */
  readonly #startedMs = new Map<string, number>();
  /** The running jobs of this log that run under claims. */
  readonly #claimed = new Set<string>();
  #pruning: Promise<readonly string[]> | undefined;
  #prunedUnasked: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: FileJobLogOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = options.logger ?? processLogger;
    this.#limits = retentionLimits(options);
    this.#directory = new JobDirectory(options.directory, options.disk ?? nodeDisk);
    this.#archive = new JobArchive(this.#directory, this.#logger);
    this.#tidy = new JobTidy(this.#directory);
    this.#mayPrune = options.mayPrune ?? ((): boolean => true);
    this.#partBytes = options.partBytes ?? DEFAULT_PART_BYTES;
    this.#places = new JobPlaces({
      directory: this.#directory,
      archive: this.#archive,
      partBytes: this.#partBytes,
      onOlderPart: (part, known) => void (this.#parts.has(part) || this.#known(part, known)),
    });
    this.#outputs = new JobOutputs(this.#directory, this.#limits.maxOutputBytes);
  }

  async start(job: NewJob): Promise<JobRecord> {
    this.#assertOpen();
    if (job.id !== undefined) dayOfJob(job.id);
    const startedAt = instantOr(job.started_at, this.#clock.now());
    const draws = job.id === undefined ? MOST_DRAWS : 1;
    // The ids of the newest part are known when it is written to.
    if (job.id !== undefined) await this.#places.locate([job.id]);
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
    if (!this.#startedMs.has(id)) await this.#places.locate([id]);
    const addition = { id, start: undefined, ...this.#endOf(id, outcome), isCounted: false };
    if (!this.#places.newest.has(day)) await this.#places.findNewest(day);
    await this.#partFile(day, id).append([addition]);
    this.#startedMs.delete(id);
    this.#claimed.delete(id);
    this.#places.partOf.delete(id);
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
      this.#places.partOf.delete(id);
    }
    return failures;
  }

  async closedRecords(ids: readonly string[]): Promise<ReadonlyMap<string, EndedJobRecord>> {
    return this.#archive.closedRecords((await this.#places.locate(ids)).values());
  }

  async unrecordedJobs(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await this.#places.locate(ids);
    const { maxAgeDays, maxJobs } = this.#limits;
    const oldestMs = this.#clock.now().getTime() - (maxAgeDays + 1) * DAY_MS;
    const isOld = (id: string): boolean => !(Date.parse(dayOfJob(id)) > oldestMs);
    const isFull =
      maxJobs < Infinity && (await this.#archive.list({ limit: Math.max(1, maxJobs) })).length >= maxJobs;
    return new Set(
      ids.filter((id) => {
        const one = found.get(id);
        return one === undefined ? !isFull && !isOld(id) : one.job.end === undefined;
      }),
    );
  }

  async get(id: string): Promise<JobRecord | undefined> {
    const found = (await this.#archive.find([id])).get(id);
    return found === undefined ? undefined : this.#archive.record(found);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
    checkFilter(filter);
    return this.#archive.list(filter);
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
    const { parts } = await this.#directory.list();
    for (const part of parts) {
      const additions: JobAddition[] = [];
      for (const { id, process } of await this.#places.openJobsOf(part)) {
        const error = interruptionOf(process);
        const outcome = { status: "interrupted", error, duration_ms: null } as const;
        if (error !== undefined)
          additions.push({ id, start: undefined, ...this.#endOf(id, outcome), isCounted: false });
      }
      if (additions.length > 0) await this.#known(part).append(additions);
      for (const { id, isCounted } of additions) {
        this.#places.partOf.delete(id);
        if (isCounted) recovered.push(id);
      }
    }
    return recovered;
  }

  /** Removes what is past the limits, with the outputs, and returns the parts that are gone. Runs when a part begins. */
  prune(): Promise<readonly string[]> {
    const inUse: FilesInUse = {
      isPartInUse: (part) => this.#parts.get(part)?.isIdle === false,
      isOutputInUse: (id) => this.#outputs.isOpen(id),
      endPart: async (part) => {
        await closeQuietly(
          (await this.#directory.createDay(this.#directory.partPath(nextPart(part)))).handle,
        );
        this.#places.begin(nextPart(part), this.#known(part).jobsUnderWay());
      },
    };
    this.#pruning ??= this.#tidy.tidy(this.#clock.now(), this.#limits, inUse).finally(() => {
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
    await this.#places.settled();
    await Promise.all(Array.from(this.#parts.values(), (part) => part.settled()));
    await this.#prunedUnasked;
    await this.#pruning?.catch(() => {});
    await this.#outputs.close();
  }

  async #open(start: JobStart): Promise<boolean> {
    const startedMs = this.#clock.monotonic();
    const addition = startOnly(start);
    const day = dayOfJob(start.id);
    if (this.#places.partOf.has(start.id)) return false;
    if (!this.#places.newest.has(day)) await this.#places.findNewest(day);
    await this.#partFile(day, start.id).append([addition]);
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
    const writes = new Map<DayFile, DayWrite>();
    for (const [index, job] of jobs.entries()) {
      try {
        const day = dayOfJob(job.id);
        const addition = additionOf(job);
        if (!this.#places.newest.has(day)) await this.#places.findNewest(day);
        const file = this.#partFile(day, job.id);
        const write = writes.get(file) ?? { file, additions: [], indexes: [] };
        writes.set(file, write);
        write.additions.push(addition);
        write.indexes.push(index);
      } catch (error) {
        failures[index] = { error };
      }
    }
    const written = Array.from(writes.values(), async ({ file, additions, indexes }) => {
      try {
        await file.append(additions);
      } catch (error) {
        for (const index of indexes) failures[index] = { error };
      }
    });
    await Promise.all(written);
    return failures;
  }

  /** The file that has a job, or gets it. */
  #partFile(day: string, id: string): DayFile {
    const older = this.#places.partOf.size === 0 ? undefined : this.#places.partOf.get(id);
    const newest = this.#places.newest.get(day) ?? day;
    const known = this.#parts.get(older ?? newest);
    if (older === undefined && known !== undefined && known.size >= this.#partBytes) {
      this.#places.begin(nextPart(newest), known.jobsUnderWay());
      return this.#partFile(day, id);
    }
    return known !== undefined && this.#parts.size === 1 ? known : this.#known(older ?? newest);
  }

  /** The file of a part; `open`: all that is known of a part that gets no new jobs. */
  #known(part: string, open?: KnownPart): DayFile {
    const file = this.#parts.get(part) ?? new DayFile(this.#directory, part, this.#dayOptions, open);
    this.#parts.delete(part);
    this.#parts.set(part, file);
    for (const [other, { isIdle }] of this.#parts) {
      if (this.#parts.size <= MOST_PARTS_KNOWN) break;
      if (isIdle && other !== part) this.#parts.delete(other);
    }
    return file;
  }

  async #pruneUnasked(): Promise<void> {
    try {
      if (await this.#mayPrune()) await this.prune();
    } catch (error) {
      this.#logger.warn(`Could not remove old jobs: ${messageOf(error)}`);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StateError("The job log is closed.", { code: "STATE_CLOSED" });
  }
}

const DAY_MS = 86_400_000;

function startOnly(start: JobStart): JobAddition {
  return { id: start.id, start, end: undefined, durationMs: undefined, isCounted: false };
}

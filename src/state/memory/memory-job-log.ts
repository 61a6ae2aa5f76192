/** A job log that ends with its process: for tests, and for schedulers that keep no files. */
import { type Clock, systemClock } from "../../clock.js";
import { type Random, systemRandom } from "../../random.js";
import { CappedOutput, type OutputBytes } from "../job-log/capped-output.js";
import { dayOfJob, drawJobId, idTakenError, MOST_DRAWS, outputTakenError } from "../job-log/job-id.js";
import {
  DEFAULT_LIST_LIMIT,
  type JobFilter,
  type JobLimits,
  type JobOutcomeRecord,
  type JobOutput,
  type JobEnd,
  type JobRecord,
  type EndedJobRecord,
  type NewJob,
} from "../job-log/job-log.js";
import {
  checkFilter,
  instantOr,
  isEnded,
  isWanted,
  jobRecord,
  newEnd,
  newStart,
} from "../job-log/job-record.js";
import { retentionLimits } from "../job-log/job-retention.js";
import type { OwnedJobLog, RecordFailures } from "../owner/owned-job-log.js";

export interface MemoryJobLogOptions extends JobLimits {
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

interface MemoryOutput {
  readonly output: CappedOutput;
  readonly bytes: MemoryOutputBytes;
}

export class MemoryJobLog implements OwnedJobLog {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #keep: number;
  readonly #maxJobs: number;
  readonly #maxOutputBytes: number;
  /** In the order they were started. */
  readonly #records = new Map<string, JobRecord>();
  /** The ids of each schedule, in the same order. */
  readonly #ofSchedules = new Map<string, Set<string>>();
  readonly #startedMs = new Map<string, number>();
  readonly #outputs = new Map<string, MemoryOutput>();
  #hasForgotten = false;

  constructor(options: MemoryJobLogOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    const { keep, maxJobs, maxOutputBytes } = retentionLimits(options);
    this.#keep = keep;
    this.#maxJobs = maxJobs;
    this.#maxOutputBytes = maxOutputBytes;
  }

  async start(job: NewJob): Promise<JobRecord> {
    if (job.id !== undefined) dayOfJob(job.id);
    const startedAt = instantOr(job.started_at, this.#clock.now());
    const record = jobRecord(newStart(job, this.#freeId(job, startedAt), startedAt), undefined);
    this.#open(record);
    return record;
  }

  async finish(id: string, outcome: JobOutcomeRecord): Promise<boolean> {
    dayOfJob(id);
    return this.#close(id, outcome, this.#endOf(outcome));
  }

  async openRecords(jobs: readonly JobRecord[]): Promise<RecordFailures> {
    return eachAlone(jobs, (job) => this.#openNew(this.#startOf(job)));
  }

  async closeRecords(jobs: readonly EndedJobRecord[]): Promise<RecordFailures> {
    return eachAlone(jobs, (job) => {
      const start = this.#startOf(job);
      const end = this.#endOf(job);
      this.#openNew(start);
      this.#close(job.id, job, end);
    });
  }

  async closedRecords(ids: readonly string[]): Promise<ReadonlyMap<string, EndedJobRecord>> {
    const closed = new Map<string, EndedJobRecord>();
    for (const id of ids) {
      const record = this.#records.get(id);
      if (record !== undefined && isEnded(record)) closed.set(id, record);
    }
    return closed;
  }

  async unrecordedJobs(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(
      ids.filter((id) => this.#startedMs.has(id) || !(this.#hasForgotten || this.#records.has(id))),
    );
  }

  async get(id: string): Promise<JobRecord | undefined> {
    dayOfJob(id);
    return this.#records.get(id);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
    checkFilter(filter);
    const wanted = [...this.#records.values()].filter((record) => isWanted(record, filter));
    // Reversed first: sorting keeps the order of equal times, so the later record comes first.
    const newestFirst = wanted
      .toReversed()
      .toSorted((a, b) => (a.started_at === b.started_at ? 0 : a.started_at < b.started_at ? 1 : -1));
    return newestFirst.slice(0, Math.max(0, filter.limit ?? DEFAULT_LIST_LIMIT));
  }

  async openOutput(id: string): Promise<JobOutput> {
    dayOfJob(id);
    if (this.#outputs.has(id)) throw outputTakenError(id);
    const bytes = new MemoryOutputBytes();
    const output = new CappedOutput(bytes, this.#maxOutputBytes);
    this.#outputs.set(id, { output, bytes });
    return output;
  }

  async readOutput(id: string): Promise<string | undefined> {
    dayOfJob(id);
    const opened = this.#outputs.get(id);
    return opened?.output.whenIdle(async () => opened.bytes.text());
  }

  #startOf(job: JobRecord): JobRecord {
    dayOfJob(job.id);
    return jobRecord(newStart(job, job.id, instantOr(job.started_at, this.#clock.now())), undefined);
  }

  #endOf(outcome: JobOutcomeRecord): JobEnd {
    return newEnd(outcome, instantOr(outcome.finished_at, this.#clock.now()));
  }

  #openNew(record: JobRecord): void {
    if (!this.#records.has(record.id)) this.#open(record);
  }

  #open(record: JobRecord): void {
    this.#records.set(record.id, record);
    this.#startedMs.set(record.id, this.#clock.monotonic());
    this.#forgetOldest(this.#idsBeside(record).add(record.id), this.#keep);
    this.#forgetOldest(this.#records, this.#maxJobs);
  }

  #close(id: string, { duration_ms: givenMs }: JobOutcomeRecord, end: JobEnd): boolean {
    const record = this.#records.get(id);
    const startedMs = this.#startedMs.get(id);
    if (record === undefined || startedMs === undefined) return false;
    const elapsedMs = Math.round(this.#clock.monotonic() - startedMs);
    const duration_ms = givenMs === undefined ? elapsedMs : end.duration_ms;
    const work_item = end.work_item ?? record.work_item;
    this.#records.set(id, { ...record, ...end, work_item, duration_ms });
    this.#startedMs.delete(id);
    return true;
  }

  #freeId(job: NewJob, startedAt: Date): string {
    const draws = job.id === undefined ? MOST_DRAWS : 1;
    let id = "";
    for (let draw = 0; draw < draws; draw++) {
      id = job.id ?? drawJobId(startedAt, this.#random);
      if (!this.#records.has(id)) return id;
    }
    throw idTakenError(id, draws);
  }

  #forgetOldest(ids: Pick<ReadonlySet<string>, "keys" | "size">, most: number): void {
    if (ids.size <= most) return;
    for (const id of ids.keys()) {
      if (ids.size <= most) return;
      const record = this.#records.get(id);
      if (record === undefined || this.#startedMs.has(id)) continue;
      this.#hasForgotten = true;
      this.#idsBeside(record).delete(id);
      this.#records.delete(id);
      this.#outputs.delete(id);
    }
  }

  #idsBeside({ agent, schedule }: JobRecord): Set<string> {
    const key = JSON.stringify([agent, schedule]);
    const ids = this.#ofSchedules.get(key) ?? new Set();
    this.#ofSchedules.set(key, ids);
    return ids;
  }
}

function eachAlone<Job>(jobs: readonly Job[], write: (job: Job) => void): RecordFailures {
  return jobs.map((job) => {
    try {
      write(job);
      return undefined;
    } catch (error) {
      return { error };
    }
  });
}

class MemoryOutputBytes implements OutputBytes {
  #bytes = Buffer.alloc(0);
  #size = 0;

  text(): string {
    return this.#bytes.toString("utf8", 0, this.#size);
  }

  async read(bytes: Uint8Array, position: number): Promise<number> {
    return this.#bytes.copy(bytes, 0, position, this.#size);
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const end = position + bytes.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#bytes.length));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, position);
    this.#size = Math.max(this.#size, end);
    return bytes.length;
  }

  async truncate(size: number): Promise<void> {
    this.#size = size;
  }

  async close(): Promise<void> {
    this.#bytes = Buffer.from(this.#bytes.subarray(0, this.#size));
  }
}

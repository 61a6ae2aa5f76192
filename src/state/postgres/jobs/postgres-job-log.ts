/**
 * The job log in tables. Records that are opened or closed at the same time share a statement; old records are removed in
 * small batches. The end of a claim closes the record of its job in one statement of its own (writes/job-finisher.ts).
 */
import type { Clock } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import { type Random, systemRandom } from "../../../random.js";
import { GroupCommit } from "../../../group-commit.js";
import { CappedOutput } from "../../job-log/capped-output.js";
import { dayOfJob, drawJobId, idTakenError, MOST_DRAWS, outputTakenError } from "../../job-log/job-id.js";
import {
  type EndedJobRecord,
  type JobEnd,
  type JobFilter,
  type JobLimits,
  type JobLog,
  type JobOutcomeRecord,
  type JobOutput,
  type JobRecord,
  type JobStart,
  type NewJob,
} from "../../job-log/job-log.js";
import {
  checkFilter,
  durationBetween,
  instantOr,
  isPlainRecord,
  jobRecord,
  newEnd,
  newStart,
} from "../../job-log/job-record.js";
import { retentionLimits, type RetentionLimits } from "../../job-log/job-retention.js";
import type { TimeParameters } from "../connection/database-clock.js";
import { isLostReply, type Statements } from "../connection/database.js";
import {
  closeJobs,
  type EndOfJob,
  type JobRow,
  type LostJob,
  presumeEnds,
  presumeLost,
  readJob,
  recordJobs,
  refusedIds,
  removeOld,
  selectJob,
  selectJobs,
  selectOrphans,
} from "./job-rows.js";
import { BlockOutputBytes, createOutput, readWhole } from "./output-blocks.js";

export interface PostgresJobLogOptions extends JobLimits {
  readonly database: Statements;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Resolves when the clock can tell the time: the database's clock is known after the first reply. */
  readonly whenTimeKnown?: (() => Promise<void>) | undefined;
  readonly logger: Logger;
  /** The id of the node that opens records; `undefined` while the store is not open. */
  readonly node?: (() => string | undefined) | undefined;
  readonly random?: Random | undefined;
}

/** Records that wait for a statement. */
interface Opening {
  readonly rows: readonly JobRow[];
  /** Whether each was opened. */
  areOpened: readonly boolean[];
}

interface Closing extends EndOfJob {
  isClosed: boolean;
}

const DAY_MS = 86_400_000;
/** To find the records beyond `maxJobs` takes as long as to count them, so up to a tenth more are kept for a while. */
const REMOVALS_AMONG_JOBS = 10;
const FEWEST_BETWEEN_REMOVALS = 1_000;
/** To find what is beyond `keep` all records are sorted, a third of a second for 200,000. */
const FEWEST_BETWEEN_SORTS = 10_000;
const REMOVED_AT_ONCE = 1_000;

export class PostgresJobLog implements JobLog {
  readonly #options: PostgresJobLogOptions;
  readonly #limits: RetentionLimits;
  readonly #openings: GroupCommit<Opening>;
  readonly #closings: GroupCommit<Closing>;
  /** When `start` opened a record, on the monotonic clock, for its duration. */
  readonly #startedMs = new Map<string, number>();
  /** The jobs that `open` was called for and that have not ended, each with its write while that is under way. */
  readonly #opened = new Map<string, Promise<unknown> | undefined>();
  readonly #outputs = new Map<string, CappedOutput>();
  /** Outputs that may have been opened although the reply was lost. */
  readonly #unconfirmedOutputs = new Set<string>();
  #recordsUntilRemoval = 0;
  /** When old records were last removed, on the monotonic clock. */
  #removedMs = -Infinity;
  #removing: Promise<void> = Promise.resolve();

  constructor(options: PostgresJobLogOptions) {
    this.#options = options;
    this.#limits = retentionLimits(options);
    this.#openings = new GroupCommit((batch) => this.#openAll(batch));
    this.#closings = new GroupCommit((batch) => this.#closeAll(batch));
  }

  async start(job: NewJob): Promise<JobRecord> {
    if (job.id !== undefined) dayOfJob(job.id);
    await this.#options.whenTimeKnown?.();
    const { clock, random = systemRandom } = this.#options;
    const startedAt = instantOr(job.started_at, clock.now());
    const draws = job.id === undefined ? MOST_DRAWS : 1;
    let id = "";
    for (let draw = 0; draw < draws; draw++) {
      id = job.id ?? drawJobId(startedAt, random);
      const start = newStart(job, id, startedAt);
      const [isOpened] = await this.#insert([{ id, start }]);
      if (isOpened !== true) continue;
      this.#startedMs.set(id, clock.monotonic());
      return jobRecord(start, undefined);
    }
    throw idTakenError(id, draws);
  }

  /** Opens the records of jobs, as `StateStore.startJobs` promises. */
  async open(jobs: readonly JobRecord[]): Promise<void> {
    const rows: JobRow[] = [];
    let failure: { readonly error: unknown } | undefined;
    for (const job of jobs) {
      try {
        rows.push({ id: job.id, start: this.#startOf(job) });
      } catch (error) {
        failure ??= { error };
      }
    }
    const written = this.#insert(rows);
    for (const { id } of rows) this.#opened.set(id, written);
    try {
      await written;
    } finally {
      for (const { id } of rows) if (this.#opened.get(id) === written) this.#opened.set(id, undefined);
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Resolves when `open` has ended for all of the jobs, successfully or not; `undefined` when it has. */
  whenOpened(ids: Iterable<string>): Promise<unknown> | undefined {
    if (this.#opened.size === 0) return undefined;
    const writes = new Set<Promise<unknown>>();
    for (const id of ids) {
      const write = this.#opened.get(id);
      if (write !== undefined) writes.add(write);
    }
    return writes.size === 0 ? undefined : Promise.allSettled(writes);
  }

  /** The row of a record. Throws a StateError with code INVALID_STATE for a record that can never be written. */
  rowOf(job: EndedJobRecord): JobRow {
    const isOpened = this.#opened.size > 0 && this.#opened.has(job.id);
    if (isPlainRecord(job)) return { id: job.id, start: job, end: job, isOpened };
    return { id: job.id, start: this.#startOf(job), end: newEnd(job, new Date(job.finished_at)), isOpened };
  }

  /** Writes final records, and returns the ids that belong to other jobs. */
  async record(rows: readonly JobRow[]): Promise<ReadonlySet<unknown>> {
    const { database, node } = this.#options;
    const [reply] = await database.query(recordJobs(database.schema, rows, node?.()));
    return refusedIds(reply);
  }

  /** To be called when the records of jobs were closed elsewhere, or can never be. */
  noteClosed(ids: readonly string[]): void {
    if (this.#opened.size > 0) for (const id of ids) this.#opened.delete(id);
    this.#removeNowAndThen(ids.length);
  }

  async finish(id: string, outcome: JobOutcomeRecord): Promise<boolean> {
    const closing: Closing = { id, end: await this.#endOf(id, outcome), isClosed: false };
    await this.#closings.add(closing);
    this.#startedMs.delete(id);
    this.#opened.delete(id);
    return closing.isClosed;
  }

  async get(id: string): Promise<JobRecord | undefined> {
    dayOfJob(id);
    const { database } = this.#options;
    const [row] = await database.query(selectJob(database.schema, id));
    return row && readJob(row);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
    checkFilter(filter);
    const { database } = this.#options;
    const rows = await database.query(selectJobs(database.schema, filter));
    return rows.flatMap((row) => readJob(row) ?? []);
  }

  async openOutput(id: string): Promise<JobOutput> {
    dayOfJob(id);
    const { database } = this.#options;
    const { maxOutputBytes } = this.#limits;
    if (!(await this.#isOpened(id))) throw outputTakenError(id);
    const bytes = new BlockOutputBytes(database, id);
    const output = new CappedOutput(bytes, maxOutputBytes, () => this.#outputs.delete(id));
    this.#outputs.set(id, output);
    return output;
  }

  /** Whether this call created the output, or an earlier one whose reply was lost. */
  async #isOpened(id: string): Promise<boolean> {
    try {
      const isNew = await createOutput(this.#options.database, id);
      return this.#unconfirmedOutputs.delete(id) || isNew;
    } catch (error) {
      if (isLostReply(error)) this.#unconfirmedOutputs.add(id);
      throw error;
    }
  }

  async readOutput(id: string): Promise<string | undefined> {
    dayOfJob(id);
    const read = (): Promise<string | undefined> => readWhole(this.#options.database, id);
    const output = this.#outputs.get(id);
    return output === undefined ? read() : output.whenIdle(read);
  }

  /** Resolves when all outputs are closed and no statement is under way. */
  async close(): Promise<void> {
    await Promise.allSettled(Array.from(this.#outputs.values(), (output) => output.close()));
    await Promise.all([this.#openings.settled(), this.#closings.settled(), this.#removing]);
    this.#opened.clear();
  }

  /** Closes the records of jobs whose process seems to be gone. If it still runs, its own report replaces this one. */
  async presumeInterrupted(ids: readonly string[], error: string): Promise<void> {
    if (ids.length === 0) return;
    const { database } = this.#options;
    const outcome = { status: "interrupted", error, duration_ms: null } as const;
    const ends = await Promise.all(ids.map(async (id) => ({ id, end: await this.#endOf(id, outcome) })));
    await database.query(presumeEnds(database.schema, ends));
  }

  /** The same for jobs whose claims are about to be ended, also where their records were never opened. */
  async presumeLost(jobs: readonly LostJob[]): Promise<void> {
    const { database } = this.#options;
    if (jobs.length > 0) await database.query(presumeLost(database.schema, jobs));
  }

  /** Closes the records of jobs whose nodes have not been seen for a whole lease. */
  async closeOrphans(time: TimeParameters): Promise<void> {
    const { database } = this.#options;
    const orphans = await database.query(selectOrphans(database.schema, time));
    const ids = orphans.map(({ id }) => String(id));
    await this.presumeInterrupted(ids, "the process that ran the job ended");
  }

  /** Removes the records beyond `maxAgeDays`, `keep` and `maxJobs`, in small batches so that no other statement waits long. */
  async removeOld(): Promise<void> {
    await this.#options.whenTimeKnown?.();
    const { database, clock } = this.#options;
    const { maxAgeDays, maxJobs } = this.#limits;
    const beforeMs = clock.now().getTime() - maxAgeDays * DAY_MS;
    for (let removed = REMOVED_AT_ONCE; removed >= REMOVED_AT_ONCE;) {
      const limits = { beforeMs, maxJobs, keep: this.#limits.keep };
      const [row] = await database.query(removeOld(database.schema, limits, REMOVED_AT_ONCE));
      removed = Number(row?.["count"]);
    }
  }

  #startOf(job: NewJob & { readonly id: string }): JobStart {
    dayOfJob(job.id);
    return newStart(job, job.id, instantOr(job.started_at, this.#options.clock.now()));
  }

  /** Whether each record was opened: not when the id is taken. */
  async #insert(rows: readonly JobRow[]): Promise<readonly boolean[]> {
    if (rows.length === 0) return [];
    const opening: Opening = { rows, areOpened: [] };
    await this.#openings.add(opening);
    this.#removeNowAndThen(rows.length);
    return opening.areOpened;
  }

  /** An id that is named twice belongs to the first. */
  async #openAll(batch: readonly Opening[]): Promise<void> {
    const first = new Map<string, JobRow>();
    for (const { rows } of batch) for (const row of rows) if (!first.has(row.id)) first.set(row.id, row);
    const refused = await this.record([...first.values()]);
    for (const opening of batch)
      opening.areOpened = opening.rows.map((row) => first.get(row.id) === row && !refused.has(row.id));
  }

  async #closeAll(batch: readonly Closing[]): Promise<void> {
    const { database } = this.#options;
    const first = new Map<string, Closing>();
    for (const closing of batch) if (!first.has(closing.id)) first.set(closing.id, closing);
    const rows = await database.query(closeJobs(database.schema, [...first.values()]));
    for (const { id } of rows) {
      const closing = first.get(String(id));
      if (closing !== undefined) closing.isClosed = true;
    }
  }

  /** The end of a job with its duration, by the monotonic clock where `start` was called here. */
  async #endOf(id: string, outcome: JobOutcomeRecord): Promise<JobEnd> {
    dayOfJob(id);
    await this.#options.whenTimeKnown?.();
    const { clock } = this.#options;
    const end = newEnd(outcome, instantOr(outcome.finished_at, clock.now()));
    if (outcome.duration_ms !== undefined) return end;
    const startedMs = this.#startedMs.get(id);
    if (startedMs !== undefined) return { ...end, duration_ms: Math.round(clock.monotonic() - startedMs) };
    const record = await this.get(id);
    if (record === undefined) return end;
    return { ...end, duration_ms: durationBetween(record.started_at, new Date(end.finished_at)) };
  }

  #removeNowAndThen(recorded: number): void {
    this.#recordsUntilRemoval -= recorded;
    const nowMs = this.#options.clock.monotonic();
    // Where few jobs start, records reach their age long before they reach their number.
    if (this.#recordsUntilRemoval > 0 && nowMs < this.#removedMs + DAY_MS) return;
    this.#removedMs = nowMs;
    const { keep, maxJobs } = this.#limits;
    const among = Math.max(FEWEST_BETWEEN_REMOVALS, maxJobs / REMOVALS_AMONG_JOBS);
    this.#recordsUntilRemoval = keep < Infinity ? Math.min(FEWEST_BETWEEN_SORTS, among) : among;
    this.#removing = this.removeOld().catch((error: unknown) => {
      this.#options.logger.warn(`Could not remove old jobs: ${messageOf(error)}`);
    });
  }
}

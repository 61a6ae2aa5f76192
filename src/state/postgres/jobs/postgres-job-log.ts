/** The job log in tables: records that start or end at once share a statement, and old ones go in small batches. */
import type { Clock } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import { type Random, systemRandom } from "../../../random.js";
import { GroupCommit } from "../../../group-commit.js";
import { CappedOutput } from "../../job-log/capped-output.js";
import { dayOfJob, drawJobId, idTakenError, MOST_DRAWS, outputTakenError } from "../../job-log/job-id.js";
import {
  DEFAULT_MAX_OUTPUT_BYTES,
  type EndedJobRecord,
  type JobEnd,
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
import {
  durationBetween,
  instantOr,
  isPlainRecord,
  jobRecord,
  newEnd,
  newStart,
} from "../../job-log/job-record.js";
import { retentionLimits, type RetentionLimits } from "../../job-log/job-retention.js";
import { isLostReply, type Statements } from "../connection/database.js";
import {
  closeJobs,
  type EndOfJob,
  insertedIds,
  insertJobs,
  type NewRow,
  presumeEnds,
  readJob,
  removeOld,
  selectJob,
  selectJobs,
  selectOrphans,
} from "./job-rows.js";
import { BlockOutputBytes, createOutput, readWhole } from "./output-blocks.js";

export interface PostgresJobLogOptions {
  readonly database: Statements;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Resolves when the clock can tell the time: it is the database's, which may not have been asked yet. */
  readonly whenTimeKnown?: (() => Promise<void>) | undefined;
  readonly logger: Logger;
  /** The node that opens records, while it is one. */
  readonly node?: (() => string | undefined) | undefined;
  readonly random?: Random | undefined;
  /** How long a job is kept that has ended. @default 30 */
  readonly maxAgeDays?: number | undefined;
  /** Beyond this many, the oldest that have ended go. @default 10_000 */
  readonly maxJobs?: number | undefined;
  /** What is kept of one job's output. @default 1_000_000 */
  readonly maxOutputBytes?: number | undefined;
}

/** What waits for a statement: several at once keep their order, and each hears what became of its own. */
interface Entry<Item extends { readonly id: string }> {
  readonly items: readonly Item[];
  answers: readonly boolean[];
}

const DAY_MS = 86_400_000;
/** A tenth more than may be kept is kept for a while: to look for what is too much takes as long as to count it. */
const REMOVALS_AMONG_JOBS = 10;
const FEWEST_BETWEEN_REMOVALS = 1_000;
const REMOVED_AT_ONCE = 1_000;

export class PostgresJobLog implements JobLog {
  readonly #options: PostgresJobLogOptions;
  readonly #limits: RetentionLimits;
  readonly #starts: GroupCommit<Entry<NewRow>>;
  readonly #ends: GroupCommit<Entry<EndOfJob>>;
  readonly #startedMs = new Map<string, number>();
  readonly #outputs = new Map<string, CappedOutput>();
  /** Those that may have been opened here although the answer was lost. */
  readonly #unheardOutputs = new Set<string>();
  #startsUntilRemoval = 0;
  /** When it was last looked for what is too old, on the monotonic clock. */
  #removedMs = -Infinity;
  #removing: Promise<void> = Promise.resolve();

  constructor(options: PostgresJobLogOptions) {
    const { database } = options;
    this.#options = options;
    this.#limits = retentionLimits(options);
    this.#starts = new GroupCommit((batch) =>
      this.#send(batch, async (rows) => {
        const [answer] = await database.query(insertJobs(database.schema, rows, options.node?.()));
        return insertedIds(answer);
      }),
    );
    this.#ends = new GroupCommit((batch) =>
      this.#send(batch, async (ends) => {
        const rows = await database.query(closeJobs(database.schema, ends));
        return new Set(rows.map(({ id }) => id));
      }),
    );
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
      const [isOpened] = await this.#open([{ id, start }]);
      if (isOpened === true) return jobRecord(start, undefined);
    }
    throw idTakenError(id, draws);
  }

  async startAll(jobs: readonly NamedJob[]): Promise<readonly boolean[]> {
    await this.#options.whenTimeKnown?.();
    return this.#open(jobs.map((job) => ({ id: job.id, start: this.#startOf(job) })));
  }

  async recordAll(jobs: readonly EndedJobRecord[]): Promise<readonly boolean[]> {
    return this.#insert(jobs.map((job) => this.rowOf(job)));
  }

  /** For who makes it together with something else. Throws a StateError with code INVALID_STATE for what is no record. */
  rowOf(job: EndedJobRecord): NewRow {
    if (isPlainRecord(job)) return { id: job.id, start: job, end: job };
    return { id: job.id, start: this.#startOf(job), end: newEnd(job, new Date(job.finished_at)) };
  }

  /** To be told of records that were made elsewhere. */
  noteMade(count: number): void {
    this.#removeNowAndThen(count);
  }

  async finish(id: string, outcome: JobOutcomeRecord): Promise<boolean> {
    const [isClosed] = await this.finishAll([{ ...outcome, id }]);
    return isClosed === true;
  }

  async finishAll(outcomes: readonly NamedOutcome[]): Promise<readonly boolean[]> {
    const items = await this.#endsOf(outcomes);
    if (items.length === 0) return [];
    const entry: Entry<EndOfJob> = { items, answers: [] };
    await this.#ends.add(entry);
    for (const { id } of outcomes) this.#startedMs.delete(id);
    return entry.answers;
  }

  async get(id: string): Promise<JobRecord | undefined> {
    dayOfJob(id);
    const { database } = this.#options;
    const [row] = await database.query(selectJob(database.schema, id));
    return row && readJob(row);
  }

  async list(filter: JobFilter = {}): Promise<readonly JobRecord[]> {
    const { database } = this.#options;
    const rows = await database.query(selectJobs(database.schema, filter));
    return rows.flatMap((row) => readJob(row) ?? []);
  }

  async openOutput(id: string): Promise<JobOutput> {
    dayOfJob(id);
    const { database, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES } = this.#options;
    if (!(await this.#isOpened(id))) throw outputTakenError(id);
    const bytes = new BlockOutputBytes(database, id);
    const output = new CappedOutput(bytes, maxOutputBytes, () => this.#outputs.delete(id));
    this.#outputs.set(id, output);
    return output;
  }

  /** Whether the output is ours to write. */
  async #isOpened(id: string): Promise<boolean> {
    try {
      const isNew = await createOutput(this.#options.database, id);
      return this.#unheardOutputs.delete(id) || isNew;
    } catch (error) {
      if (isLostReply(error)) this.#unheardOutputs.add(id);
      throw error;
    }
  }

  async readOutput(id: string): Promise<string | undefined> {
    dayOfJob(id);
    const read = (): Promise<string | undefined> => readWhole(this.#options.database, id);
    const output = this.#outputs.get(id);
    return output === undefined ? read() : output.whenIdle(read);
  }

  /** Resolves when all outputs are closed and nothing is under way. */
  async close(): Promise<void> {
    await Promise.allSettled(Array.from(this.#outputs.values(), (output) => output.close()));
    await Promise.all([this.#starts.settled(), this.#ends.settled(), this.#removing]);
  }

  /** Closes the records of jobs whose process is taken to be gone. Should it live after all, what it says counts. */
  async presumeInterrupted(ids: readonly string[], error: string): Promise<void> {
    if (ids.length === 0) return;
    const { database } = this.#options;
    const outcome = { status: "interrupted", error, duration_ms: null } as const;
    const ends = await this.#endsOf(ids.map((id) => ({ ...outcome, id })));
    await database.query(presumeEnds(database.schema, ends));
  }

  /** Closes what was left open by nodes that have not been seen for a whole lease of theirs: nobody else will. */
  async closeOrphans(leaseNow: string | null): Promise<void> {
    const { database } = this.#options;
    const orphans = await database.query(selectOrphans(database.schema, leaseNow));
    const ids = orphans.map(({ id }) => String(id));
    await this.presumeInterrupted(ids, "the process that ran the job ended");
  }

  /** Removes what is older than its age or more than its number; in small batches, so that nobody waits long. */
  async removeOld(): Promise<void> {
    await this.#options.whenTimeKnown?.();
    const { database, clock } = this.#options;
    const { maxAgeDays, maxJobs } = this.#limits;
    const beforeMs = clock.now().getTime() - maxAgeDays * DAY_MS;
    for (let removed = REMOVED_AT_ONCE; removed >= REMOVED_AT_ONCE;) {
      const [row] = await database.query(removeOld(database.schema, beforeMs, maxJobs, REMOVED_AT_ONCE));
      removed = Number(row?.["count"]);
    }
  }

  #startOf(job: NamedJob): JobStart {
    dayOfJob(job.id);
    return newStart(job, job.id, instantOr(job.started_at, this.#options.clock.now()));
  }

  async #open(rows: readonly NewRow[]): Promise<readonly boolean[]> {
    const areOpened = await this.#insert(rows);
    const nowMs = this.#options.clock.monotonic();
    for (const [index, { id }] of rows.entries())
      if (areOpened[index] === true) this.#startedMs.set(id, nowMs);
    return areOpened;
  }

  async #insert(rows: readonly NewRow[]): Promise<readonly boolean[]> {
    if (rows.length === 0) return [];
    const entry: Entry<NewRow> = { items: rows, answers: [] };
    await this.#starts.add(entry);
    this.#removeNowAndThen(rows.length);
    return entry.answers;
  }

  async #endsOf(outcomes: readonly NamedOutcome[]): Promise<readonly EndOfJob[]> {
    await this.#options.whenTimeKnown?.();
    const ends = outcomes.map((outcome) => {
      dayOfJob(outcome.id);
      return newEnd(outcome, instantOr(outcome.finished_at, this.#options.clock.now()));
    });
    const items = await Promise.all(outcomes.map((outcome, index) => this.#measured(outcome, ends[index])));
    return items.filter((item) => item !== undefined);
  }

  /** An end with its duration: by the clock that measures, where the job was started here. */
  async #measured({ id, duration_ms }: NamedOutcome, end: JobEnd | undefined): Promise<EndOfJob | undefined> {
    if (end === undefined) return undefined;
    if (duration_ms !== undefined) return { id, end };
    const startedMs = this.#startedMs.get(id);
    if (startedMs !== undefined) {
      const elapsedMs = Math.round(this.#options.clock.monotonic() - startedMs);
      return { id, end: { ...end, duration_ms: elapsedMs } };
    }
    const record = await this.get(id);
    if (record === undefined) return { id, end };
    const elapsedMs = durationBetween(record.started_at, new Date(end.finished_at));
    return { id, end: { ...end, duration_ms: elapsedMs } };
  }

  /** Whoever names an id first has it; the statement knows only each id once. */
  async #send<Item extends { readonly id: string }>(
    batch: readonly Entry<Item>[],
    /** Answers the ids of those that it was done for; `undefined` for all. */
    write: (items: readonly Item[]) => Promise<ReadonlySet<unknown> | undefined>,
  ): Promise<void> {
    const first = new Map<string, Item>();
    for (const { items } of batch)
      for (const item of items) if (!first.has(item.id)) first.set(item.id, item);
    const done = await write([...first.values()]);
    for (const entry of batch)
      entry.answers = entry.items.map((item) => done?.has(item.id) !== false && first.get(item.id) === item);
  }

  #removeNowAndThen(started: number): void {
    this.#startsUntilRemoval -= started;
    const nowMs = this.#options.clock.monotonic();
    // Where few jobs start, they become too old long before they are too many.
    if (this.#startsUntilRemoval > 0 && nowMs < this.#removedMs + DAY_MS) return;
    this.#removedMs = nowMs;
    this.#startsUntilRemoval = Math.max(FEWEST_BETWEEN_REMOVALS, this.#limits.maxJobs / REMOVALS_AMONG_JOBS);
    this.#removing = this.removeOld().catch((error: unknown) => {
      this.#options.logger.warn(`Could not remove old jobs: ${messageOf(error)}`);
    });
  }
}

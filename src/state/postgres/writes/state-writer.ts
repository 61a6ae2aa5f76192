/**
 * Makes changes to states durable; changes that wait for a write share the next one. Nothing is locked while a change is
 * decided: a row is written only if it is still as it was read, otherwise the decision is repeated on the new row.
 */
import { quote } from "../../../errors.js";
import type { Fields } from "../../../fields.js";
import { GroupCommit } from "../../../group-commit.js";
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleKey } from "../../store.js";
import { AsyncLock } from "../../../async-lock.js";
import { StateError } from "../../errors.js";
import { type Database, isConflict, isLostReply } from "../connection/database.js";
import { type DecidedWrite, decideWrite, type News, type RowsByKey, type StateTask } from "./decide-write.js";
import { refusedIds } from "../jobs/job-rows.js";
import { keyColumns, noRow, readRow, ROW_COLUMNS, type StateRow } from "../rows/state-row.js";

interface Batch {
  readonly tasks: StateTask[];
  /** The number of their schedules. */
  size: number;
  readonly written: Promise<void>;
  /** The keys whose changes are listed for other nodes, of everything in this write. */
  readonly listed: Exclude<News, string> | undefined;
}

/** Conflicts with other writers are over after a few attempts, unless something is wrong. */
const MOST_TRIES = 100;

/** As many as one statement claims. With larger writes the database and this process would wait for each other in turns. */
const MOST_ENDS = 2_000;
/** One write is decided while the other is carried out. */
const ENDS_AT_ONCE = 2;

/** How long a write whose reply was lost may still be under way in the database. */
const UNCERTAIN_MS = 60_000;

/** How many ended claims are remembered at least, for callers that repeat the end of one. */
const MOST_ENDED = 20_000;

export interface StateWriterOptions {
  readonly database: Database;
  /** The id of the node that writes; `undefined` while the store is not open. */
  readonly node: () => string | undefined;
  readonly monotonic: () => number;
  /** After this many milliseconds a write counts as lost. */
  readonly timeoutMs: number;
}

/**
 * The attempts at one write. Each leaves a receipt in the database when it is carried out. That may happen after its reply
 * was lost and the next attempt was sent, so the receipts of all attempts are looked for.
 */
interface WriteReceipts {
  /** The tokens of the claims that each attempt ends, by its receipt. */
  readonly ended: Map<string, readonly string[]>;
  /** Whether a reply was lost. */
  isUncertain: boolean;
}

interface UncertainWrite {
  readonly receipts: WriteReceipts;
  /** From then on it can no longer be carried out. */
  readonly untilMs: number;
}

export class StateWriter {
  readonly #options: StateWriterOptions;
  readonly #lock = new AsyncLock();
  /** Collects changes until its write begins. */
  #next: Batch | undefined;
  /** Resolves when all earlier changes are written, except for ends of claims. */
  changed: Promise<void> = Promise.resolve();
  /** Two ends of claims never change the same row, so their writes may overlap with each other, and with nothing else. */
  readonly #ends = new GroupCommit<StateTask>((tasks) => this.#write(tasks), {
    atOnce: ENDS_AT_ONCE,
    most: MOST_ENDS,
    sizeOf: ({ keys }) => keys.length,
  });
  /** The rows of the claims that this node holds, as last read or written. */
  readonly #known = new ScheduleMap<StateRow>();
  /** Writes that may or may not have been carried out, because their replies were lost. */
  readonly #uncertain = new Set<UncertainWrite>();
  /** The tokens of claims that were ended here for their holders, which may repeat the call; the oldest calls first. */
  readonly #ended: (readonly string[])[] = [];
  #endedCount = 0;

  constructor(options: StateWriterOptions) {
    this.#options = options;
  }

  /** Resolves when the changes are durable. Changes are made in the order of the calls; ends of claims in any order. */
  commit(task: StateTask): Promise<void> {
    const isEnd = task.news === "none";
    const next = this.#next;
    // An end joins a change that waits for its write. Otherwise changes and ends in turns would be a write each.
    const mayJoin = next?.listed === undefined && (next?.size ?? Infinity) + task.keys.length <= MOST_ENDS;
    if (isEnd && !mayJoin) {
      this.#next = undefined;
      return this.#lock.share(() => this.#ends.add(task));
    }
    const listed = typeof task.news === "string" ? undefined : task.news;
    if (this.#next === undefined || this.#next.listed !== listed) this.#next = this.#begin(listed);
    const batch = this.#next;
    batch.tasks.push(task);
    batch.size += task.keys.length;
    if (!isEnd) this.changed = batch.written.catch(() => {});
    return batch.written;
  }

  #begin(listed: Batch["listed"]): Batch {
    const tasks: StateTask[] = [];
    const written = this.#lock.take(() => {
      if (this.#next?.tasks === tasks) this.#next = undefined;
      return this.#write(tasks);
    });
    return { tasks, size: 0, written, listed };
  }

  /** Acts when all earlier changes are written, and before any later one is. */
  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    this.#next = undefined;
    return this.#lock.take(act);
  }

  /** Remembers rows, so that the next decision on them need not read them. */
  note(rows: Iterable<StateRow>): void {
    for (const row of rows) this.#known.set(row, row);
  }

  /** Remembers a row of which only the version has changed. */
  noteVersion(key: ScheduleKey, version: number): void {
    const row = this.#known.get(key);
    if (row?.version === version - 1) this.#known.set(key, { ...row, version });
  }

  /** The rows of schedules; an empty row for a schedule without one. */
  async read(keys: readonly ScheduleKey[]): Promise<readonly StateRow[]> {
    const found = await this.#read(keys);
    return keys.map((key) => found.get(key) ?? noRow(key));
  }

  async #read(keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const { schema } = this.#options.database;
    const fields = await this.#options.database.query({
      name: `${schema}.read`,
      text: `select ${ROW_COLUMNS} from unnest($1::text[], $2::text[]) as k(agent, schedule)
        join ${schema}.schedules n on n.agent = k.agent and n.schedule = k.schedule
        join ${schema}.states s on s.id = n.id`,
      values: keyColumns(keys),
      isText: true,
    });
    const found = new ScheduleMap<StateRow>();
    for (const row of fields.map(readRow)) found.set(row, row);
    return found;
  }

  /** Inserts the rows of schedules without one, and reads all rows. */
  async #add(unknown: readonly ScheduleKey[], keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const { schema, query } = this.#options.database;
    await query({ text: `select ${schema}.add_schedules($1, $2)`, values: keyColumns(unknown) });
    return this.#read(keys);
  }

  async #write(tasks: readonly StateTask[]): Promise<void> {
    const keys = tasks.flatMap((task) => task.keys);
    const receipts: WriteReceipts = { ended: new Map(), isUncertain: false };
    try {
      await this.#writeOnce(tasks, keys, receipts);
    } catch (error) {
      if (receipts.isUncertain)
        this.#uncertain.add({ receipts, untilMs: this.#options.monotonic() + UNCERTAIN_MS });
      throw error;
    }
  }

  async #writeOnce(
    tasks: readonly StateTask[],
    keys: readonly ScheduleKey[],
    receipts: WriteReceipts,
  ): Promise<void> {
    const { database, node } = this.#options;
    const areKnown = keys.every((key) => this.#known.get(key) !== undefined);
    let rows: RowsByKey = areKnown ? this.#known : await this.#readSurely(keys);
    for (let tries = 1; ;) {
      const { missing, count, write } = decideWrite(tasks, keys, rows, { database, node: node() });
      if (missing.length > 0) rows = await this.#add(missing, keys);
      // The statement checks only the versions of rows that it changes: the rest must be read.
      else if (rows === this.#known && count < keys.length) rows = await this.#readSurely(keys);
      else if (write === undefined) return;
      else {
        // The statement makes all remembered rows outdated, except for claims that go on.
        const kept = write.kept.filter((row) => this.#known.get(row) !== undefined);
        for (const key of keys) this.#known.delete(key);
        const reply = await this.#send(write, receipts);
        if (reply?.["is_written"] === true) {
          const refused = refusedIds(reply);
          for (const { operation } of tasks) operation.noteWritten?.(refused);
          return this.note(kept);
        }
        if (tries++ >= MOST_TRIES) throw tooOftenError(keys, tries - 1);
        // Rows before receipts: a write that is carried out in between changes the rows, so that the next attempt is refused.
        rows = await this.#readSurely(keys);
        const found = receipts.isUncertain ? await this.#foundOf(receipts) : [];
        for (const receipt of found) this.noteEnded(receipts.ended.get(receipt) ?? []);
        if (found.length > 0) return;
      }
    }
  }

  /** `undefined` when a row has changed since it was read, or the reply was lost. */
  async #send(
    { statement, receipt, ended }: DecidedWrite,
    receipts: WriteReceipts,
  ): Promise<Fields | undefined> {
    const { database, timeoutMs } = this.#options;
    receipts.ended.set(receipt, ended);
    try {
      const [reply] = await database.query({ ...statement, timeoutMs });
      return reply;
    } catch (error) {
      if (isLostReply(error)) receipts.isUncertain = true;
      else if (!isConflict(error)) throw error;
      return undefined;
    }
  }

  /** Whether this store has ended the claim for its holder: by a write whose reply was lost, or as `noteEnded` says. */
  wasEnded(token: string): boolean {
    return this.#ended.some((tokens) => tokens.includes(token));
  }

  /** Cheap for thousands of ends, of which hardly any is repeated. */
  noteEnded(tokens: readonly string[]): void {
    this.#ended.push(tokens);
    this.#endedCount += tokens.length;
    for (let [first] = this.#ended; first !== undefined; [first] = this.#ended) {
      if (this.#endedCount - first.length < MOST_ENDED) break;
      this.#endedCount -= first.length;
      this.#ended.shift();
    }
  }

  /** As `#read`. Afterwards `wasEnded` knows every write that the rows show, also a write whose reply was lost. */
  async #readSurely(keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const rows = await this.#read(keys);
    if (this.#uncertain.size > 0) await this.#resolveUncertain();
    return rows;
  }

  async #resolveUncertain(): Promise<void> {
    const nowMs = this.#options.monotonic();
    for (const uncertain of this.#uncertain) {
      const found = await this.#foundOf(uncertain.receipts);
      for (const receipt of found) this.noteEnded(uncertain.receipts.ended.get(receipt) ?? []);
      if (found.length > 0 || nowMs >= uncertain.untilMs) this.#uncertain.delete(uncertain);
    }
  }

  /** The receipts that are in the database. */
  async #foundOf({ ended }: WriteReceipts): Promise<readonly string[]> {
    const { schema, query } = this.#options.database;
    const found = await query({
      text: `select id from ${schema}.receipts where id = any($1)`,
      values: [[...ended.keys()]],
    });
    return found.map(({ id }) => String(id));
  }
}

function tooOftenError([key]: readonly ScheduleKey[], tries: number): StateError {
  const name = `${quote(key?.agent)}/${quote(key?.schedule)}`;
  return new StateError(
    `Could not change ${name}: its row has changed before each of ${tries} attempts to write it.`,
    { code: "STATE_DATABASE" },
  );
}

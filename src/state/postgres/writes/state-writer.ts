/**
 * Makes changes to states durable, those that wait for one write together in the next. Nothing is locked while it is
 * decided: rows are written only if they are still what was read, else all is decided again.
 */
import { quote } from "../../../errors.js";
import type { Fields } from "../../../fields.js";
import { GroupCommit } from "../../../group-commit.js";
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleKey } from "../../store.js";
import { AsyncLock } from "../../../async-lock.js";
import { StateError } from "../../errors.js";
import { type Database, isConflict, isLostReply } from "../connection/database.js";
import { type DecidedWrite, decideWrite, type StateTask, type WriteDecision } from "./decide-write.js";
import { insertedIds } from "../jobs/job-rows.js";
import type { RowsByKey } from "./row-draft.js";
import { SentWrites } from "./write-receipts.js";
import { keyColumns, noRow, readRow, ROW_COLUMNS, type StateRow } from "../rows/state-row.js";
import type { News } from "./write-statement.js";

interface Batch {
  readonly tasks: StateTask[];
  /** How many schedules they concern. */
  size: number;
  readonly written: Promise<void>;
  /** Which keys others hear of, of all that is written with it. */
  readonly told: Exclude<News, string> | undefined;
}

/** So many decisions in vain mean that something is wrong with more than the moment. */
const MOST_TRIES = 100;

/** As many as are claimed at once. In larger writes the database and this process would wait for each other in turns. */
const MOST_ENDS = 2_000;
/** One is decided while the other is carried out. */
const ENDS_AT_ONCE = 2;

/** How long a write whose answer was lost may still be under way in the database. */
const UNCERTAIN_MS = 60_000;

export interface StateWriterOptions {
  readonly database: Database;
  /** The node whose changes these are, if it is one: it need not hear of them itself. */
  readonly node: () => string | undefined;
  /** Hears of what was written. */
  readonly onWritten: (write: Pick<DecidedWrite, "dueMs" | "leftMs" | "ended">) => void;
  readonly monotonic: () => number;
  /** After so many milliseconds a write counts as lost. */
  readonly timeoutMs: number;
}

interface UncertainWrite {
  readonly sent: SentWrites;
  /** When it need not be looked for any more. */
  readonly untilMs: number;
}

export class StateWriter {
  readonly #options: StateWriterOptions;
  readonly #turns = new AsyncLock();
  /** Takes what comes until its turn has come. */
  #next: Batch | undefined;
  #changed: Promise<void> = Promise.resolve();
  /** Ends of claims concern nobody else's rows: they overlap with each other, and with nothing else. */
  readonly #ends = new GroupCommit<StateTask>((tasks) => this.#write(tasks), {
    atOnce: ENDS_AT_ONCE,
    most: MOST_ENDS,
    sizeOf: ({ keys }) => keys.length,
  });
  /** The rows of claims that are held here, as they were last known. */
  readonly #known = new ScheduleMap<StateRow>();
  /** Writes of which nobody knows whether they were carried out. */
  readonly #uncertain = new Set<UncertainWrite>();
  /** The claims that were ended by such. */
  readonly #ended = new Set<string>();

  constructor(options: StateWriterOptions) {
    this.#options = options;
  }

  /** Resolves when the changes are durable; all are made in the order of the calls, but for ends of claims among themselves. */
  commit(task: StateTask): Promise<void> {
    const isEnd = task.news === "none";
    if (isEnd && !this.#mayJoin(task)) {
      this.#next = undefined;
      return this.#turns.share(() => this.#ends.add(task));
    }
    const told = typeof task.news === "string" ? undefined : task.news;
    if (this.#next === undefined || this.#next.told !== told) this.#next = this.#begin(told);
    const batch = this.#next;
    batch.tasks.push(task);
    batch.size += task.keys.length;
    if (!isEnd) this.#changed = batch.written.catch(() => {});
    return batch.written;
  }

  /** Whether an end goes along with a change that waits. Where both come in turns, each would else be a write of its own. */
  #mayJoin({ keys }: StateTask): boolean {
    const next = this.#next;
    return next !== undefined && next.told === undefined && next.size + keys.length <= MOST_ENDS;
  }

  #begin(told: Batch["told"]): Batch {
    const tasks: StateTask[] = [];
    const written = this.#turns.take(() => {
      if (this.#next?.tasks === tasks) this.#next = undefined;
      return this.#write(tasks);
    });
    return { tasks, size: 0, written, told };
  }

  /** Resolves when what was asked for before is written, but for the ends of claims, which others need not wait for. */
  get changed(): Promise<void> {
    return this.#changed;
  }

  /** Acts when all before it has been written, and before anything that is called later. */
  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    this.#next = undefined;
    return this.#turns.take(act);
  }

  /** Takes note of rows as they are now, so that what is decided on them next need not read them. */
  note(rows: Iterable<StateRow>): void {
    for (const row of rows) this.#known.set(row, row);
  }

  /** As `note`, for one of which only the version is another. */
  noteVersion(key: ScheduleKey, version: number): void {
    const row = this.#known.get(key);
    if (row?.version === version - 1) this.#known.set(key, { ...row, version });
  }

  /** The rows of these schedules; of one that has none, an empty one. */
  async read(keys: readonly ScheduleKey[]): Promise<readonly StateRow[]> {
    const found = await this.#read(keys);
    return keys.map((key) => found.get(key) ?? noRow(key));
  }

  async #read(keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const { schema } = this.#options.database;
    const answer = await this.#options.database.query({
      name: `${schema}.read`,
      text: `select ${ROW_COLUMNS} from unnest($1::text[], $2::text[]) as k(agent, schedule)
        join ${schema}.schedules n on n.agent = k.agent and n.schedule = k.schedule
        join ${schema}.states s on s.id = n.id`,
      values: keyColumns(keys),
      isText: true,
    });
    const found = new ScheduleMap<StateRow>();
    for (const fields of answer) {
      const row = readRow(fields);
      found.set(row, row);
    }
    return found;
  }

  /** Makes the rows of schedules that have none, and reads all that are asked for. */
  async #add(unknown: readonly ScheduleKey[], keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const { schema, query } = this.#options.database;
    await query({ text: `select ${schema}.add_schedules($1, $2)`, values: keyColumns(unknown) });
    return this.#read(keys);
  }

  async #write(tasks: readonly StateTask[]): Promise<void> {
    const keys = tasks.flatMap((task) => task.keys);
    const sent = new SentWrites();
    try {
      await this.#writeOnce(tasks, keys, sent);
    } catch (error) {
      if (sent.isUncertain) this.#uncertain.add({ sent, untilMs: this.#options.monotonic() + UNCERTAIN_MS });
      throw error;
    }
  }

  async #writeOnce(
    tasks: readonly StateTask[],
    keys: readonly ScheduleKey[],
    sent: SentWrites,
  ): Promise<void> {
    const areKnown = keys.every((key) => this.#known.get(key) !== undefined);
    let rows: RowsByKey | undefined = areKnown ? this.#known : await this.#readSurely(keys);
    for (let tries = 1; ; tries++) {
      const { missing, count, write } = this.#decide(tasks, keys, rows);
      if (missing.length > 0) rows = await this.#add(missing, keys);
      // No version is looked at of what is not written.
      else if (rows === this.#known && count < keys.length) rows = await this.#readSurely(keys);
      else if (write === undefined) return;
      else {
        rows = undefined;
        const held = this.#forget(keys, write);
        const answer = await this.#try(write, sent);
        if (answer?.["is_written"] === true) {
          for (const { operation } of tasks) operation.noteRecorded?.(insertedIds(answer));
          this.note(held);
          return this.#options.onWritten(write);
        }
        if (tries >= MOST_TRIES) throw tooOftenError(keys, tries);
        // In this order: what is carried out after the look has changed what was read, and is refused then.
        rows = await this.#readSurely(keys);
        if (sent.isUncertain && (await this.#receiptsOf(sent)).length > 0)
          return this.#options.onWritten(write);
      }
    }
  }

  #decide(
    tasks: readonly StateTask[],
    keys: readonly ScheduleKey[],
    rows: RowsByKey = this.#known,
  ): WriteDecision {
    const { database, node } = this.#options;
    return decideWrite(tasks, keys, rows, { database, node: node() });
  }

  /** What was known is so no longer. Answers what it will be of the claims that are held here and go on. */
  #forget(keys: readonly ScheduleKey[], { kept }: DecidedWrite): readonly StateRow[] {
    const held = kept.filter((row) => this.#known.get(row) !== undefined);
    for (const key of keys) this.#known.delete(key);
    return held;
  }

  /** Without an answer, or one that it is not written: a row has changed since it was read, or nobody knows. */
  async #try({ statement, receipt, ended }: DecidedWrite, sent: SentWrites): Promise<Fields | undefined> {
    const { database, timeoutMs } = this.#options;
    sent.note(receipt, ended);
    try {
      const [answer] = await database.query({ ...statement, timeoutMs });
      return answer;
    } catch (error) {
      if (isLostReply(error)) sent.isUncertain = true;
      else if (!isConflict(error)) throw error;
      return undefined;
    }
  }

  /** Whether a claim was ended by a write whose answer was lost, which its holder took for a failure. */
  readonly wasEnded = (token: string): boolean => this.#ended.has(token);

  /** As `read`. What was carried out before, although its answer was lost, is known as ours then. */
  async #readSurely(keys: readonly ScheduleKey[]): Promise<RowsByKey> {
    const rows = await this.#read(keys);
    if (this.#uncertain.size > 0) await this.#findOut();
    return rows;
  }

  /** What became of writes whose answers were lost: some may have ended claims. */
  async #findOut(): Promise<void> {
    const nowMs = this.#options.monotonic();
    for (const uncertain of this.#uncertain) {
      const receipts = await this.#receiptsOf(uncertain.sent);
      for (const receipt of receipts)
        for (const token of uncertain.sent.endedBy(receipt)) this.#ended.add(token);
      if (receipts.length > 0 || nowMs >= uncertain.untilMs) this.#uncertain.delete(uncertain);
    }
  }

  /** Those of its receipts that are there. */
  async #receiptsOf(sent: SentWrites): Promise<readonly string[]> {
    const { schema, query } = this.#options.database;
    const found = await query({
      text: `select id from ${schema}.receipts where id = any($1)`,
      values: [sent.receipts],
    });
    return found.map(({ id }) => String(id));
  }
}

function tooOftenError([key]: readonly ScheduleKey[], tries: number): StateError {
  const name = `${quote(key?.agent)}/${quote(key?.schedule)}`;
  return new StateError(
    `${name} was changed by others each of ${tries} times that a change to it was decided.`,
    {
      code: "STATE_DATABASE",
    },
  );
}

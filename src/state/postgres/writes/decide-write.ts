/**
 * Applies operations to rows and builds the statement that writes the result. Only what is needed after the reply is kept:
 * the states of thousands of jobs that end together would take much memory while the statement is under way.
 */
import { isDeepStrictEqual } from "node:util";
import { applyPatch } from "../../../fields.js";
import { randomToken } from "../../../random.js";
import type { StateDraft } from "../../operations.js";
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleState, ScheduleStatePatch } from "../../schedule-state.js";
import type { OutsideChange, ScheduleKey } from "../../store.js";
import type { ScheduleFields } from "../../validate-state.js";
import type { Database, Query } from "../connection/database.js";
import { type JobRow, recordParameters } from "../jobs/job-rows.js";
import { type Plain, plainArray, SharedColumn } from "../rows/column-text.js";
import { SharedDocuments } from "../rows/state-document.js";
import {
  dueColumn,
  keyColumns,
  noRow,
  pastSlot,
  slotColumn,
  sourceColumn,
  type StateRow,
} from "../rows/state-row.js";

/**
 * How the other nodes learn of a change: not at all, by a notification after which they claim, or by a list of changed keys by
 * which they plan. The list has only keys that are given here.
 */
export type News = "none" | "wake" | readonly (keyof ScheduleState)[];

/** A row, and its state with the changes that were made to it. */
interface DraftedRow {
  readonly row: StateRow;
  state: ScheduleFields;
}

/** Whether the claim goes on. A change never makes a claim. */
function keepsClaim({ row, state }: DraftedRow): boolean {
  const { claim } = row.state;
  return claim != null && state.claim?.token === claim.token;
}

interface StateWrite {
  readonly changed: readonly DraftedRow[];
  /** The final records of jobs. */
  readonly records: readonly JobRow[];
  readonly news: News;
  /** The id of the row in `receipts` that proves that the statement was carried out. */
  readonly receipt: string;
  /** The node that writes, which ignores its own notifications; `undefined` for a store that is not open. */
  readonly node: string | undefined;
}

/** Rows by their schedules. */
export type RowsByKey = Pick<ScheduleMap<StateRow>, "get">;

class RowDraft implements StateDraft {
  readonly #keys: readonly ScheduleKey[];
  readonly #rows: RowsByKey;
  readonly #drafted = new Map<StateRow, DraftedRow>();
  /** Empty rows of schedules that have none. */
  #missing: ScheduleMap<StateRow> | undefined;
  /** The last one found, because an operation reads a state and then changes it. */
  #lastKey: ScheduleKey | undefined;
  #last: DraftedRow | undefined;

  constructor(keys: readonly ScheduleKey[], rows: RowsByKey) {
    this.#keys = keys;
    this.#rows = rows;
  }

  /** The version of the row when it was read. */
  versionOf(key: ScheduleKey): number {
    return this.#find(key).row.version;
  }

  read(key: ScheduleKey): Partial<ScheduleState> {
    return this.#find(key).state;
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const drafted = this.#find(key);
    drafted.state = applyPatch(drafted.state, patch);
    return drafted.state;
  }

  keys(): Iterable<ScheduleKey> {
    return this.#keys;
  }

  changed(): DraftedRow[] {
    return [...this.#drafted.values()].filter(({ row, state }) => state !== row.state);
  }

  #find(key: ScheduleKey): DraftedRow {
    if (this.#last !== undefined && this.#lastKey === key) return this.#last;
    const row = this.#rowOf(key);
    let drafted = this.#drafted.get(row);
    if (drafted === undefined) {
      drafted = { row, state: row.state };
      this.#drafted.set(row, drafted);
    }
    this.#lastKey = key;
    this.#last = drafted;
    return drafted;
  }

  #rowOf(key: ScheduleKey): StateRow {
    const known = this.#rows.get(key) ?? this.#missing?.get(key);
    if (known !== undefined) return known;
    const row = noRow(key);
    this.#missing ??= new ScheduleMap();
    this.#missing.set(key, row);
    return row;
  }
}

export interface StateTask {
  readonly keys: readonly ScheduleKey[];
  readonly operation: RowOperation;
  readonly news: News;
}

export interface RowOperation {
  /** May be called again, with a new draft. */
  apply(draft: StateDraft & Pick<RowDraft, "versionOf">): void;
  /** The records of jobs to write in the same statement. */
  readonly records?: readonly JobRow[];
  /** The tokens of the claims that it ended for their holder. */
  readonly ended?: readonly string[];
  /** Called when a reply confirms the write. `refusedIds`: ids of records that belong to other jobs. */
  noteWritten?(refusedIds: ReadonlySet<unknown>): void;
}

export interface DecidedWrite {
  readonly statement: Query;
  readonly receipt: string;
  /** The rows whose claims go on, as the statement leaves them. */
  readonly kept: readonly StateRow[];
  /** The tokens of the claims that it ends for their holders. */
  readonly ended: readonly string[];
}

export interface WriteDecision {
  /** Schedules whose rows must be inserted first. */
  readonly missing: readonly ScheduleKey[];
  /** How many rows change. */
  readonly count: number;
  /** `undefined` when no row changes, or a row is missing. */
  readonly write: DecidedWrite | undefined;
}

export function decideWrite(
  tasks: readonly StateTask[],
  keys: readonly ScheduleKey[],
  rows: RowsByKey,
  { database, node }: { readonly database: Database; readonly node: string | undefined },
): WriteDecision {
  const draft = new RowDraft(keys, rows);
  for (const { operation } of tasks) operation.apply(draft);
  const changed = draft.changed();
  const count = changed.length;
  const missing = changed.filter(({ row }) => row.id === undefined).map(({ row }) => row);
  if (missing.length > 0 || count === 0) return { missing, count, write: undefined };
  const receipt = randomToken();
  const records = tasks.flatMap(({ operation }) => operation.records ?? []);
  const ended = tasks.flatMap(({ operation }) => operation.ended ?? []);
  const statement = writeStatement(database, { changed, news: newsOf(tasks), records, receipt, node });
  const kept: StateRow[] = [];
  for (const { row, state } of changed.filter(keepsClaim))
    kept.push({ ...row, state, version: row.version + 1 });
  return { missing, count, write: { statement, receipt, kept, ended } };
}

/** The most detailed news of the tasks. */
function newsOf(tasks: readonly StateTask[]): News {
  const all = tasks.map(({ news }) => news);
  return all.find((news) => typeof news !== "string") ?? all.find((news) => news === "wake") ?? "none";
}

const byId = (a: DraftedRow, b: DraftedRow): number => Number(a.row.id) - Number(b.row.id);

/**
 * The reply has `is_written`, `false` when a row has changed since it was read, and `refused_ids`, the ids of records that
 * belong to other jobs.
 */
function writeStatement(
  { schema, schemaName }: Pick<Database, "schema" | "schemaName">,
  { changed, records, news, receipt, node }: StateWrite,
): Query {
  const values: unknown[] = [];
  const call = (name: string, parameters: readonly unknown[]): string => {
    const places = parameters.map((_, index) => `$${values.length + index + 1}`);
    values.push(...parameters);
    return `${name}(${places.join(", ")})`;
  };
  // Every statement locks rows in the order of their ids, which rules out deadlocks.
  const writing = call(`${schema}.write_states`, [...writeParameters(changed.toSorted(byId)), receipt]);
  const parts: string[] = [];
  if (records.length > 0)
    parts.push(`${call(`${schema}.record_jobs`, recordParameters(records, node))} end as refused_ids`);
  const changes = typeof news === "string" ? [] : changed.map((row) => changeOf(row, news));
  const listed = changes.filter(({ keys }) => keys.length > 0);
  const isListed = listed.length > 0;
  if (isListed) parts.push(`${call(`${schema}.list_changes`, listParameters(listed))} end`);
  if (news !== "none") parts.push(`${call("pg_notify", [schemaName, isListed ? "" : (node ?? "")])} end`);
  const rest = parts.map((part) => `, case when w.is_written then ${part}`);
  return {
    name: `${schema}.write ${isListed} ${news === "none"} ${records.length > 0}`,
    // "offset 0" makes PostgreSQL write the states first.
    text: `select w.is_written${rest.join("")} from (select ${writing} as is_written offset 0) as w`,
    values,
  };
}

/** Builds the texts of all arrays in one pass: for a thousand jobs `pg` would take as long as the rest of the write. */
function writeParameters(changed: readonly DraftedRow[]): string[] {
  const ids: Plain[] = [];
  const versions: Plain[] = [];
  const dues = new SharedColumn();
  const documents = new SharedDocuments();
  // Columns in which most rows have the default.
  const slots = new SharedColumn();
  const sources = new SharedColumn();
  const disabled = new SharedColumn();
  const keptClaims = new SharedColumn();
  const keptSlots = new SharedColumn();
  const unclaimed: Plain[] = [];
  for (const change of changed) {
    const { row, state } = change;
    const isKept = keepsClaim(change);
    const due = dueColumn(state);
    const slot = slotColumn(state);
    ids.push(row.id);
    versions.push(row.version);
    dues.add(due);
    slots.add(slot === due ? null : slot);
    sources.add((isKept ? state.claim?.source : sourceColumn(state)) ?? null);
    disabled.add(state.status === "disabled");
    keptClaims.add(isKept);
    keptSlots.add(slotColumn(row.state) === slot && isSeen(row.state, state));
    documents.add(state);
    if (row.state.claim == null) unclaimed.push(row.id);
  }
  return [
    plainArray(ids),
    plainArray(versions),
    dues.array,
    slots.arrayBut(null),
    sources.arrayBut(null),
    disabled.arrayBut(false),
    keptClaims.arrayBut(false),
    keptSlots.arrayBut(false),
    documents.lines,
    plainArray(unclaimed),
  ];
}

/** Whether a slot that was seen due before a change is due at the same time after it: a further attempt is not. */
function isSeen(before: ScheduleFields, after: ScheduleFields): boolean {
  return pastSlot(after) === undefined || before.next_run_at === after.next_run_at;
}

function listParameters(changes: readonly OutsideChange[]): unknown[] {
  return [...keyColumns(changes), JSON.stringify(changes.map(({ keys }) => keys))];
}

/** Which of the keys a change has changed. */
function changeOf({ row, state }: DraftedRow, listed: readonly (keyof ScheduleState)[]): OutsideChange {
  const { agent, schedule } = row;
  const before: ScheduleFields = row.state;
  const keys = listed.filter((key) => !isDeepStrictEqual(before[key] ?? null, state[key] ?? null));
  return { agent, schedule, keys };
}

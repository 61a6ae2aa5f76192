/**
 * Applies operations to rows and builds the statement that writes the result. Only what is needed after the reply is kept:
 * the states of thousands of jobs that end together would take much memory while the statement is under way.
 */
import { applyPatch } from "../../../fields.js";
import { randomToken } from "../../../random.js";
import type { StateDraft } from "../../operations.js";
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleState, ScheduleStatePatch } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import type { ScheduleFields } from "../../validate-state.js";
import type { Database, Query } from "../connection/database.js";
import type { JobRow } from "../jobs/job-rows.js";
import { noRow, type StateRow } from "../rows/state-row.js";
import { type ChangedRow, type News, writeStatement } from "./write-statement.js";

/** Rows by their schedules. */
export type RowsByKey = Pick<ScheduleMap<StateRow>, "get">;

class RowDraft implements StateDraft {
  readonly #keys: readonly ScheduleKey[];
  readonly #rows: RowsByKey;
  /** Empty rows of schedules that have none. */
  #missing: ScheduleMap<StateRow> | undefined;
  readonly #changed = new Map<StateRow, ScheduleFields>();

  constructor(keys: readonly ScheduleKey[], rows: RowsByKey) {
    this.#keys = keys;
    this.#rows = rows;
  }

  /** The version of the row when it was read. */
  versionOf(key: ScheduleKey): number {
    return this.#rowOf(key).version;
  }

  read(key: ScheduleKey): Partial<ScheduleState> {
    return this.#stateOf(this.#rowOf(key));
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const row = this.#rowOf(key);
    const before = this.#stateOf(row);
    const state = applyPatch(before, patch);
    if (state !== before) this.#changed.set(row, state);
    return state;
  }

  keys(): Iterable<ScheduleKey> {
    return this.#keys;
  }

  changed(): ChangedRow[] {
    return Array.from(this.#changed, ([row, state]) => {
      const { claim } = row.state;
      return { row, state, keepsClaim: claim != null && state.claim?.token === claim.token };
    });
  }

  #stateOf(row: StateRow): ScheduleFields {
    return this.#changed.get(row) ?? row.state;
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
  const missing = changed.flatMap(({ row }) => (row.id === undefined ? row : []));
  if (missing.length > 0 || count === 0) return { missing, count, write: undefined };
  const receipt = randomToken();
  const records = tasks.flatMap(({ operation }) => operation.records ?? []);
  const ended = tasks.flatMap(({ operation }) => operation.ended ?? []);
  const statement = writeStatement(database, { changed, news: newsOf(tasks), records, receipt, node });
  const kept: StateRow[] = [];
  for (const { row, state, keepsClaim } of changed)
    if (keepsClaim) kept.push({ ...row, state, version: row.version + 1 });
  return { missing, count, write: { statement, receipt, kept, ended } };
}

/** The most detailed news of the tasks. */
function newsOf(tasks: readonly StateTask[]): News {
  const all = tasks.map(({ news }) => news);
  return all.find((news) => typeof news !== "string") ?? all.find((news) => news === "wake") ?? "none";
}

/**
 * What tasks make of rows: the statement that writes it, and the little that is needed of it once that is answered. The
 * rest is not kept while it is under way: of thousands of jobs that end together that would be a lot.
 */
import { randomToken } from "../../../random.js";
import type { StateDraft } from "../../operations.js";
import type { ScheduleKey } from "../../store.js";
import type { Database, Query } from "../connection/database.js";
import type { NewRow } from "../jobs/job-rows.js";
import { RowDraft, type RowsByKey } from "./row-draft.js";
import { dueColumn, type StateRow } from "../rows/state-row.js";
import { type News, writeStatement } from "./write-statement.js";

export interface StateTask {
  readonly keys: readonly ScheduleKey[];
  readonly operation: RowOperation;
  readonly news: News;
}

export interface RowOperation {
  /** May be asked again, on another draft. */
  apply(draft: StateDraft & Pick<RowDraft, "versionOf">): void;
  /** The records of jobs that are to be made together with what it applied. Asked for once. */
  takeRecords?(): readonly NewRow[];
  /** Hears that they were made: all, or only those with these ids. */
  noteRecorded?(ids: ReadonlySet<unknown> | undefined): void;
}

export interface DecidedWrite {
  readonly statement: Query;
  readonly receipt: string;
  /** The rows whose claims go on, as they are then. */
  readonly kept: readonly StateRow[];
  /** The claims that end. */
  readonly ended: readonly string[];
  /** When the first of the schedules that nobody has claimed then is due. */
  readonly dueMs: number;
  /** The first due time that one of them had, nobody had claimed and that is another then. */
  readonly leftMs: number;
}

export interface WriteDecision {
  /** Schedules that have to be made before. */
  readonly missing: readonly ScheduleKey[];
  /** How many of the rows change. */
  readonly count: number;
  /** `undefined` where nothing is to be written, or something is missing. */
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
  const records = tasks.flatMap(({ operation }) => operation.takeRecords?.() ?? []);
  const statement = writeStatement(database, { changed, news: newsOf(tasks), records, receipt, node });
  const kept: StateRow[] = [];
  const ended: string[] = [];
  let [dueMs, leftMs] = [Infinity, Infinity];
  for (const { row, state, keepsClaim } of changed) {
    if (keepsClaim) kept.push({ ...row, state, version: row.version + 1 });
    else {
      const ownMs = dueColumn(state) ?? Infinity;
      dueMs = Math.min(dueMs, ownMs);
      if (row.state.claim != null) ended.push(row.state.claim.token);
      else {
        const beforeMs = dueColumn(row.state) ?? Infinity;
        if (beforeMs !== ownMs) leftMs = Math.min(leftMs, beforeMs);
      }
    }
  }
  return { missing, count, write: { statement, receipt, kept, ended, dueMs, leftMs } };
}

/** What the most telling of the tasks has to say. */
function newsOf(tasks: readonly StateTask[]): News {
  const all = tasks.map(({ news }) => news);
  return all.find((news) => typeof news !== "string") ?? all.find((news) => news === "wake") ?? "none";
}

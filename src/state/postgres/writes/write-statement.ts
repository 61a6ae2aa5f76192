/** The one statement that writes changed rows, closes the records of jobs and notifies other nodes: all of it or nothing. */
import { isDeepStrictEqual } from "node:util";
import type { ScheduleState } from "../../schedule-state.js";
import type { ScheduleFields } from "../../validate-state.js";
import type { OutsideChange } from "../../store.js";
import { type Plain, plainArray, SharedColumn } from "../rows/column-text.js";
import type { Database, Query } from "../connection/database.js";
import { type JobRow, recordParameters } from "../jobs/job-rows.js";
import { SharedDocuments } from "../rows/state-document.js";
import { dueColumn, keyColumns, slotColumn, sourceColumn, type StateRow } from "../rows/state-row.js";

/**
 * How the other nodes learn of a change: not at all, by a notification after which they claim, or by a list of changed keys by
 * which they plan. The list has only keys that are given here.
 */
export type News = "none" | "wake" | readonly (keyof ScheduleState)[];

/** A row to write. */
export interface ChangedRow {
  readonly row: StateRow;
  readonly state: ScheduleFields;
  /** Whether the claim goes on. A change never makes a claim. */
  readonly keepsClaim: boolean;
}

export interface StateWrite {
  readonly changed: readonly ChangedRow[];
  /** The final records of jobs. */
  readonly records: readonly JobRow[];
  readonly news: News;
  /** The id of the row in `receipts` that proves that the statement was carried out. */
  readonly receipt: string;
  /** The node that writes, which ignores its own notifications; `undefined` for a store that is not open. */
  readonly node: string | undefined;
}

const byId = (a: ChangedRow, b: ChangedRow): number => Number(a.row.id) - Number(b.row.id);

/**
 * The reply has `is_written`, `false` when a row has changed since it was read, and `refused_ids`, the ids of records that
 * belong to other jobs.
 */
export function writeStatement(
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
function writeParameters(changed: readonly ChangedRow[]): string[] {
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
  for (const { row, state, keepsClaim } of changed) {
    const due = dueColumn(state);
    const slot = slotColumn(state);
    ids.push(row.id);
    versions.push(row.version);
    dues.add(due);
    slots.add(slot === due ? null : slot);
    sources.add((keepsClaim ? state.claim?.source : sourceColumn(state)) ?? null);
    disabled.add(state.status === "disabled");
    keptClaims.add(keepsClaim);
    keptSlots.add(slotColumn(row.state) === slot);
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

function listParameters(changes: readonly OutsideChange[]): unknown[] {
  return [...keyColumns(changes), JSON.stringify(changes.map(({ keys }) => keys))];
}

/** Which of the keys a change has changed. */
function changeOf({ row, state }: ChangedRow, listed: readonly (keyof ScheduleState)[]): OutsideChange {
  const { agent, schedule } = row;
  const before: ScheduleFields = row.state;
  const keys = listed.filter((key) => !isDeepStrictEqual(before[key] ?? null, state[key] ?? null));
  return { agent, schedule, keys };
}

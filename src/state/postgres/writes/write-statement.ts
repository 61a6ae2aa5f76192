/** The statement that writes changed rows, records jobs and tells others of it: one, so that all of it is made or nothing. */
import type { ScheduleState } from "../../schedule-state.js";
import type { OutsideChange } from "../../store.js";
import { type Plain, plainArray, SharedColumn } from "../rows/column-text.js";
import type { Database, Query } from "../connection/database.js";
import { insertParameters, type NewRow } from "../jobs/job-rows.js";
import { type ChangedRow, changeOf } from "./row-draft.js";
import { SharedDocuments } from "../rows/state-document.js";
import { dueColumn, keyColumns, slotColumn, sourceColumn } from "../rows/state-row.js";

/** What others hear of a change: nothing, that there was one, or what it has changed, so that they plan by it. */
export type News = "none" | "wake" | readonly (keyof ScheduleState)[];

export interface StateWrite {
  readonly changed: readonly ChangedRow[];
  /** Of jobs whose ends these are. */
  readonly records: readonly NewRow[];
  readonly news: News;
  /** What is left behind when it was carried out. */
  readonly receipt: string;
  /** Who writes, if it is a node: it need not hear of it itself. */
  readonly node: string | undefined;
}

const byId = (a: ChangedRow, b: ChangedRow): number => Number(a.row.id) - Number(b.row.id);

/**
 * Answers `is_written`: not when a row has changed since it was read; and `ids`, those of the records that were made where
 * not all of them were.
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
  // In one order everywhere, so that no two wait for each other.
  const writing = call(`${schema}.write_states`, [...writeParameters(changed.toSorted(byId)), receipt]);
  const parts: string[] = [];
  if (records.length > 0)
    parts.push(`${call(`${schema}.insert_jobs`, insertParameters(records, node))} end as ids`);
  const changes = typeof news === "string" ? [] : changed.map((row) => changeOf(row, news));
  const told = changes.filter(({ keys }) => keys.length > 0);
  const isTold = told.length > 0;
  if (isTold) parts.push(`${call(`${schema}.tell_change`, tellParameters(told))} end`);
  if (news !== "none") parts.push(`${call("pg_notify", [schemaName, isTold ? "" : (node ?? "")])} end`);
  const others = parts.map((part) => `, case when w.is_written then ${part}`);
  return {
    name: `${schema}.write ${isTold} ${news === "none"} ${records.length > 0}`,
    // Apart, so that it is carried out first.
    text: `select w.is_written${others.join("")} from (select ${writing} as is_written offset 0) as w`,
    values,
  };
}

/** Each array as its text, in one walk: of a thousand jobs that end together, to let `pg` write them would take as long again. */
function writeParameters(changed: readonly ChangedRow[]): string[] {
  const ids: Plain[] = [];
  const versions: Plain[] = [];
  const dues = new SharedColumn();
  const documents = new SharedDocuments();
  // Most that end together have nothing to say in these: no source, not disabled, and so on.
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

function tellParameters(changes: readonly OutsideChange[]): unknown[] {
  return [...keyColumns(changes), JSON.stringify(changes.map(({ keys }) => keys))];
}

/** The statement that writes changed rows and tells others of it: one, so that all of it is made or nothing. */
import type { ScheduleState } from "../schedule-state.js";
import type { Database, Query } from "./database.js";
import { type ChangedRow, changeOf } from "./row-draft.js";
import { documentText, dueColumn, keyColumns, slotColumn } from "./state-row.js";

/** What others hear of a change: nothing, that there was one, or what it has changed, so that they plan by it. */
export type News = "none" | "wake" | readonly (keyof ScheduleState)[];

export interface StateWrite {
  readonly changed: readonly ChangedRow[];
  readonly news: News;
  /** What is left behind when it was carried out. */
  readonly receipt: string;
  /** Who writes, if it is a node: it need not hear of it itself. */
  readonly node: string | undefined;
}

const byId = (a: ChangedRow, b: ChangedRow): number => Number(a.row.id) - Number(b.row.id);

/** Answers `is_written`: not when a row has changed since it was read. */
export function writeStatement(
  { schema, schemaName }: Pick<Database, "schema" | "schemaName">,
  { changed, news, receipt, node = "" }: StateWrite,
): Query {
  const values: unknown[] = [];
  const call = (name: string, parameters: readonly unknown[]): string => {
    const places = parameters.map((_, index) => `$${values.length + index + 1}`);
    values.push(...parameters);
    return `${name}(${places.join(", ")})`;
  };
  // In one order everywhere, so that no two wait for each other.
  const writing = call(`${schema}.write_states`, [...writeParameters(changed.toSorted(byId)), receipt]);
  const telling: string[] = [];
  if (typeof news !== "string") telling.push(call(`${schema}.tell_change`, tellParameters(changed, news)));
  if (news !== "none") telling.push(call("pg_notify", [schemaName, news === "wake" ? node : ""]));
  const told = telling.map((part) => `, case when w.is_written then ${part} end`);
  return {
    name: `${schema}.write ${typeof news} ${news === "none"}`,
    // Apart, so that it is carried out first.
    text: `select w.is_written${told.join("")} from (select ${writing} as is_written offset 0) as w`,
    values,
  };
}

function writeParameters(changed: readonly ChangedRow[]): unknown[] {
  return [
    changed.map(({ row }) => row.id),
    changed.map(({ row }) => row.version),
    changed.map(({ state }) => dueColumn(state)),
    changed.map(({ state }) => slotColumn(state)),
    changed.map(({ state }) => state.claim?.source),
    changed.map(({ state }) => state.status === "disabled"),
    changed.map(({ keepsClaim }) => keepsClaim),
    changed.map(({ row, state }) => slotColumn(row.state) === slotColumn(state)),
    changed.map(({ state }) => documentText(state)).join("\n"),
  ];
}

function tellParameters(changed: readonly ChangedRow[], told: readonly (keyof ScheduleState)[]): unknown[] {
  const changes = changed.map(changeOf);
  const keys = changes.map((change) => change.keys.filter((key) => told.includes(key)));
  return [...keyColumns(changes), JSON.stringify(keys)];
}

/** This scheduler among those that share a schema: it is registered while its store is open, and gone from then on. */
import { hostname } from "node:os";
import type { ScheduleDefinition } from "../state-store.js";
import type { Statements } from "./database.js";
import { keyColumns, msOf } from "./state-row.js";

export interface RegisteredNode {
  readonly id: string;
  readonly now: Date;
}

/** Answers its id, and the database's time. */
export async function registerNode(
  { schema, query }: Statements,
  name: string | undefined,
): Promise<RegisteredNode> {
  const host = hostname();
  const [row] = await query({
    text: `insert into ${schema}.nodes (name, host, pid, started_at, seen_at)
      values ($1, $2, $3, clock_timestamp(), clock_timestamp()) returning id, clock_timestamp() as now`,
    values: [name ?? `${host}:${process.pid}`, host, process.pid],
  });
  return { id: String(row?.["id"]), now: new Date(msOf(row?.["now"]) ?? 0) };
}

/** What it may run goes with it. */
export async function signOff({ schema, query }: Statements, node: string): Promise<void> {
  await query({ text: `delete from ${schema}.nodes where id = $1`, values: [node] });
}

const LARGEST_CAPACITY = 2 ** 31 - 1;

/** Says what this node may run, in place of all it said before, and how many jobs each agent may have, on all nodes. */
export async function writeDefinitions(
  { schema, query }: Statements,
  node: string,
  definitions: readonly ScheduleDefinition[],
): Promise<void> {
  const capacities = new Map<string, number>();
  for (const { agent, maxConcurrent = 1 } of definitions)
    capacities.set(agent, Math.min(maxConcurrent, LARGEST_CAPACITY));
  const [names] = keyColumns([...capacities.keys()].map((agent) => ({ agent, schedule: "" })));
  await query({
    text: `select ${schema}.define($1, $2, $3, $4, $5)`,
    values: [node, ...keyColumns(definitions), names, [...capacities.values()]],
  });
}

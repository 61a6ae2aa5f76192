/** This scheduler among those that share a schema: it is registered while its store is open, and gone from then on. */
import { hostname } from "node:os";
import { quote } from "../../../errors.js";
import { invalidState } from "../../errors.js";
import type { ScheduleDefinition } from "../../store.js";
import type { Statements } from "../connection/database.js";
import type { DefinedSchedules } from "../rows/defined-schedules.js";
import { keyColumns, msOf } from "../rows/state-row.js";

export interface RegisteredNode {
  readonly id: string;
  /** The database's time. */
  readonly now: Date;
  /** The number of the latest change that was made before. */
  readonly latestChange: number;
}

/** Nodes that have shown no sign of life for so many of their leases are forgotten. */
const LEASES_UNTIL_FORGOTTEN = 20;

/** What a node says of itself. */
export interface NodeDescription {
  /** @default the host's name and the process id */
  readonly name: string | undefined;
  readonly leaseMs: number;
}

export async function registerNode(
  { schema, query }: Statements,
  node: NodeDescription,
  leaseNow: string | null,
): Promise<RegisteredNode> {
  const [row] = await query({
    text: `insert into ${schema}.nodes (name, host, pid, lease, started_at, seen_at)
      values ($1, $2, $3, $4, clock_timestamp(), coalesce($5, clock_timestamp())) returning id, date_part('epoch', clock_timestamp()) * 1000 as now,
        coalesce((select max(c.id) from ${schema}.changes c), 0) as latest_change`,
    values: [...columnsOf(node), leaseNow],
  });
  return {
    id: String(row?.["id"]),
    now: new Date(msOf(row?.["now"]) ?? 0),
    latestChange: Number(row?.["latest_change"]),
  };
}

/** A sign of life, in which nodes that gave none for long are forgotten. `false`: this one was forgotten itself. */
export async function showLife(
  { schema, query }: Statements,
  id: string,
  leaseNow: string | null,
): Promise<boolean> {
  const rows = await query({
    name: `${schema}.show_life`,
    text: `with outdated as (
        delete from ${schema}.receipts where made_at < clock_timestamp() - interval '10 minutes'
      ), forgotten as (
        select ${schema}.forget_node(id) from ${schema}.nodes
        where seen_at < coalesce($2, clock_timestamp()) - ${LEASES_UNTIL_FORGOTTEN} * lease and id <> $1
      ), shown as (
        update ${schema}.nodes set seen_at = coalesce($2, clock_timestamp()) where id = $1 returning id
      )
      -- Asked for, so that it is done.
      select id, (select count(*) from forgotten) from shown`,
    values: [id, leaseNow],
  });
  return rows.length > 0;
}

/** Brings back a node that was forgotten while it stood still, under the id that its claims name. */
export async function returnNode(
  { schema, query }: Statements,
  id: string,
  node: NodeDescription,
  leaseNow: string | null,
): Promise<void> {
  await query({
    text: `insert into ${schema}.nodes (id, name, host, pid, lease, started_at, seen_at) overriding system value
      values ($1, $2, $3, $4, $5, clock_timestamp(), coalesce($6, clock_timestamp())) on conflict do nothing`,
    values: [id, ...columnsOf(node), leaseNow],
  });
}

/** Throws when it is no name to know a node by. */
export function checkedNodeName(name: string | undefined): string | undefined {
  if (name === undefined || (typeof name === "string" && /^(?=.*\S)[^\0]+$/s.test(name))) return name;
  throw invalidState(`Invalid nodeName ${quote(name)}: expected a text that others can tell it by.`);
}

/** Name, host, process and lease. */
function columnsOf({ name, leaseMs }: NodeDescription): unknown[] {
  const host = hostname();
  return [name ?? `${host}:${process.pid}`, host, process.pid, `${leaseMs} milliseconds`];
}

/** What it may run goes with it. */
export async function signOff({ schema, query }: Statements, node: string): Promise<void> {
  await query({ text: `select ${schema}.forget_node($1)`, values: [node] });
}

const LARGEST_CAPACITY = 2 ** 31 - 1;

/** Makes the schedules that are new, and says how many jobs each agent may have, on all nodes. */
export async function prepareSchedules(
  { schema, query }: Statements,
  definitions: readonly ScheduleDefinition[],
): Promise<void> {
  const capacities = new Map<string, number>();
  for (const { agent, maxConcurrent = 1 } of definitions)
    capacities.set(agent, Math.min(maxConcurrent, LARGEST_CAPACITY));
  const [names] = keyColumns([...capacities.keys()].map((agent) => ({ agent, schedule: "" })));
  await query({ text: `select ${schema}.add_schedules($1, $2)`, values: keyColumns(definitions) });
  await query({ text: `select ${schema}.set_capacities($1, $2)`, values: [names, [...capacities.values()]] });
}

/** Says which schedules this node may run, at their times or by hand, in place of all it said before. */
export async function writeDefinitions(
  { schema, query }: Statements,
  node: string,
  { automaticIds, byHandIds }: DefinedSchedules,
): Promise<void> {
  await query({
    text: `select ${schema}.let_node_run($1, $2, $3)`,
    values: [node, bitsOf(automaticIds), bitsOf(byHandIds)],
  });
}

/** The bit at the place of each id, as `get_bit` counts them. */
function bitsOf(ids: Iterable<number>): Buffer {
  const all = [...ids];
  const largest = all.reduce((most, id) => Math.max(most, id), -1);
  const bits = Buffer.alloc(Math.floor(largest / 8) + 1);
  for (const id of all) {
    const place = Math.floor(id / 8);
    bits[place] = (bits[place] ?? 0) | (1 << (id % 8));
  }
  return bits;
}

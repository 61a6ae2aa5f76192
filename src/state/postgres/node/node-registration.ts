/**
 * The registration of this node while its store is open: which agents and schedules it may run, and regular signs of life.
 * Heartbeats are timed in heartbeat.ts; other nodes are listed in list-nodes.ts.
 */
import { hostname } from "node:os";
import { messageOf, quote } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import { invalidState } from "../../errors.js";
import type { AgentDefinition, Definitions, ScheduleKey } from "../../store.js";
import type { Statements } from "../connection/database.js";
import type { DatabaseClock } from "../connection/database-clock.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import { columnText } from "../rows/column-text.js";
import { keyColumns, msOf, type StateRow } from "../rows/state-row.js";
import { ScheduleMap } from "../../schedule-map.js";

export interface NodeRegistrationOptions {
  readonly database: Statements;
  readonly time: DatabaseClock;
  readonly jobs: Pick<PostgresJobLog, "closeOrphans">;
  readonly logger: Logger;
  readonly name: string;
  readonly leaseMs: number;
  readonly read: (keys: readonly ScheduleKey[]) => Promise<readonly StateRow[]>;
}

export interface RegisteredNode {
  readonly id: string;
  /** The database's time. */
  readonly now: Date;
  /** The number of the latest change from outside the nodes. */
  readonly latestChange: number;
}

const SIGNS_IN_A_LEASE = 3;
/** A node that has shown no sign of life for this many of its leases is removed. */
const LEASES_UNTIL_REMOVED = 20;
const LARGEST_CAPACITY = 2 ** 31 - 1;

export class NodeRegistration {
  readonly #options: NodeRegistrationOptions;
  /** The defined schedules by the ids of their rows. */
  #schedules: ReadonlyMap<number, ScheduleKey> = new Map();
  /** Whether each defined schedule is manual-only. */
  #areManual = new ScheduleMap<boolean>();
  /** What the node may run: automatic and manual schedules as bits, all and counted agents as arrays. */
  #rights: readonly unknown[] = [];
  /** The last sign of life on a clock that was given to the store. */
  #seenMs = -Infinity;

  constructor(options: NodeRegistrationOptions) {
    this.#options = options;
  }

  /** The schedules that the node may run, by the ids of their rows. */
  get schedules(): ReadonlyMap<number, ScheduleKey> {
    return this.#schedules;
  }

  isDefined(key: ScheduleKey): boolean {
    return this.#areManual.get(key) !== undefined;
  }

  /** Whether the node runs the schedule on request only. */
  isManual(key: ScheduleKey): boolean {
    return this.#areManual.get(key) === true;
  }

  async register(): Promise<RegisteredNode> {
    const { schema, query } = this.#options.database;
    const [row] = await query({
      text: `insert into ${schema}.nodes (name, host, pid, lease, started_at, seen_at)
        values ($1, $2, $3, $4, clock_timestamp(), coalesce($5, clock_timestamp()))
        returning id, date_part('epoch', clock_timestamp()) * 1000 as now,
          coalesce((select max(c.id) from ${schema}.changes c), 0) as latest_change`,
      values: this.#columns(),
    });
    return {
      id: String(row?.["id"]),
      now: new Date(msOf(row?.["now"]) ?? 0),
      latestChange: Number(row?.["latest_change"]),
    };
  }

  /** Replaces what the node may run, and returns the rows of the schedules in the same order. */
  async define(id: string, { agents = [], schedules }: Definitions): Promise<readonly StateRow[]> {
    const { database, read } = this.#options;
    const { schema, query } = database;
    await query({ text: `select ${schema}.add_schedules($1, $2)`, values: keyColumns(schedules) });
    const all = new Map<string, AgentDefinition>();
    for (const { agent } of schedules) all.set(agent, { agent });
    for (const agent of agents) all.set(agent.agent, agent);
    const capacities = Array.from(all.values(), ({ maxConcurrent = 1 }) =>
      Math.min(maxConcurrent, LARGEST_CAPACITY),
    );
    const found = await query({
      text: `select unnest(${schema}.define_agents($1, $2)) as id`,
      values: [Array.from(all.keys(), columnText), capacities],
    });
    const agentIds = found.map((row) => String(row["id"]));
    const areCounted = Array.from(all.values(), ({ isCounted }) => isCounted === true);
    const rows = await read(schedules);
    const defined = new Map<number, ScheduleKey>();
    const areManual = new ScheduleMap<boolean>();
    const ids: Record<"automatic" | "manual", Set<number>> = { automatic: new Set(), manual: new Set() };
    for (const [index, row] of rows.entries()) {
      if (row.id === undefined) continue;
      const isManual = schedules[index]?.isAutomatic === false;
      defined.set(row.id, { agent: row.agent, schedule: row.schedule });
      areManual.set(row, isManual);
      ids[isManual ? "manual" : "automatic"].add(row.id);
    }
    this.#rights = [
      bitsOf(ids.automatic),
      bitsOf(ids.manual),
      agentIds.toSorted(),
      agentIds.filter((_, index) => areCounted[index]).toSorted(),
    ];
    await this.#writeRights(id);
    this.#schedules = defined;
    this.#areManual = areManual;
    return rows;
  }

  async #writeRights(id: string): Promise<void> {
    const { schema, query } = this.#options.database;
    if (this.#rights.length === 0) return;
    await query({ text: `select ${schema}.set_rights($1, $2, $3, $4, $5)`, values: [id, ...this.#rights] });
  }

  /** A sign of life where no heartbeat runs, because a clock was given to the store. */
  async showLifeByGivenClock(id: string): Promise<void> {
    const { time, leaseMs } = this.#options;
    const nowMs = time.monotonic();
    if (nowMs < this.#seenMs + leaseMs / SIGNS_IN_A_LEASE) return;
    this.#seenMs = nowMs;
    await this.showLife(id);
  }

  /** Shows that the node is alive, removes nodes that are not, and closes the records of their jobs. */
  async showLife(id: string): Promise<void> {
    const { database, time } = this.#options;
    const { schema, query } = database;
    const { leaseNow } = time.parameters;
    const shown = await query({
      name: `${schema}.show_life`,
      text: `with outdated as (
          delete from ${schema}.receipts where made_at < clock_timestamp() - interval '10 minutes'
        ), removed as (
          select ${schema}.remove_node(id) from ${schema}.nodes
          where seen_at < coalesce($2, clock_timestamp()) - ${LEASES_UNTIL_REMOVED} * lease and id <> $1
        ), shown as (
          update ${schema}.nodes set seen_at = coalesce($2, clock_timestamp()) where id = $1 returning id
        )
        -- The count makes PostgreSQL carry out "removed".
        select id, (select count(*) from removed) from shown`,
      values: [id, leaseNow],
    });
    if (shown.length === 0) await this.#registerAgain(id);
    await this.closeOrphans();
  }

  /** Closes the records of jobs whose nodes are gone. Never rejects. */
  async closeOrphans(): Promise<void> {
    const { jobs, time, logger } = this.#options;
    try {
      await jobs.closeOrphans(time.parameters);
    } catch (error) {
      logger.warn(`Could not close the jobs of nodes that are gone: ${messageOf(error)}`);
    }
  }

  /** Brings back a node that was removed while it stood still, under the id that its claims name. */
  async #registerAgain(id: string): Promise<void> {
    const { schema, query } = this.#options.database;
    await query({
      text: `insert into ${schema}.nodes (name, host, pid, lease, started_at, seen_at, id) overriding system value
        values ($1, $2, $3, $4, clock_timestamp(), coalesce($5, clock_timestamp()), $6) on conflict do nothing`,
      values: [...this.#columns(), id],
    });
    await this.#writeRights(id);
  }

  /** Removes the node with all it may run. */
  async signOff(id: string): Promise<void> {
    const { schema, query } = this.#options.database;
    await query({ text: `select ${schema}.remove_node($1)`, values: [id] });
  }

  /** Name, host, process, lease, and the time of the given clock. */
  #columns(): unknown[] {
    const { name, leaseMs, time } = this.#options;
    const host = hostname();
    const lease = `${leaseMs} milliseconds`;
    return [name, host, process.pid, lease, time.parameters.leaseNow];
  }
}

/** Throws for a name that does not identify a node. */
export function checkedNodeName(name: string | undefined): string | undefined {
  if (name === undefined || (typeof name === "string" && /^(?=.*\S)[^\0]+$/s.test(name))) return name;
  throw invalidState(`Invalid nodeName ${quote(name)}: expected a text that identifies the node.`);
}

/** One bit for each id, as `get_bit` counts them. */
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

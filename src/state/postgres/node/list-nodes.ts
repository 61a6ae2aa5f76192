/** Lists the nodes that share a schema, with their last signs of life, and the schedules that no live node runs. */
import { isoText } from "../../../iso-time.js";
import type { ScheduleKey } from "../../store.js";
import { columnText, textOfColumn } from "../rows/column-text.js";
import type { Statements } from "../connection/database.js";
import { msOf } from "../rows/state-row.js";

export interface NodeRecord {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: Date;
  /** The last sign of life. */
  readonly seenAt: Date;
  /** No sign of life for longer than a lease: the node is gone, cut off, or stopped. */
  readonly isLate: boolean;
  /** How many claims it holds. */
  readonly claimCount: number;
}

export interface NodeFilter {
  /** Only nodes that may run this schedule, also on request only. */
  readonly key?: ScheduleKey | undefined;
  /** The time that signs of life are compared with. @default the database's clock */
  readonly leaseNow?: string | null | undefined;
}

/** Whether node `n` runs schedule `s` at its times, or on request. */
const has = (bits: "schedules" | "manual_schedules"): string =>
  `case when s.id < 8 * length(n.${bits})::bigint then get_bit(n.${bits}, s.id) = 1 else false end`;

/** The schedules that are due and that no live node runs at their times. */
export async function listOrphans(
  { schema, query }: Statements,
  now: Date,
  leaseNow: string | null = null,
): Promise<readonly ScheduleKey[]> {
  const rows = await query({
    text: `select s.agent, s.schedule from ${schema}.schedules s join ${schema}.states t on t.id = s.id
      where t.token is null and t.due_at <= $1 and not exists (select from ${schema}.nodes n
        where n.seen_at >= coalesce($2, clock_timestamp()) - n.lease and ${has("schedules")})`,
    values: [isoText(now), leaseNow],
  });
  return rows.map(({ agent, schedule }) => ({
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
  }));
}

/** In the order of their start. */
export async function listNodes(
  { schema, query }: Statements,
  { key, leaseNow = null }: NodeFilter = {},
): Promise<readonly NodeRecord[]> {
  const rows = await query({
    text: `select n.name, n.host, n.pid, date_part('epoch', n.started_at) * 1000 as started,
        date_part('epoch', n.seen_at) * 1000 as seen,
        n.seen_at < coalesce($1, clock_timestamp()) - n.lease as is_late, coalesce(c.claims, 0)::int as claims
      from ${schema}.nodes n
      left join (select s.owner, count(*) as claims from ${schema}.states s
          where s.lease_until is not null and s.id = any(array(select unnest(l.schedules) from ${schema}.leases l))
          group by s.owner) as c on c.owner = n.id
      where $2::text is null or exists (select from ${schema}.schedules s where s.agent = $2 and s.schedule = $3
        and (${has("schedules")} or ${has("manual_schedules")}))
      order by n.started_at, n.id`,
    values: [
      leaseNow,
      key === undefined ? null : columnText(key.agent),
      key === undefined ? null : columnText(key.schedule),
    ],
  });
  return rows.map((row) => ({
    name: String(row["name"]),
    host: String(row["host"]),
    pid: Number(row["pid"]),
    startedAt: new Date(msOf(row["started"]) ?? 0),
    seenAt: new Date(msOf(row["seen"]) ?? 0),
    isLate: row["is_late"] === true,
    claimCount: Number(row["claims"]),
  }));
}

/** The names of the nodes that ran these jobs, by job id. A node whose name is no longer kept has only its number. */
export async function listNodesOfJobs(
  { schema, query }: Statements,
  jobIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await query({
    text: `select j.id, j.node, coalesce(n.name, m.name) as name from ${schema}.jobs j
      left join ${schema}.nodes n on n.id = j.node left join ${schema}.node_names m on m.id = j.node
      where j.id = any($1) and j.node is not null`,
    values: [jobIds],
  });
  return new Map(
    rows.map(({ id, node, name }) => [String(id), typeof name === "string" ? name : `node ${String(node)}`]),
  );
}

/** The nodes that share a schema, for who looks from outside: who they are, and when each last showed that it lives. */
import type { ScheduleKey } from "../state-store.js";
import { columnText } from "./column-text.js";
import type { Statements } from "./database.js";
import { msOf } from "./state-row.js";

export interface NodeRecord {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: Date;
  /** Its last sign of life. */
  readonly seenAt: Date;
  /** No sign of life for longer than its leases last: it is gone, cut off, or stopped. */
  readonly isLate: boolean;
  /** How many jobs it holds claims for. */
  readonly claimCount: number;
}

export interface NodeFilter {
  /** Only those that may run this schedule. */
  readonly key?: ScheduleKey | undefined;
  /** What their signs of life are counted by. @default the database's clock */
  readonly leaseNow?: string | null | undefined;
}

/** In the order of their start. */
export async function listNodes(
  { schema, query }: Statements,
  { key, leaseNow = null }: NodeFilter = {},
): Promise<readonly NodeRecord[]> {
  const rows = await query({
    text: `select n.name, n.host, n.pid, n.started_at, n.seen_at,
        n.seen_at < coalesce($1, clock_timestamp()) - n.lease as is_late, coalesce(c.claims, 0)::int as claims
      from ${schema}.nodes n
      left join (select owner, count(*) as claims from ${schema}.states where lease_until is not null group by owner) as c
        on c.owner = n.id
      where $2::text is null or exists (select from ${schema}.schedules s where s.agent = $2 and s.schedule = $3
        and case when s.id < 8 * length(n.schedules) then get_bit(n.schedules, s.id) = 1 else false end)
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
    startedAt: new Date(msOf(row["started_at"]) ?? 0),
    seenAt: new Date(msOf(row["seen_at"]) ?? 0),
    isLate: row["is_late"] === true,
    claimCount: Number(row["claims"]),
  }));
}

/**
 * Whether the tables of a PostgreSQL store agree with each other: a schedule waits in the queue or is claimed, never both
 * and never neither; what runs of a limited agent is counted; and every claim is looked at when its lease ends.
 */
import type { Pool } from "pg";

const questions = (schema: string): Readonly<Record<string, string>> => ({
  "waits for its time and is not in the queue": `select s.id from ${schema}.states s
    where s.token is null and s.due_at is not null and not s.is_held
      and not exists (select from ${schema}.queue q where q.id = s.id and q.due_at = s.due_at)`,
  "is in the queue and waits for no time, or for another": `select q.id from ${schema}.queue q
    where not exists (select from ${schema}.states s
      where s.id = q.id and s.token is null and s.due_at = q.due_at and not s.is_held)`,
  "is held back and its agent is not paused, or the other way round": `select s.id from ${schema}.states s
    join ${schema}.agents a on a.id = s.agent_id where s.is_held <> (a.held_until is not null)`,
  "is in the queue twice": `select q.id from ${schema}.queue q group by q.id having count(*) > 1`,
  "is in the queue as limited and is not, or the other way round": `select q.id from ${schema}.queue q
    join ${schema}.states s on s.id = q.id
    where q.agent_id is distinct from case when s.is_limited then s.agent_id end or q.is_waiting and not s.is_limited`,
  "is limited and its agent is not, or the other way round": `select s.id from ${schema}.states s
    join ${schema}.agents a on a.id = s.agent_id where s.is_limited <> (a.is_counted or a.size > a.capacity)`,
  "runs for a limited agent and is not counted": `select s.id from ${schema}.states s
    where s.token is not null and s.is_limited
      and not exists (select from ${schema}.running r where r.agent_id = s.agent_id and r.id = s.id)`,
  "is counted and does not run, or for no limited agent": `select r.id from ${schema}.running r
    where not exists (select from ${schema}.states s
      where s.id = r.id and s.agent_id = r.agent_id and s.token is not null and s.is_limited)`,
  "is claimed and nobody looks when its lease ends": `select s.id from ${schema}.states s
    where s.lease_until is not null and not exists (
      select from ${schema}.leases l where l.owner = s.owner and l.until >= s.lease_until and s.id = any(l.schedules))`,
});

/** What is wrong, each in a sentence; nothing where there are no tables. */
export async function tableBreaches(pool: Pick<Pool, "query">, schemaName: string): Promise<string[]> {
  const schema = `"${schemaName}"`;
  const { rows } = await pool.query(`select to_regclass($1) is null as is_missing`, [`${schema}.states`]);
  if (rows[0]?.is_missing === true) return [];
  const parts = Object.entries(questions(schema)).map(
    ([what, question]) => `select '${what}' as what, id from (${question}) as broken(id)`,
  );
  // As one statement: what is under way would be seen half done otherwise.
  const broken = await pool.query(parts.join(" union all "));
  return broken.rows.map(({ what, id }) => `schedule ${id} ${what}`);
}

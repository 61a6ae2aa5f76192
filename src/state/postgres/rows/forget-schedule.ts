/** Removes a schedule with its state. Its jobs stay. */
import type { ScheduleKey } from "../../store.js";
import { type Database, databaseError } from "../connection/database.js";
import { lockOutClaims } from "../schema/claim-functions.js";
import { columnText } from "./column-text.js";

/** `false`: it has a job, or is unknown. No node may define it: its claims could not be made any more. */
export async function forgetSchedule(
  { pool, schema }: Database,
  { agent, schedule }: ScheduleKey,
): Promise<boolean> {
  const client = await pool.connect();
  let isDone = false;
  try {
    await client.query({ text: "begin isolation level read committed" });
    await client.query({ text: `select ${lockOutClaims(schema)}` });
    const { rows } = await client.query({
      text: `with gone as (
          delete from ${schema}.schedules s using ${schema}.states t
          where t.id = s.id and s.agent = $1 and s.schedule = $2 and t.token is null returning s.id, s.agent
        ), places as (
          delete from ${schema}.queue q using gone g where q.id = g.id
        ), sizes as (
          update ${schema}.agents a set size = a.size - 1 from gone g where a.name = g.agent
        )
        select id from gone`,
      values: [columnText(agent), columnText(schedule)],
    });
    if (rows.length > 0)
      await client.query({ text: `select ${schema}.limit_agents($1)`, values: [[columnText(agent)]] });
    await client.query({ text: "commit" });
    isDone = true;
    return rows.length > 0;
  } catch (error) {
    throw databaseError(error);
  } finally {
    // A connection in the middle of a transaction cannot be used again.
    client.release(!isDone);
  }
}

/** Jobs as rows: what is asked of the table. Columns are for searching; what a record says is in its two documents. */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import {
  DEFAULT_LIST_LIMIT,
  type JobEnd,
  type JobFilter,
  type JobRecord,
  type JobStart,
} from "../jobs/job-log.js";
import { jobRecord, storedEnd, storedStart } from "../jobs/job-record.js";
import { columnText } from "./column-text.js";
import type { Query } from "./database.js";

/** Opens records in this order; answers the ids of those that were not taken. */
export function insertJobs(schema: string, starts: readonly JobStart[]): Query {
  return {
    name: `${schema}.start_jobs`,
    text: `insert into ${schema}.jobs (id, agent, schedule, status, started_at, start)
      select j.id, j.agent, j.schedule, 'running', to_timestamp(j.ms / 1000), j.start
      from unnest($1::text[], $2::text[], $3::text[], $4::double precision[], $5::json[])
        with ordinality as j(id, agent, schedule, ms, start, place)
      order by j.place on conflict do nothing returning id`,
    values: [
      starts.map(({ id }) => id),
      starts.map(({ agent }) => columnText(agent)),
      starts.map(({ schedule }) => (schedule === null ? null : columnText(schedule))),
      starts.map(({ started_at }) => isoTimeMs(started_at)),
      starts.map((start) => JSON.stringify(start)),
    ],
  };
}

export interface EndOfJob {
  readonly id: string;
  readonly end: JobEnd;
}

/** Closes records that are open, each named once; answers the ids of those that were. */
export function closeJobs(schema: string, ends: readonly EndOfJob[]): Query {
  const sorted = ends.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    name: `${schema}.finish_jobs`,
    text: `update ${schema}.jobs j set status = e.status, "end" = e."end"
      from unnest($1::text[], $2::text[], $3::json[]) as e(id, status, "end")
      where j.id = e.id and j.status = 'running' returning j.id`,
    values: [
      sorted.map(({ id }) => id),
      sorted.map(({ end }) => end.status),
      sorted.map(({ end }) => JSON.stringify(end)),
    ],
  };
}

export function selectJob(schema: string, id: string): Query {
  return {
    name: `${schema}.get_job`,
    text: `select start, "end" from ${schema}.jobs where id = $1`,
    values: [id],
  };
}

export function selectJobs(schema: string, filter: JobFilter): Query {
  const { agent, schedule, status, since, limit = DEFAULT_LIST_LIMIT } = filter;
  const values: unknown[] = [];
  const conditions: string[] = [];
  const demand = (condition: string, value: unknown): void => {
    values.push(value);
    conditions.push(`${condition} $${values.length}`);
  };
  if (agent !== undefined) demand("agent =", columnText(agent));
  if (schedule !== undefined) demand("schedule =", columnText(schedule));
  if (status !== undefined) demand("status =", status);
  if (since !== undefined) demand("started_at >=", since.toISOString());
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  values.push(Number.isFinite(limit) ? Math.max(0, Math.floor(limit)) : null);
  const text = `select start, "end" from ${schema}.jobs ${where} order by started_at desc, number desc limit $${values.length}`;
  return { text, values };
}

/** `undefined` where the row tells of no job. */
export function readJob(row: Fields): JobRecord | undefined {
  const start = storedStart(row["start"]);
  if (start === undefined) return undefined;
  return jobRecord(start, row["end"] === null ? undefined : storedEnd(row["end"]));
}

/** Removes a batch of jobs that are too old or too many, with their outputs; answers how many. Never one that runs. */
export function removeOld(schema: string, before: Date, maxJobs: number, batch: number): Query {
  return {
    text: `with old as (
        select number, id from ${schema}.jobs where status <> 'running' and (started_at < $1 or number <= coalesce(
          (select number from ${schema}.jobs order by number desc offset $2 limit 1), 0))
        order by number limit $3
      ), outputs as (delete from ${schema}.job_outputs o using old where o.job_id = old.id
      ), orphans as (delete from ${schema}.job_outputs o where o.job_id in (
        select x.job_id from ${schema}.job_outputs x where x.opened_at < $1
          and not exists (select from ${schema}.jobs j where j.id = x.job_id) order by x.opened_at limit $3)
      ), gone as (delete from ${schema}.jobs j using old where j.number = old.number returning j.number)
      select count(*)::int as count from gone`,
    values: [before.toISOString(), maxJobs, batch],
  };
}

/** Jobs as rows: what is asked of the table. Columns are for searching; what a record says is in its two documents. */
import { type Fields, isFields } from "../../fields.js";
import { isoText, isoTimeMs } from "../../iso-time.js";
import {
  DEFAULT_LIST_LIMIT,
  type JobEnd,
  type JobFilter,
  type JobRecord,
  type JobStart,
} from "../jobs/job-log.js";
import { jobRecord, storedEnd, storedStart } from "../jobs/job-record.js";
import { columnText, lines, linesOf, numbersOf, textOfColumn } from "./column-text.js";
import type { Query } from "./database.js";
import { msOf } from "./state-row.js";

/** A record that is to be made, of a job that runs or of one that has ended already. */
export interface NewRow {
  readonly id: string;
  readonly start: JobStart;
  readonly end?: JobEnd | undefined;
}

/** Makes records in this order; answers the ids of those that were not taken. */
export function insertJobs(schema: string, rows: readonly NewRow[], node: string | undefined): Query {
  return {
    name: `${schema}.start_jobs`,
    text: `insert into ${schema}.jobs (id, agent, schedule, status, node, started_at, duration_ms, start, "end")
      select j.id, j.agent, j.schedule, j.status, $9, to_timestamp(j.ms / 1000), j.duration_ms, j.start, j."end"
      from unnest(${lines("$1")}, ${lines("$2")}, ${lines("$3")}, ${lines("$4")}, $5::double precision[],
          $6::double precision[], ${lines("$7")}::json[], ${lines("$8")}::json[])
        with ordinality as j(id, agent, schedule, status, ms, duration_ms, start, "end", place)
      order by j.place on conflict do nothing returning id`,
    values: [
      linesOf(rows.map(({ id }) => id)),
      linesOf(rows.map(({ start }) => columnText(start.agent))),
      linesOf(rows.map(({ start: { schedule } }) => (schedule === null ? null : columnText(schedule)))),
      linesOf(rows.map(({ end }) => end?.status ?? "running")),
      numbersOf(rows.map(({ start }) => isoTimeMs(start.started_at))),
      numbersOf(rows.map(({ end }) => end?.duration_ms)),
      linesOf(rows.map(({ start }) => startText(start))),
      linesOf(rows.map(({ end }) => (end === undefined ? null : endText(end)))),
      node ?? null,
    ],
  };
}

export interface EndOfJob {
  readonly id: string;
  readonly end: JobEnd;
}

/** Closes records that nobody has closed who saw the end, each named once; answers the ids of those that were. */
export function closeJobs(schema: string, ends: readonly EndOfJob[]): Query {
  return endJobs(schema, ends, { name: "finish_jobs", which: "(j.status = 'running' or j.is_presumed)" });
}

/** The same for who did not see it. */
export function presumeEnds(schema: string, ends: readonly EndOfJob[]): Query {
  return endJobs(schema, ends, { name: "presume_jobs", which: "j.status = 'running'", isPresumed: true });
}

function endJobs(
  schema: string,
  ends: readonly EndOfJob[],
  {
    name,
    which,
    isPresumed = false,
  }: { readonly name: string; readonly which: string; readonly isPresumed?: boolean },
): Query {
  const sorted = ends.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    name: `${schema}.${name}`,
    text: `update ${schema}.jobs j set status = e.status, duration_ms = e.duration_ms, "end" = e."end",
        is_presumed = ${isPresumed}
      from unnest(${lines("$1")}, ${lines("$2")}, $3::double precision[], ${lines("$4")}::json[])
        as e(id, status, duration_ms, "end")
      where j.id = e.id and ${which} returning j.id`,
    values: [
      linesOf(sorted.map(({ id }) => id)),
      linesOf(sorted.map(({ end }) => end.status)),
      numbersOf(sorted.map(({ end }) => end.duration_ms)),
      linesOf(sorted.map(({ end }) => endText(end))),
    ],
  };
}

/** What the columns do not say of a start. */
function startText({ trigger, slot, source, attempt, prompt, work_item }: JobStart): string {
  return textOf({ trigger, slot, source, attempt, prompt, work_item });
}

function endText({ finished_at, error, summary, exit_code, response_body, work_item }: JobEnd): string {
  return textOf({ finished_at, error, summary, exit_code, response_body, work_item });
}

/** Without what a job does not have. */
function textOf(fields: Fields): string {
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) if (fields[key] != null) kept[key] = fields[key];
  return JSON.stringify(kept);
}

/** Those that run, as far as their records tell, and were opened by nodes that have shown no life for a whole lease. */
export function selectOrphans(schema: string, leaseNow: string | null): Query {
  return {
    name: `${schema}.orphans`,
    text: `select j.id from ${schema}.jobs j where j.status = 'running' and j.node is not null
      and not exists (select from ${schema}.nodes n where n.id = j.node and n.seen_at > coalesce($1, clock_timestamp()) - n.lease)
      limit 1000`,
    values: [leaseNow],
  };
}

const RECORD = `id, agent, schedule, status, date_part('epoch', started_at) * 1000 as started, duration_ms, start, "end"`;

export function selectJob(schema: string, id: string): Query {
  return {
    name: `${schema}.get_job`,
    text: `select ${RECORD} from ${schema}.jobs where id = $1`,
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
  const text = `select ${RECORD} from ${schema}.jobs ${where} order by started_at desc, number desc limit $${values.length}`;
  return { text, values };
}

/** `undefined` where the row tells of no job. */
export function readJob(row: Fields): JobRecord | undefined {
  const { id, agent, schedule, status, duration_ms } = row;
  const start = storedStart({
    ...fieldsOf(row["start"]),
    id,
    agent: textOfColumn(String(agent)),
    schedule: typeof schedule === "string" ? textOfColumn(schedule) : null,
    started_at: isoText(new Date(msOf(row["started"]) ?? 0)),
  });
  if (start === undefined) return undefined;
  const end = row["end"] === null ? undefined : storedEnd({ ...fieldsOf(row["end"]), status, duration_ms });
  return jobRecord(start, end);
}

function fieldsOf(document: unknown): Fields {
  return isFields(document) ? document : {};
}

/**
 * Removes a batch of jobs that started before then or are too many, with their outputs; answers how many. Never one that
 * runs. `Infinity` is no limit, nor is what the database could not count to.
 */
export function removeOld(schema: string, beforeMs: number, maxJobs: number, batch: number): Query {
  const most = Math.floor(maxJobs);
  return {
    text: `with old as (
        select id from ${schema}.jobs where status <> 'running' and (started_at < $1 or $2::bigint is not null and (started_at, number) <= (
          select started_at, number from ${schema}.jobs order by started_at desc, number desc offset $2 limit 1))
        order by started_at, number limit $3
      ), outputs as (delete from ${schema}.job_outputs o using old where o.job_id = old.id
      ), orphans as (delete from ${schema}.job_outputs o where o.job_id in (
        select x.job_id from ${schema}.job_outputs x where x.opened_at < $1
          and not exists (select from ${schema}.jobs j where j.id = x.job_id) order by x.opened_at limit $3)
      ), gone as (delete from ${schema}.jobs j using old where j.id = old.id returning j.id)
      select count(*)::int as count from gone`,
    values: [
      // Nothing has run before 1970, and a text cannot say every earlier time.
      beforeMs > 0 ? new Date(beforeMs).toISOString() : "-infinity",
      Number.isSafeInteger(most) ? most : null,
      batch,
    ],
  };
}

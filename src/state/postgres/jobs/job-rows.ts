/** Jobs as rows: what is asked of the table. What every job has is in columns, the rest in two documents. */
import { type Fields, isFields } from "../../../fields.js";
import { isoText, isoTimeMs } from "../../../iso-time.js";
import {
  DEFAULT_LIST_LIMIT,
  type JobEnd,
  type JobFilter,
  type JobRecord,
  type JobStart,
} from "../../job-log/job-log.js";
import { jobRecord, storedEnd, storedStart } from "../../job-log/job-record.js";
import {
  columnText,
  lines,
  linesOf,
  plainArray,
  shared,
  SharedColumn,
  textOfColumn,
} from "../rows/column-text.js";
import { ONE_PLAN } from "../schema/claim-functions.js";
import type { Query } from "../connection/database.js";
import { msOf } from "../rows/state-row.js";

/** A record that is to be made, of a job that runs or of one that has ended already. */
export interface NewRow {
  readonly id: string;
  readonly start: JobStart;
  readonly end?: JobEnd | undefined;
}

const time = (parameter: string, column: string): string =>
  `to_timestamp(${shared(parameter, column)} / 1000)`;

/** What makes records, in the database. */
export const createJobFunctions = (schema: string): string => {
  const inserting = `insert into ${schema}.jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select j.id, j.agent, j.schedule, ${shared("in_statuses", "j.status")}, in_node, ${time("in_started", "j.started")},
      ${shared("in_triggers", "j.trigger")}, ${time("in_slots", "j.slot")}, ${shared("in_sources", "j.source")},
      ${shared("in_attempts", "j.attempt")}, ${time("in_finished", "j.finished")},
      ${shared("in_durations", "j.duration_ms")}, j.start
    from unnest(${lines("in_ids")}, ${lines("in_agents")}, ${lines("in_schedules")}, in_statuses, in_started, in_triggers,
        in_slots, in_sources, in_attempts, in_finished, in_durations, ${lines("in_starts")})
      as j(id, agent, schedule, status, started, trigger, slot, source, attempt, finished, duration_ms, start)`;
  return `
create function ${schema}.insert_jobs(
  in_node bigint, in_ids text, in_agents text, in_schedules text, in_starts text,
  -- One value each, where all have the same.
  in_statuses text[], in_triggers text[], in_sources text[], in_attempts bigint[], in_started double precision[],
  in_slots double precision[], in_finished double precision[], in_durations double precision[]
) returns text[] language plpgsql ${ONE_PLAN} as $$
declare
  v_made text[];
begin
  ${inserting};
  return null;
-- Seldom: to be ready for it with every row would take half as long again.
exception when unique_violation then
  with made as (${inserting} on conflict do nothing returning id)
  select coalesce(array_agg(m.id), '{}') into v_made from made m;
  return v_made;
end $$;
`;
};

/** Makes records in this order; answers the ids of those that were not taken, or `null` when none was. */
export function insertJobs(schema: string, rows: readonly NewRow[], node: string | undefined): Query {
  const values = insertParameters(rows, node);
  const places = values.map((_, index) => `$${index + 1}`);
  return {
    name: `${schema}.insert_jobs`,
    text: `select ${schema}.insert_jobs(${places.join(", ")}) as ids`,
    values,
  };
}

/** In one walk: thousands may end together. */
export function insertParameters(rows: readonly NewRow[], node: string | undefined): (string | null)[] {
  const ids: string[] = [];
  const agents: string[] = [];
  const schedules: (string | null)[] = [];
  const starts: (string | null)[] = [];
  const statuses = new SharedColumn();
  const triggers = new SharedColumn();
  const sources = new SharedColumn();
  const attempts = new SharedColumn();
  const started = new SharedColumn();
  const slots = new SharedColumn();
  const finished = new SharedColumn();
  const durations = new SharedColumn();
  let hasStarts = false;
  for (const { id, start, end } of rows) {
    const text = startText(start, end);
    hasStarts ||= text !== null;
    ids.push(id);
    agents.push(columnText(start.agent));
    schedules.push(start.schedule === null ? null : columnText(start.schedule));
    starts.push(text);
    statuses.add(end?.status ?? "running");
    triggers.add(start.trigger);
    sources.add(start.source);
    attempts.add(start.attempt);
    started.add(isoTimeMs(start.started_at));
    slots.add(isoTimeMs(start.slot));
    finished.add(isoTimeMs(end?.finished_at));
    durations.add(end?.duration_ms);
  }
  const texts = [linesOf(ids), linesOf(agents), linesOf(schedules), hasStarts ? linesOf(starts) : null];
  const columns = [statuses, triggers, sources, attempts, started, slots, finished, durations];
  return [node ?? null, ...texts, ...columns.map(({ array }) => array)];
}

/** The ids that were not taken; `undefined` when none was. */
export function insertedIds(answer: Fields | undefined): ReadonlySet<unknown> | undefined {
  const ids = answer?.["ids"];
  return Array.isArray(ids) ? new Set<unknown>(ids) : undefined;
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
    text: `update ${schema}.jobs j set status = e.status, finished_at = to_timestamp(e.finished / 1000),
        duration_ms = e.duration_ms, "end" = e."end", is_presumed = ${isPresumed}
      from unnest(${lines("$1")}, ${lines("$2")}, $3::double precision[], $4::double precision[], ${lines("$5")})
        as e(id, status, finished, duration_ms, "end")
      where j.id = e.id and ${which} returning j.id`,
    values: [
      linesOf(sorted.map(({ id }) => id)),
      linesOf(sorted.map(({ end }) => end.status)),
      plainArray(sorted.map(({ end }) => isoTimeMs(end.finished_at))),
      plainArray(sorted.map(({ end }) => end.duration_ms)),
      linesOf(sorted.map(({ end }) => endText(end))),
    ],
  };
}

/** What the columns do not say of a start, and of an end with it; `null` for nothing, as most jobs have it. */
function startText({ prompt, work_item }: JobStart, end: JobEnd | undefined): string | null {
  // The quick way for thousands that end together.
  if (prompt === null && work_item === null && (end === undefined || isPlain(end))) return null;
  return end === undefined ? detailsText({ prompt, work_item }) : endText(end, prompt, work_item);
}

function isPlain({ error, summary, exit_code, response_body, work_item }: JobEnd): boolean {
  return (error ?? summary ?? exit_code ?? response_body ?? work_item ?? null) === null;
}

function endText(
  { error, summary, exit_code, response_body, work_item }: JobEnd,
  prompt: string | null = null,
  itemAtStart: unknown = null,
): string | null {
  return detailsText({
    prompt,
    work_item: work_item ?? itemAtStart,
    error,
    summary,
    exit_code,
    response_body,
  });
}

function detailsText(details: Fields): string | null {
  const said = Object.entries(details).filter(([, value]) => value !== null);
  return said.length === 0 ? null : JSON.stringify(Object.fromEntries(said));
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

const msColumn = (column: string): string => `date_part('epoch', ${column}) * 1000 as ${column}_ms`;
const RECORD = `id, agent, schedule, status, trigger, source, attempt, duration_ms, start, "end",
  ${["started_at", "slot", "finished_at"].map(msColumn).join(", ")}`;

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
  const { id, agent, schedule, status, trigger, source, duration_ms } = row;
  const details = fieldsOf(row["start"]);
  const start = storedStart({
    ...details,
    id,
    agent: textOfColumn(String(agent)),
    schedule: typeof schedule === "string" ? textOfColumn(schedule) : null,
    trigger,
    slot: timeOf(row["slot_ms"]),
    source,
    attempt: Number(row["attempt"]),
    started_at: timeOf(row["started_at_ms"]),
  });
  if (start === undefined) return undefined;
  const ended = row["end"] === null ? details : fieldsOf(row["end"]);
  const finished_at = timeOf(row["finished_at_ms"]);
  const end = status === "running" ? undefined : storedEnd({ ...ended, status, finished_at, duration_ms });
  return jobRecord(start, end);
}

function timeOf(ms: unknown): string | null {
  return ms === null ? null : isoText(new Date(msOf(ms) ?? 0));
}

/** None, where it was damaged. */
function fieldsOf(document: unknown): Fields {
  try {
    const fields: unknown = JSON.parse(String(document));
    return isFields(fields) ? fields : {};
  } catch {
    return {};
  }
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

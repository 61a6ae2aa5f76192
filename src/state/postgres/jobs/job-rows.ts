/** The statements on the table of jobs. Fields that every job has are columns, the rest is in two documents. */
import { type Fields, isFields } from "../../../fields.js";
import { isoText, isoTimeMs } from "../../../iso-time.js";
import {
  DEFAULT_LIST_LIMIT,
  type EndedJobRecord,
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
import type { TimeParameters } from "../connection/database-clock.js";
import { msOf } from "../rows/state-row.js";

/** A job's record to write: open while it has no `end`. */
export interface JobRow {
  readonly id: string;
  readonly start: JobStart;
  readonly end?: JobEnd | undefined;
  /** Whether this process has opened the record before, so that it is closed and not inserted. @default false */
  readonly isOpened?: boolean | undefined;
}

const time = (parameter: string, column: string): string =>
  `to_timestamp(${shared(parameter, column)} / 1000)`;

/** The function that opens records, and closes records whether they were opened or not. */
export const createJobFunctions = (schema: string): string => {
  const given = `unnest(${lines("in_ids")}, ${lines("in_agents")}, ${lines("in_schedules")}, in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, ${lines("in_details")})
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details)`;
  const isOpened = shared("in_opened", "g.is_opened");
  const isSameJob = "j.id = g.id and j.agent = g.agent and j.schedule is not distinct from g.schedule";
  const inserting = `insert into ${schema}.jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select g.id, g.agent, g.schedule, ${shared("in_statuses", "g.status")}, in_node, ${time("in_started", "g.started")},
      ${shared("in_triggers", "g.trigger")}, ${time("in_slots", "g.slot")}, ${shared("in_sources", "g.source")},
      ${shared("in_attempts", "g.attempt")}, ${time("in_finished", "g.finished")},
      ${shared("in_durations", "g.duration_ms")}, g.details
    from ${given}`;
  const closing = `update ${schema}.jobs j set status = ${shared("in_statuses", "g.status")},
      finished_at = ${time("in_finished", "g.finished")}, duration_ms = ${shared("in_durations", "g.duration_ms")},
      start = g.details, "end" = null, is_presumed = false
    from ${given} where ${isSameJob} and (j.status = 'running' or j.is_presumed)
      and ${shared("in_finished", "g.finished")} is not null`;
  return `
-- Returns the ids that belong to other jobs, or null when there are none. A record that is final already stays as it is.
create function ${schema}.record_jobs(
  in_node bigint, in_ids text, in_agents text, in_schedules text, in_details text,
  -- One value each, where all jobs have the same.
  in_opened boolean[], in_statuses text[], in_triggers text[], in_sources text[], in_attempts bigint[],
  in_started double precision[], in_slots double precision[], in_finished double precision[], in_durations double precision[]
) returns text[] language plpgsql ${ONE_PLAN} as $$
declare
  v_closed bigint;
  v_inserted text[];
begin
  begin
    if true = any(in_opened) then
      ${closing} and ${isOpened};
      get diagnostics v_closed = row_count;
      if v_closed < (select count(*) from ${given} where ${isOpened}) then
        raise exception 'a record was not open' using errcode = '23505';
      end if;
    end if;
    if false = any(in_opened) then
      ${inserting} where not ${isOpened};
    end if;
    return null;
  -- Rare. An insert that is prepared for conflicts takes half as long again for every row.
  exception when unique_violation then null;
  end;
  ${closing};
  with inserted as (${inserting} on conflict do nothing returning id)
  select coalesce(array_agg(i.id), '{}') into v_inserted from inserted i;
  return nullif(array(select g.id from ${given} where g.id <> all(v_inserted) and not exists (
    select from ${schema}.jobs j where ${isSameJob} and j.status <> 'running' and not j.is_presumed
      and ${shared("in_finished", "g.finished")} is not null)), '{}');
end $$;
`;
};

/** Writes records in this order. `refused_ids` are the ids of other jobs; `null` when there are none. */
export function recordJobs(schema: string, rows: readonly JobRow[], node: string | undefined): Query {
  const values = recordParameters(rows, node);
  const places = values.map((_, index) => `$${index + 1}`);
  return {
    name: `${schema}.record_jobs`,
    text: `select ${schema}.record_jobs(${places.join(", ")}) as refused_ids`,
    values,
  };
}

/** The parameters of `record_jobs`, built in one pass because thousands of jobs may end together. */
export function recordParameters(rows: readonly JobRow[], node: string | undefined): (string | null)[] {
  const ids: string[] = [];
  const agents: string[] = [];
  const schedules: (string | null)[] = [];
  const details: (string | null)[] = [];
  const opened = new SharedColumn();
  const statuses = new SharedColumn();
  const triggers = new SharedColumn();
  const sources = new SharedColumn();
  const attempts = new SharedColumn();
  const started = new SharedColumn();
  const slots = new SharedColumn();
  const finished = new SharedColumn();
  const durations = new SharedColumn();
  let hasDetails = false;
  for (const { id, start, end, isOpened = false } of rows) {
    const text = startText(start, end);
    hasDetails ||= text !== null;
    ids.push(id);
    agents.push(columnText(start.agent));
    schedules.push(start.schedule === null ? null : columnText(start.schedule));
    details.push(text);
    opened.add(isOpened);
    statuses.add(end?.status ?? "running");
    triggers.add(start.trigger);
    sources.add(start.source);
    attempts.add(start.attempt);
    started.add(isoTimeMs(start.started_at));
    slots.add(isoTimeMs(start.slot));
    finished.add(isoTimeMs(end?.finished_at));
    durations.add(end?.duration_ms);
  }
  const texts = [linesOf(ids), linesOf(agents), linesOf(schedules), hasDetails ? linesOf(details) : null];
  const columns = [opened, statuses, triggers, sources, attempts, started, slots, finished, durations];
  return [node ?? null, ...texts, ...columns.map(({ array }) => array)];
}

/** The ids that belong to other jobs, in a reply to `record_jobs`. */
export function refusedIds(reply: Fields | undefined): ReadonlySet<unknown> {
  const ids = reply?.["refused_ids"];
  return new Set<unknown>(Array.isArray(ids) ? ids : []);
}

export interface EndOfJob {
  readonly id: string;
  readonly end: JobEnd;
}

/** Closes records that are open or presumed, each id given once; returns the ids of the closed records. */
export function closeJobs(schema: string, ends: readonly EndOfJob[]): Query {
  return endJobs(schema, ends, { name: "finish_jobs", which: "(j.status = 'running' or j.is_presumed)" });
}

/** Closes open records for jobs whose ends were not observed. */
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

/** The fields of a record that have no column, as JSON; `null` when all are empty, as for most jobs. */
function startText({ prompt, work_item, data, cause }: JobStart, end: JobEnd | undefined): string | null {
  // A fast path, because thousands of jobs may end together.
  const rest = end && (end.error ?? end.summary ?? end.exit_code ?? end.response_body ?? end.work_item);
  if ((prompt ?? work_item ?? data ?? cause ?? rest ?? null) === null) return null;
  const start = { prompt, work_item, data: data ?? null, cause: cause ?? null };
  return end === undefined ? detailsText(start) : endText(end, start);
}

function endText(
  { error, summary, exit_code, response_body, work_item }: JobEnd,
  start: Fields = {},
): string | null {
  return detailsText({
    ...start,
    work_item: work_item ?? start["work_item"] ?? null,
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

/** A job whose claim is about to be ended because its node seems to be gone. */
export interface LostJob {
  readonly record: EndedJobRecord;
  /** The node that held the claim, and the claim's token in the row of the schedule's state. */
  readonly owner: string | undefined;
  readonly token: string;
  readonly stateId: number | undefined;
}

/** Closes the open records of lost jobs, and makes the records that were never opened. A final record stays. */
export function presumeLost(schema: string, jobs: readonly LostJob[]): Query {
  const column = (valueOf: (job: LostJob) => unknown): unknown[] => jobs.map(valueOf);
  return {
    name: `${schema}.presume_lost`,
    text: `insert into ${schema}.jobs as j (id, agent, schedule, status, is_presumed, node, trigger, slot, source, attempt,
        started_at, finished_at, start)
      select g.id, g.agent, g.schedule, 'interrupted', true, g.node, g.trigger, to_timestamp(g.slot / 1000), g.source,
        g.attempt, to_timestamp(g.started / 1000), to_timestamp(g.finished / 1000), g.details
      from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::double precision[], $7::text[],
          $8::bigint[], $9::double precision[], $10::double precision[], $11::text[], $12::bigint[], $13::bigint[])
        as g(id, agent, schedule, node, trigger, slot, source, attempt, started, finished, details, token, state_id)
      join ${schema}.states s on s.id = g.state_id and s.token = g.token
      order by g.id
      on conflict (id) do update set status = excluded.status, finished_at = excluded.finished_at, duration_ms = null,
        "end" = excluded.start, is_presumed = true
      where j.status = 'running' and j.agent = excluded.agent and j.schedule is not distinct from excluded.schedule`,
    values: [
      column(({ record }) => record.id),
      column(({ record }) => columnText(record.agent)),
      column(({ record }) => (record.schedule === null ? null : columnText(record.schedule))),
      column(({ owner }) => owner ?? null),
      column(({ record }) => record.trigger),
      column(({ record }) => isoTimeMs(record.slot) ?? null),
      column(({ record }) => record.source),
      column(({ record }) => record.attempt),
      column(({ record }) => isoTimeMs(record.started_at) ?? null),
      column(({ record }) => isoTimeMs(record.finished_at) ?? null),
      column(({ record }) => endText(record)),
      column(({ token }) => token),
      column(({ stateId }) => stateId ?? null),
    ],
  };
}

/**
 * The open records that no node will close: their nodes have shown no sign of life for a whole lease, or they were opened a
 * day ago by a store that was not open as a node.
 */
export function selectOrphans(schema: string, { now, leaseNow }: TimeParameters): Query {
  return {
    name: `${schema}.orphans`,
    text: `select j.id from ${schema}.jobs j where j.status = 'running' and case when j.node is null
        then j.started_at < coalesce($2, clock_timestamp()) - interval '1 day'
        else not exists (select from ${schema}.nodes n
          where n.id = j.node and n.seen_at > coalesce($1, clock_timestamp()) - n.lease) end
      limit 1000`,
    values: [leaseNow, now],
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

/** `undefined` for a damaged row. */
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

/** Empty for a damaged document. */
function fieldsOf(document: unknown): Fields {
  try {
    const fields: unknown = JSON.parse(String(document));
    return isFields(fields) ? fields : {};
  } catch {
    return {};
  }
}

/**
 * Removes a batch of ended jobs that started before a time or exceed `maxJobs` or the `keep` of their schedule, with their outputs; returns how many. A
 * number beyond the safe integers is no limit.
 */
export function removeOld(
  schema: string,
  { beforeMs, maxJobs, keep }: { readonly beforeMs: number; readonly maxJobs: number; readonly keep: number },
  batch: number,
): Query {
  const most = Math.floor(maxJobs);
  return {
    text: `with old as (
        select id from ${schema}.jobs where status <> 'running' and (started_at < $1 or $2::bigint is not null and (started_at, number) <= (
          select started_at, number from ${schema}.jobs order by started_at desc, number desc offset $2 limit 1)
          or $4::bigint is not null and id in (select id from (select id, row_number() over (
            partition by agent, schedule order by started_at desc, number desc) as place from ${schema}.jobs) placed where place > $4))
        order by started_at, number limit $3
      ), outputs as (delete from ${schema}.job_outputs o using old where o.job_id = old.id
      ), orphans as (delete from ${schema}.job_outputs o where o.job_id in (
        select x.job_id from ${schema}.job_outputs x where x.opened_at < $1
          and not exists (select from ${schema}.jobs j where j.id = x.job_id) order by x.opened_at limit $3)
      ), gone as (delete from ${schema}.jobs j using old where j.id = old.id returning j.id)
      select count(*)::int as count from gone`,
    values: [
      // No job started before 1970, and not every earlier time has an ISO text.
      beforeMs > 0 ? new Date(beforeMs).toISOString() : "-infinity",
      Number.isSafeInteger(most) ? most : null,
      batch,
      Number.isSafeInteger(keep) ? keep : null,
    ],
  };
}

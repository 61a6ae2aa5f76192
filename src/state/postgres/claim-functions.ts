/**
 * Claiming, in the database: which due slots are taken, oldest first, and which have to wait for capacity.
 * One call is one round trip and one transaction, so that a node that stops at any moment holds no lock.
 */

/** What is told of a schedule: in this order in every answer. */
const COLUMNS = [
  ["id", "bigint"],
  ["agent", "text"],
  ["schedule", "text"],
  ["version", "bigint"],
  ["status", "text"],
  ["next_run_at", "timestamptz"],
  ["next_run_source", "text"],
  ["paused_until", "timestamptz"],
  ["due_at", "timestamptz"],
  ["seen_at", "timestamptz"],
  ["token", "text"],
  ["job_id", "text"],
  ["slot", "timestamptz"],
  ["source", "text"],
  ["claimed_at", "timestamptz"],
  ["owner", "bigint"],
  ["rest", "json"],
] as const;

export const ROW_COLUMNS: string = COLUMNS.map(([name]) => `s.${name}`).join(", ");
const ROW_TYPES = COLUMNS.map(([name, type]) => `${name} ${type}`).join(", ");

const NOW = "date_trunc('milliseconds', clock_timestamp())";

/** How many ids a day has, and a step that shares no factor with it: every number makes another, and they scatter. */
const IDS = 36 ** 6;
const STEP = 1_327_217_887;

/** The ids of so many jobs that start now. No two are the same, on whatever node, until all of a day are used up. */
const jobIds = (schema: string, count: string): string => `array(
    select 'job-' || to_char(v_now at time zone 'UTC', 'YYYY-MM-DD') || '-' || ${[5, 4, 3, 2, 1, 0].map((place) => `substr('0123456789abcdefghijklmnopqrstuvwxyz', (n / ${36 ** place} % 36)::integer + 1, 1)`).join(" || ")}
    from (select nextval('${schema}.job_number') % ${IDS} * ${STEP} % ${IDS} as n from generate_series(1, ${count}) offset 0) as drawn)`;

/** What a claim writes, with the node's parameters in scope. */
const claimed = (slot: string, source: string, jobId: string): string => `
    status = 'running', version = s.version + 1, seen_at = coalesce(least(s.seen_at, v_now), v_now),
    token = v_token || s.id, slot = ${slot}, source = ${source}, claimed_at = v_now, job_id = ${jobId},
    owner = in_node, lease_until = v_lease_now + in_lease, rest = coalesce(s.rest, '{}')`;

/** How many more jobs agent `a` may have. Whoever asks has locked it, so that nobody else claims meanwhile. */
const freeOf = (schema: string): string => `
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (
      select from ${schema}.schedules r where r.agent = a.name and r.token is not null limit a.capacity
    ) as counted) end`;

/** The agents with somebody in their line, found by jumping from one to the next. */
const linedAgents = (schema: string): string => `
  with recursive lined(agent) as (
    (select l.agent from ${schema}.schedules l where l.token is null and l.seen_at is not null order by l.agent limit 1)
    union all
    select (select l.agent from ${schema}.schedules l
      where l.token is null and l.seen_at is not null and l.agent > lined.agent order by l.agent limit 1)
    from lined where lined.agent is not null)`;

export const createClaimFunctions = (schema: string): string => `
create function ${schema}.claim_due(
  in_node bigint, in_limit integer, in_now timestamptz, in_lease_now timestamptz, in_lease interval,
  in_past_expired boolean
) returns table (kind text, ${ROW_TYPES}) language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  -- Whatever is claimed by this call has a token that nothing else has.
  v_token text := replace(gen_random_uuid()::text, '-', '') || '-';
  v_left integer := in_limit;
  v_tids tid[];
  v_ids bigint[];
  v_agents text[];
  v_dues timestamptz[];
  v_fresh boolean[];
  v_chosen tid[];
  v_waiting tid[];
begin
  if not in_past_expired then
    return query select 'expired', ${ROW_COLUMNS} from ${schema}.schedules s
      where s.lease_until <= v_lease_now order by s.lease_until limit 1000;
    if found then return; end if;
  end if;
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Whom another is claiming or changing right now is passed over.
    with fresh as materialized (
      select s.ctid as tid, s.id, s.agent, s.due_at, true as is_fresh from ${schema}.schedules s
      where s.token is null and s.seen_at is null and s.due_at <= v_now
        and exists (select from ${schema}.definitions d where d.node = in_node and d.schedule_id = s.id)
      order by s.due_at, s.id limit greatest(v_left, 100) for update of s skip locked
    ), open_line as materialized (
      ${linedAgents(schema)}
      select a.name, ${freeOf(schema)} as free from lined join ${schema}.agents a on a.name = lined.agent
    ), waiting as materialized (
      select w.* from open_line, lateral (
        select s.ctid as tid, s.id, s.agent, s.due_at, false as is_fresh from ${schema}.schedules s
        where s.agent = open_line.name and s.token is null and s.seen_at is not null and s.due_at <= v_now
          and exists (select from ${schema}.definitions d where d.node = in_node and d.schedule_id = s.id)
        order by s.due_at, s.id limit least(open_line.free, v_left) for update of s skip locked
      ) as w where open_line.free > 0
    ), found as (select * from fresh union all select * from waiting)
    select array_agg(tid), array_agg(id), array_agg(agent), array_agg(due_at), array_agg(is_fresh)
      into v_tids, v_ids, v_agents, v_dues, v_fresh from found;
    exit when v_tids is null;
    -- From here on nobody else claims for these agents, and what was claimed before can be counted.
    perform from ${schema}.agents a where a.name = any(v_agents) order by a.name for update;
    with room as materialized (
      select a.name, ${freeOf(schema)} as free from ${schema}.agents a where a.name = any(v_agents)
    ), ranked as (
      select c.*, room.free, row_number() over (partition by c.agent order by c.due_at, c.id) as place
      from unnest(v_tids, v_ids, v_agents, v_dues, v_fresh) as c(tid, id, agent, due_at, is_fresh)
      join room on room.name = c.agent
    ), ordered as (
      select *, row_number() over (partition by place <= free order by due_at, id) as turn from ranked
    )
    select array_agg(tid) filter (where place <= free and turn <= v_left),
      array_agg(tid) filter (where place > free and is_fresh)
      into v_chosen, v_waiting from ordered;
    if v_chosen is not null then
      return query update ${schema}.schedules s set ${claimed("s.next_run_at", "s.next_run_source", "c.job_id")}
        from unnest(v_chosen, ${jobIds(schema, "cardinality(v_chosen)")}) as c(tid, job_id)
        where s.ctid = c.tid returning 'claim', ${ROW_COLUMNS};
      v_left := v_left - cardinality(v_chosen);
    end if;
    if v_waiting is not null then
      return query update ${schema}.schedules s set seen_at = v_now
        where s.ctid = any(v_waiting) returning 'waiting', ${ROW_COLUMNS};
    end if;
    exit when v_waiting is null;
  end loop;
  return query select 'looked', null::bigint, null::text, null::text, coalesce((select max(c.id) from ${schema}.changes c), 0),
    null::text, v_now, null::text, null::timestamptz, null::timestamptz, null::timestamptz, null::text, null::text,
    null::timestamptz, null::text, null::timestamptz, null::bigint, null::json;
end $$;

create function ${schema}.claim_one(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval
) returns table (kind text, ${ROW_TYPES}) language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_token text := replace(gen_random_uuid()::text, '-', '') || '-';
  v_job_ids text[] := ${jobIds(schema, "1")};
  v_status text;
  v_held_by text;
  v_free bigint;
  v_refusal text;
begin
  select s.status, s.token into v_status, v_held_by from ${schema}.schedules s
    where s.agent = in_agent and s.schedule = in_schedule for update;
  perform from ${schema}.agents a where a.name = in_agent for update;
  select ${freeOf(schema)} into v_free from ${schema}.agents a where a.name = in_agent;
  v_refusal := case when v_status = 'disabled' then 'disabled' when v_held_by is not null then 'already_running'
    when v_free <= 0 then 'at_capacity' end;
  if v_refusal is null then
    return query update ${schema}.schedules s set ${claimed("v_now", "'manual'", "v_job_ids[1]")}
      where s.agent = in_agent and s.schedule = in_schedule returning 'claim', ${ROW_COLUMNS};
  else
    return query select v_refusal, ${ROW_COLUMNS} from ${schema}.schedules s
      where s.agent = in_agent and s.schedule = in_schedule;
  end if;
end $$;

create function ${schema}.next_due(in_node bigint, in_looked timestamptz) returns timestamptz language sql stable as $$
  select least(
    (select s.due_at from ${schema}.schedules s
      where s.token is null and s.seen_at is null and s.due_at > coalesce(in_looked, '-infinity')
        and exists (select from ${schema}.definitions d where d.node = in_node and d.schedule_id = s.id)
      order by s.due_at, s.id limit 1),
    (${linedAgents(schema)}
      select min(s.due_at) from lined join ${schema}.agents a on a.name = lined.agent
        join ${schema}.schedules s on s.agent = a.name and s.token is null and s.seen_at is not null
      where ${freeOf(schema)} > 0 and s.due_at > coalesce(in_looked, '-infinity')
        and exists (select from ${schema}.definitions d where d.node = in_node and d.schedule_id = s.id)))
$$;
`;

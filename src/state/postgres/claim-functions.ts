/**
 * Claiming, in the database: which due slots are taken, oldest first, and which have to wait for capacity.
 * One call is one round trip and one transaction, so that a node that stops at any moment holds no lock.
 */

/**
 * As if nothing were known of the parameters: for a long list of rows that is at hand, PostgreSQL would rather read the
 * whole table.
 */
export const ONE_PLAN = "set plan_cache_mode = 'force_generic_plan'";

const NOW = "date_trunc('milliseconds', clock_timestamp())";

/** What a claim writes, with the node's parameters in scope. */
const claimed = (schema: string): string => `
    version = s.version + 1, token = nextval('${schema}.job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_lease_now + in_lease`;

/** What is told of a row that was claimed or lined up. */
const told = (kind: string): string => `
  '${kind}'::"char", s.id, s.version, s.token, date_part('epoch', s.seen_at) * 1000, date_part('epoch', s.slot) * 1000, s.state`;

/** Whether a node runs schedule `s`: it may be known to others only. */
const MINE = "case when s.id < v_size then get_bit(v_mine, s.id) = 1 else false end";

/** How many more jobs agent `a` may have. Whoever asks has locked it, so that nobody else claims meanwhile. */
const freeOf = (schema: string): string => `
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (
      select from ${schema}.states r where r.agent_id = a.id and r.token is not null and r.is_limited limit a.capacity
    ) as counted) end`;

/** The agents with somebody in their line, found by jumping from one to the next. */
const linedAgents = (schema: string): string => `
  with recursive lined(agent_id) as (
    (select l.agent_id from ${schema}.states l where l.token is null and l.is_lined order by l.agent_id limit 1)
    union all
    select (select l.agent_id from ${schema}.states l
      where l.token is null and l.is_lined and l.agent_id > lined.agent_id order by l.agent_id limit 1)
    from lined where lined.agent_id is not null)`;

/** Whoever changes what agents may have waits for all who claim, and they for it: see `keepOthersFromClaiming`. */
const joinClaimants = (schema: string): string => `pg_advisory_xact_lock_shared(hashtext('${schema}'), 3)`;
export const keepOthersFromClaiming = (schema: string): string =>
  `pg_advisory_xact_lock(hashtext('${schema}'), 3)`;

export const createClaimFunctions = (schema: string): string => `
create function ${schema}.claim_due(
  in_node bigint, in_limit integer, in_now timestamptz, in_lease_now timestamptz, in_lease interval,
  in_past_expired boolean, in_left_after timestamptz, in_left_at timestamptz
) returns table (kind "char", id bigint, version bigint, token bigint, seen double precision, slot double precision, state json)
language plpgsql ${ONE_PLAN} as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_left integer := in_limit;
  v_mine bytea;
  v_size bigint;
  v_tids tid[];
  v_ids bigint[];
  v_agents integer[];
  v_dues timestamptz[];
  v_lined boolean[];
  v_is_free boolean;
  v_waiting tid[];
begin
  perform ${joinClaimants(schema)};
  if not in_past_expired and exists (select from ${schema}.states s where s.lease_until <= v_lease_now) then
    return query select 'x'::"char", null::bigint, null::bigint, null::bigint, null::float8, null::float8, null::json;
    return;
  end if;
  -- Joined to nothing, so that it is unpacked once and not for every row.
  select n.schedules || ''::bytea, 8 * length(n.schedules) into v_mine, v_size from ${schema}.nodes n where n.id = in_node;
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Whom another is claiming or changing right now is passed over.
    select array_agg(f.tid), array_agg(f.id), array_agg(f.agent_id), array_agg(f.due_at), array_agg(false), not bool_or(f.is_limited)
      into v_tids, v_ids, v_agents, v_dues, v_lined, v_is_free from (
        select s.ctid as tid, s.id, s.agent_id, s.due_at, s.is_limited from ${schema}.states s
        where s.token is null and not s.is_lined and s.due_at <= v_now and ${MINE}
        order by s.due_at, s.id limit greatest(v_left, 100) for update of s skip locked) as f;
    if exists (select from ${schema}.states s where s.token is null and s.is_lined) then
      select v_tids || array_agg(w.tid), v_ids || array_agg(w.id), v_agents || array_agg(w.agent_id),
          v_dues || array_agg(w.due_at), v_lined || array_agg(true), v_is_free and count(*) = 0
        into v_tids, v_ids, v_agents, v_dues, v_lined, v_is_free from (
          ${linedAgents(schema)}
          select a.id, ${freeOf(schema)} as free from lined join ${schema}.agents a on a.id = lined.agent_id
        ) as line, lateral (
          select s.ctid as tid, s.id, s.agent_id, s.due_at from ${schema}.states s
          where s.agent_id = line.id and s.token is null and s.is_lined and s.due_at <= v_now and ${MINE}
          order by s.due_at, s.id limit least(line.free, v_left) for update of s skip locked
        ) as w where line.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_free then
      v_tids := v_tids[:v_left];
    else
      -- From here on nobody else claims for these agents, and what was claimed before can be counted.
      perform from ${schema}.agents a where a.id = any(v_agents) and a.size > a.capacity order by a.id for update;
      with room as materialized (
        select a.id, ${freeOf(schema)} as free from ${schema}.agents a where a.id = any(v_agents)
      ), ranked as (
        select c.*, room.free, row_number() over (partition by c.agent_id order by c.due_at, c.id) as place
        from unnest(v_tids, v_ids, v_agents, v_dues, v_lined) as c(tid, id, agent_id, due_at, is_lined)
        join room on room.id = c.agent_id
      ), ordered as (
        select *, row_number() over (partition by place <= free order by due_at, id) as turn from ranked
      )
      select array_agg(tid) filter (where place <= free and turn <= v_left),
        array_agg(tid) filter (where place > free and not is_lined)
        into v_tids, v_waiting from ordered;
    end if;
    return query update ${schema}.states s set ${claimed(schema)} where s.ctid = any(v_tids) returning ${told("c")};
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    return query update ${schema}.states s set is_lined = true, seen_at = coalesce(s.seen_at, v_now)
      where s.ctid = any(v_waiting) returning ${told("w")};
  end loop;
  -- What was left for want of room has been seen, which whoever claims it later has to know.
  update ${schema}.states s set seen_at = in_left_at
    where s.token is null and not s.is_lined and s.due_at <= in_left_at and s.due_at > coalesce(in_left_after, '-infinity')
      and s.seen_at is null and ${MINE};
  return query select 'l'::"char", coalesce((select max(c.id) from ${schema}.changes c), 0),
    exists (select from ${schema}.states s where s.token is null and s.is_lined)::integer::bigint, null::bigint,
    date_part('epoch', v_now) * 1000, date_part('epoch', ${schema}.next_due(in_node, v_now, v_now)) * 1000, null::json;
end $$;

create function ${schema}.claim_one(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval
) returns text language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_id bigint;
  v_agent integer;
  v_is_disabled boolean;
  v_held_by bigint;
  v_free bigint;
begin
  perform ${joinClaimants(schema)};
  select s.id, s.agent_id, s.is_disabled, s.token into v_id, v_agent, v_is_disabled, v_held_by
    from ${schema}.schedules n join ${schema}.states s on s.id = n.id
    where n.agent = in_agent and n.schedule = in_schedule for update of s;
  perform from ${schema}.agents a where a.id = v_agent for update;
  select ${freeOf(schema)} into v_free from ${schema}.agents a where a.id = v_agent;
  if v_is_disabled or v_id is null then return 'disabled'; end if;
  if v_held_by is not null then return 'already_running'; end if;
  if v_free <= 0 then return 'at_capacity'; end if;
  update ${schema}.states s set ${claimed(schema)}, slot = v_now, source = 'manual', state = coalesce(s.state, '{}')
    where s.id = v_id;
  return null;
end $$;

create function ${schema}.next_due(in_node bigint, in_left timestamptz, in_looked timestamptz) returns timestamptz language plpgsql stable ${ONE_PLAN} as $$
declare
  v_mine bytea;
  v_size bigint;
  v_due timestamptz;
begin
  select n.schedules || ''::bytea, 8 * length(n.schedules) into v_mine, v_size from ${schema}.nodes n where n.id = in_node;
  select least(
    (select s.due_at from ${schema}.states s
      where s.token is null and not s.is_lined and s.due_at > coalesce(in_left, '-infinity') and ${MINE}
      order by s.due_at, s.id limit 1),
    (${linedAgents(schema)}
      select min(s.due_at) from lined join ${schema}.agents a on a.id = lined.agent_id
        join ${schema}.states s on s.agent_id = a.id and s.token is null and s.is_lined
      where ${freeOf(schema)} > 0 and s.due_at > coalesce(in_looked, '-infinity') and ${MINE})) into v_due;
  return v_due;
end $$;
`;

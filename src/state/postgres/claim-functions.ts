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

/** A time as whole milliseconds: those are written faster than fractions. */
const msOf = (time: string): string => `(date_part('epoch', ${time}) * 1000)::bigint`;

/** Columns of rows `r`, after what is there already: told as rows they would take longer than to be claimed. */
const added = (list: string, column: string): string => `${list} || array_agg(${column})`;
const addedDocuments = (list: string): string =>
  `nullif(concat_ws(',', ${list}, string_agg(coalesce(r.state::text, '{}'), ',')), '')`;

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
  in_past_expired boolean, in_left_after timestamptz, in_left_at timestamptz,
  -- Whether leases have ended, which are to be seen to first: nothing was claimed.
  out has_expired boolean,
  out at_ms bigint, out next_ms bigint, out has_lines boolean, out latest_change bigint,
  out ids bigint[], out versions bigint[], out tokens bigint[], out seen bigint[], out slots bigint[], out states text,
  -- What has to wait for its agent from now on.
  out lined_ids bigint[], out lined_seen bigint[], out lined_slots bigint[], out lined_states text
) language plpgsql ${ONE_PLAN} as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_left integer := in_limit;
  v_mine bytea;
  v_size bigint;
  v_tids tid[];
  v_is_limited boolean;
  v_waiting tid[];
begin
  perform ${joinClaimants(schema)};
  -- In order: were any of them asked for, the whole table might be read in search of it.
  has_expired := not in_past_expired and (select s.lease_until from ${schema}.states s
    where s.lease_until <= v_lease_now order by s.lease_until limit 1) is not null;
  if has_expired then return; end if;
  -- Joined to nothing, so that it is unpacked once and not for every row.
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint into v_mine, v_size from ${schema}.nodes n where n.id = in_node;
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Whom another is claiming or changing right now is passed over. At first no more than can be claimed: others look too.
    select array_agg(f.tid), coalesce(bool_or(f.is_limited), false) into v_tids, v_is_limited from (
      select s.ctid as tid, s.is_limited from ${schema}.states s
      where s.token is null and not s.is_lined and s.due_at <= v_now and ${MINE}
      order by s.due_at, s.id limit case when i = 1 then v_left else greatest(v_left, 100) end for update of s skip locked) as f;
    if exists (select from ${schema}.states s where s.token is null and s.is_lined) then
      select v_tids || array_agg(w.tid), v_is_limited or count(*) > 0 into v_tids, v_is_limited from (
          ${linedAgents(schema)}
          select a.id, ${freeOf(schema)} as free from lined join ${schema}.agents a on a.id = lined.agent_id
        ) as line, lateral (
          select s.ctid as tid from ${schema}.states s
          where s.agent_id = line.id and s.token is null and s.is_lined and s.due_at <= v_now and ${MINE}
          order by s.due_at, s.id limit least(line.free, v_left) for update of s skip locked
        ) as w where line.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_limited then
      -- From here on nobody else claims for these agents, and what was claimed before can be counted.
      perform from ${schema}.agents a where a.size > a.capacity
        and a.id in (select s.agent_id from ${schema}.states s where s.ctid = any(v_tids)) order by a.id for update;
      with candidates as materialized (
        select s.ctid as tid, s.id, s.agent_id, s.due_at, s.is_lined from ${schema}.states s where s.ctid = any(v_tids)
      ), room as materialized (
        select a.id, ${freeOf(schema)} as free from ${schema}.agents a where a.id in (select c.agent_id from candidates c)
      ), ranked as (
        select c.*, room.free, row_number() over (partition by c.agent_id order by c.due_at, c.id) as place
        from candidates c join room on room.id = c.agent_id
      ), ordered as (
        select *, row_number() over (partition by place <= free order by due_at, id) as turn from ranked
      )
      select array_agg(tid) filter (where place <= free and turn <= v_left),
        array_agg(tid) filter (where place > free and not is_lined)
        into v_tids, v_waiting from ordered;
    else
      v_tids := v_tids[:v_left];
    end if;
    with r as (update ${schema}.states s set ${claimed(schema)} where s.ctid = any(v_tids)
      returning s.id, s.version, s.token, s.seen_at, s.slot, s.state)
    select ${added("ids", "r.id")}, ${added("versions", "r.version")}, ${added("tokens", "r.token")},
      ${added("seen", msOf("r.seen_at"))}, ${added("slots", msOf("r.slot"))}, ${addedDocuments("states")}
      into ids, versions, tokens, seen, slots, states from r;
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    with r as (update ${schema}.states s set is_lined = true, seen_at = coalesce(s.seen_at, v_now)
      where s.ctid = any(v_waiting) returning s.id, s.seen_at, s.slot, s.state)
    select ${added("lined_ids", "r.id")}, ${added("lined_seen", msOf("r.seen_at"))},
      ${added("lined_slots", msOf("r.slot"))}, ${addedDocuments("lined_states")}
      into lined_ids, lined_seen, lined_slots, lined_states from r;
  end loop;
  -- What was left for want of room has been seen, which whoever claims it later has to know. Who has it locked sees to that.
  if in_left_at is not null then
    update ${schema}.states x set seen_at = in_left_at where x.ctid = any(array(
      select s.ctid from ${schema}.states s
      where s.token is null and not s.is_lined and s.due_at <= in_left_at and s.due_at > coalesce(in_left_after, '-infinity')
        and s.seen_at is null and ${MINE} for update of s skip locked));
  end if;
  at_ms := ${msOf("v_now")};
  next_ms := ${msOf(`${schema}.next_due(in_node, v_now, v_now)`)};
  has_lines := exists (select from ${schema}.states s where s.token is null and s.is_lined);
  latest_change := coalesce((select max(c.id) from ${schema}.changes c), 0);
end $$;

create function ${schema}.claim_one(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval
) returns text language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_id bigint;
  v_agent bigint;
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
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint into v_mine, v_size from ${schema}.nodes n where n.id = in_node;
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

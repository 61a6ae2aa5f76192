/**
 * Claiming, in the database: which due slots are taken, oldest first, and which have to wait for capacity.
 * One call is one round trip and one transaction, so that a node that stops at any moment holds no lock.
 */
import { DOCUMENT_END } from "../rows/column-text.js";

/**
 * As if nothing were known of the parameters, and as if every table were large: PostgreSQL would rather read the whole table
 * for a long list of rows that is at hand, or where it is small. Rows are then locked in the order of their ids, by everybody.
 */
export const ONE_PLAN = `
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off`;

const NOW = "date_trunc('milliseconds', clock_timestamp())";

/** What a claim writes, with the node's parameters in scope. */
const claimed = (schema: string): string => `
    version = s.version + 1, token = nextval('${schema}.job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until`;

/** A time as whole milliseconds: those are written faster than fractions. */
const msOf = (time: string): string => `(date_part('epoch', ${time}) * 1000)::bigint`;

/** Columns of rows `r`, after what is there already: told as rows they would take longer than to be claimed. */
const added = (list: string, column: string): string => `${list} || array_agg(${column})`;
const addedDocuments = (list: string): string =>
  `nullif(concat_ws('${DOCUMENT_END}', ${list}, string_agg(coalesce(r.state, '{}'), '${DOCUMENT_END}')), '')`;

/** Whether a node runs schedule or place `q` at its times: it may be known to others only. */
export const MINE = "case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end";
/** Whether it may claim the place when that is due: of what it has by hand, what was asked for and nobody else would run. */
const claimable = (schema: string): string => `
  case when ${MINE} then true when q.id >= v_by_hand_size then false when get_bit(v_by_hand, q.id) = 0 then false
    else ${schema}.is_left_to_hand(q.id) end`;
export const MINE_VARIABLES = `
  v_mine bytea;
  v_size bigint;
  v_by_hand bytea;
  v_by_hand_size bigint;`;
/** Unpacks what it may run. Joined to nothing, so that this is done once and not for every row. */
export const learnMine = (schema: string, node: string): string => `
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint, n.by_hand || ''::bytea, 8 * length(n.by_hand)::bigint
    into v_mine, v_size, v_by_hand, v_by_hand_size
    from ${schema}.nodes n where n.id = ${node};`;

/** How many more jobs agent `a` may have. Whoever asks has locked it, so that nobody else claims meanwhile. */
const freeOf = (schema: string): string => `
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (select from ${schema}.running r where r.agent_id = a.id limit a.capacity) as counted) end`;

/** The agents with somebody in their line, found by jumping from one to the next. */
const linedAgents = (schema: string): string => `
  with recursive lined(agent_id) as (
    (select l.agent_id from ${schema}.queue l where l.is_lined order by l.agent_id limit 1)
    union all
    select (select l.agent_id from ${schema}.queue l
      where l.is_lined and l.agent_id > lined.agent_id order by l.agent_id limit 1)
    from lined where lined.agent_id is not null)`;

/** A claim of those that lease `l` stands for whose own has ended. */
const firstExpired = (schema: string): string => `
  (select s.id from unnest(l.schedules) as c(id) join ${schema}.states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1)`;

/** Whoever changes what agents may have waits for all who claim, and they for it: see `keepOthersFromClaiming`. */
const joinClaimants = (schema: string): string => `pg_advisory_xact_lock_shared(hashtext('${schema}'), 3)`;
export const keepOthersFromClaiming = (schema: string): string =>
  `pg_advisory_xact_lock(hashtext('${schema}'), 3)`;

export const createClaimFunctions = (schema: string): string => `
create function ${schema}.claim_due(
  in_node bigint, in_limit integer, in_now timestamptz, in_lease_now timestamptz, in_lease interval,
  in_past_expired boolean, in_look timestamptz, in_looks_from timestamptz,
  -- When the node looked and left something, as far as it knows itself.
  in_own_looks timestamptz[],
  -- Whether leases have ended, which are to be seen to first: nothing was claimed.
  out has_expired boolean,
  out at_ms bigint, out next_ms bigint, out has_lines boolean, out latest_change bigint,
  out ids bigint[], out versions bigint[], out tokens bigint[], out slots bigint[], out states text,
  -- Those of them that were seen due before, and when.
  out seen_ids bigint[], out seen bigint[],
  -- What has to wait for its agent from now on.
  out lined_ids bigint[], out lined_seen bigint[], out lined_slots bigint[], out lined_states text
) language plpgsql ${ONE_PLAN} as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_until timestamptz := v_lease_now + in_lease;
  v_left integer := in_limit;${MINE_VARIABLES}
  v_tids tid[];
  v_is_limited boolean;
  v_waiting tid[];
  v_ids bigint[];
  v_others bigint[];
begin
  perform ${joinClaimants(schema)};
  if not in_past_expired and exists (select from ${schema}.leases l where l.until <= v_lease_now) then
    -- All that it stands for has been renewed or has ended. As one statement, which sees a claim together with its lease.
    delete from ${schema}.leases l where l.id = any(array(
      select d.id from ${schema}.leases d where d.until <= v_lease_now for update skip locked))
      and ${firstExpired(schema)} is null;
    has_expired := exists (select from ${schema}.leases l where l.until <= v_lease_now and ${firstExpired(schema)} is not null);
    if has_expired then return; end if;
  end if;
  if in_looks_from is not null then
    delete from ${schema}.looks k where k.node = in_node and k.at < in_looks_from;
  end if;
  if in_look is not null then
    insert into ${schema}.looks (node, at) values (in_node, in_look) on conflict do nothing;
  end if;
  v_others := array(select distinct k.node from ${schema}.looks k where k.node <> in_node);
  ${learnMine(schema, "in_node")}
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Whom another is claiming or changing right now is passed over. At first no more than can be claimed: others look too.
    select array_agg(f.tid), coalesce(bool_or(f.agent_id is not null), false) into v_tids, v_is_limited from (
      select q.ctid as tid, q.agent_id from ${schema}.queue q
      where not q.is_lined and q.due_at <= v_now and ${claimable(schema)}
      order by q.due_at, q.id limit case when i = 1 then v_left else greatest(v_left, 100) end for update of q skip locked) as f;
    if exists (select from ${schema}.queue q where q.is_lined) then
      select v_tids || array_agg(w.tid), v_is_limited or count(*) > 0 into v_tids, v_is_limited from (
          ${linedAgents(schema)}
          select a.id, ${freeOf(schema)} as free from lined join ${schema}.agents a on a.id = lined.agent_id
        ) as line, lateral (
          select q.ctid as tid from ${schema}.queue q
          where q.agent_id = line.id and q.is_lined and q.due_at <= v_now and ${claimable(schema)}
          order by q.due_at, q.id limit least(line.free, v_left) for update of q skip locked
        ) as w where line.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_limited then
      -- From here on nobody else claims for these agents, and what was claimed before can be counted.
      perform from ${schema}.agents a where a.size > a.capacity
        and a.id in (select q.agent_id from ${schema}.queue q where q.ctid = any(v_tids)) order by a.id for update;
      with candidates as materialized (
        select q.ctid as tid, q.id, q.agent_id, q.due_at, q.is_lined from ${schema}.queue q where q.ctid = any(v_tids)
      ), room as materialized (
        select a.id, ${freeOf(schema)} as free from ${schema}.agents a where a.id in (select c.agent_id from candidates c)
      ), ranked as (
        select c.*, coalesce(room.free, v_left) as free, row_number() over (partition by c.agent_id order by c.due_at, c.id) as place
        from candidates c left join room on room.id = c.agent_id
      ), ordered as (
        select *, row_number() over (partition by place <= free order by due_at, id) as turn from ranked
      )
      select array_agg(tid) filter (where place <= free and turn <= v_left),
        array_agg(tid) filter (where place > free and not is_lined and agent_id is not null)
        into v_tids, v_waiting from ordered;
    else
      v_tids := v_tids[:v_left];
    end if;
    with taken as (delete from ${schema}.queue q where q.ctid = any(v_tids) returning q.id, q.agent_id
    ), counted as (
      insert into ${schema}.running (agent_id, id) select t.agent_id, t.id from taken t where t.agent_id is not null
    )
    select array_agg(t.id) into v_ids from taken t;
    perform ${schema}.note_seen(other, v_ids) from unnest(v_others) as other;
    with r as (update ${schema}.states s set ${claimed(schema)} where s.id = any(v_ids) and s.token is null
      returning s.id, s.version, s.token, s.seen_at, s.slot, s.state)
    select ${added("ids", "r.id")}, ${added("versions", "r.version")}, ${added("tokens", "r.token")},
      seen_ids || array_agg(r.id) filter (where r.seen_at is not null),
      seen || array_agg(${msOf("r.seen_at")}) filter (where r.seen_at is not null),
      ${added("slots", msOf("r.slot"))}, ${addedDocuments("states")}
      into ids, versions, tokens, seen_ids, seen, slots, states from r;
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    with waiting as (update ${schema}.queue q set is_lined = true where q.ctid = any(v_waiting) returning q.id)
    select array_agg(w.id) into v_ids from waiting w;
    perform ${schema}.note_seen(other, v_ids) from unnest(v_others) as other;
    with r as (update ${schema}.states s set seen_at = least(coalesce(s.seen_at, v_now),
        (select min(k.at) from unnest(in_own_looks) as k(at) where k.at >= s.due_at)) where s.id = any(v_ids)
      returning s.id, s.seen_at, s.slot, s.state)
    select ${added("lined_ids", "r.id")}, ${added("lined_seen", msOf("r.seen_at"))},
      ${added("lined_slots", msOf("r.slot"))}, ${addedDocuments("lined_states")}
      into lined_ids, lined_seen, lined_slots, lined_states from r;
  end loop;
  if ids is not null then
    insert into ${schema}.leases (until, owner, schedules) values (v_until, in_node, ids);
  end if;
  at_ms := ${msOf("v_now")};
  next_ms := ${msOf(`${schema}.next_due(in_node, v_now, v_now)`)};
  has_lines := exists (select from ${schema}.queue q where q.is_lined);
  latest_change := coalesce((select max(c.id) from ${schema}.changes c), 0);
end $$;

create function ${schema}.claim_one(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval
) returns text language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_until timestamptz := v_lease_now + in_lease;
  v_id bigint;
  v_agent bigint;
  v_version bigint;
  v_version_then bigint;
  v_is_disabled boolean;
  v_is_limited boolean;
  v_held_by bigint;
  v_free bigint;
begin
  perform ${joinClaimants(schema)};
  select n.id into v_id from ${schema}.schedules n where n.agent = in_agent and n.schedule = in_schedule;
  loop
    begin
      select s.version into v_version from ${schema}.states s where s.id = v_id;
      perform ${schema}.hold_places(array[v_id]);
      select s.version, s.agent_id, s.is_disabled, s.is_limited, s.token
        into v_version_then, v_agent, v_is_disabled, v_is_limited, v_held_by
        from ${schema}.states s where s.id = v_id for update;
      exit when v_version_then is not distinct from v_version;
      raise exception 'it was moved meanwhile' using errcode = '40001';
    -- Lets go of it, as in hold_places.
    exception when serialization_failure then null;
    end;
  end loop;
  perform from ${schema}.agents a where a.id = v_agent for update;
  select ${freeOf(schema)} into v_free from ${schema}.agents a where a.id = v_agent;
  if v_is_disabled or v_id is null then return 'disabled'; end if;
  if v_held_by is not null then return 'already_running'; end if;
  if v_free <= 0 then return 'at_capacity'; end if;
  perform ${schema}.leave_queue(array[v_id]);
  if v_is_limited then insert into ${schema}.running (agent_id, id) values (v_agent, v_id); end if;
  update ${schema}.states s set ${claimed(schema)}, slot = v_now, source = 'manual', state = coalesce(s.state, '{}')
    where s.id = v_id;
  insert into ${schema}.leases (until, owner, schedules) values (v_until, in_node, array[v_id]);
  return null;
end $$;

-- Whether a schedule is due because somebody asked for it, and no node would run it at its times. Apart, so that what is
-- hardly ever asked makes no statement look dear.
create function ${schema}.is_left_to_hand(in_id bigint) returns boolean language plpgsql stable cost 1 ${ONE_PLAN} as $$
begin
  return (select s.source is not null from ${schema}.states s where s.id = in_id) and not exists (
    select from ${schema}.nodes n
    where case when in_id < 8 * length(n.schedules)::bigint then get_bit(n.schedules, in_id) = 1 else false end);
end $$;

create function ${schema}.next_due(in_node bigint, in_left timestamptz, in_looked timestamptz) returns timestamptz language plpgsql stable ${ONE_PLAN} as $$
declare ${MINE_VARIABLES}
  v_due timestamptz;
begin
  ${learnMine(schema, "in_node")}
  select least(
    (select q.due_at from ${schema}.queue q
      where not q.is_lined and q.due_at > coalesce(in_left, '-infinity') and ${claimable(schema)}
      order by q.due_at, q.id limit 1),
    (${linedAgents(schema)}
      select min(q.due_at) from lined join ${schema}.agents a on a.id = lined.agent_id
        join ${schema}.queue q on q.agent_id = a.id and q.is_lined
      where ${freeOf(schema)} > 0 and q.due_at > coalesce(in_looked, '-infinity') and ${claimable(schema)})) into v_due;
  return v_due;
end $$;
`;

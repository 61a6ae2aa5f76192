/**
 * Database functions that claim: which due slots a node gets, oldest first, and which slots wait for capacity.
 * One call is one round trip and one transaction, so that a node that dies at any moment leaves no lock behind.
 */
import { DOCUMENT_END } from "../rows/column-text.js";

/**
 * One plan for all parameters, made for large tables: otherwise PostgreSQL reads whole tables that are small, or for long
 * lists of ids. With this plan every statement locks rows in the order of their ids.
 */
export const ONE_PLAN = `
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off`;

const NOW = "date_trunc('milliseconds', clock_timestamp())";

/** The columns that a claim sets, with the node's parameters in scope. */
const claimed = (schema: string): string => `
    version = s.version + 1, token = nextval('${schema}.job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until`;

/** A time as whole milliseconds, which PostgreSQL writes faster than fractions. */
const msOf = (time: string): string => `(date_part('epoch', ${time}) * 1000)::bigint`;

/** Columns of rows `r`, appended to a list. A result with a row for each claim would take longer than the claims. */
const added = (list: string, column: string): string => `${list} || array_agg(${column})`;
const addedDocuments = (list: string): string =>
  `nullif(concat_ws('${DOCUMENT_END}', ${list}, string_agg(coalesce(r.state, '{}'), '${DOCUMENT_END}')), '')`;

/** Whether the node runs the schedule of `q` at its times. */
export const IS_MINE = "case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end";
/**
 * Whether the node may claim `q` when it is due. It may claim a manual-only schedule if that was requested and no live node
 * runs it at its times.
 */
const isClaimable = (schema: string, leaseNow: string): string => `
  case when ${IS_MINE} then true when q.id >= v_manual_size then false when get_bit(v_manual, q.id) = 0 then false
    else ${schema}.is_left_to_manual(q.id, ${leaseNow}) end`;
export const RIGHTS_VARIABLES = `
  v_mine bytea;
  v_size bigint;
  v_manual bytea;
  v_manual_size bigint;`;
/** Decompresses the node's rights once; in a join PostgreSQL would do so for every row. */
export const readRights = (schema: string, node: string): string => `
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint,
      n.manual_schedules || ''::bytea, 8 * length(n.manual_schedules)::bigint
    into v_mine, v_size, v_manual, v_manual_size
    from ${schema}.nodes n where n.id = ${node};`;

/** Whether the jobs of agent `a` are counted: its schedules alone can exceed its capacity, or a node wants the count. */
export const IS_LIMITED = "(a.is_counted or a.size > a.capacity)";

/** How many more jobs agent `a` may have. Exact while the caller holds its row lock. */
const freeOf = (schema: string): string => `
  case when not ${IS_LIMITED} then 2147483647 else a.capacity - (
    select count(*) from (select from ${schema}.running r where r.agent_id = a.id limit a.capacity) as counted) end`;

/** The agents with slots that wait for capacity; each step of the recursion jumps to the next agent in the index. */
const waitingAgents = (schema: string): string => `
  with recursive waiting(agent_id) as (
    (select w.agent_id from ${schema}.queue w where w.is_waiting order by w.agent_id limit 1)
    union all
    select (select w.agent_id from ${schema}.queue w
      where w.is_waiting and w.agent_id > waiting.agent_id order by w.agent_id limit 1)
    from waiting where waiting.agent_id is not null)`;

/** A claim of lease `l` that was not renewed in time. */
const firstExpired = (schema: string): string => `
  (select s.id from unnest(l.schedules) as c(id) join ${schema}.states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1)`;

/** Every claim shares this lock; a change of what is counted takes it alone (`lockOutClaims`). */
const shareClaimLock = (schema: string): string => `pg_advisory_xact_lock_shared(hashtext('${schema}'), 3)`;
export const lockOutClaims = (schema: string): string => `pg_advisory_xact_lock(hashtext('${schema}'), 3)`;

export const createClaimFunctions = (schema: string): string => `
create function ${schema}.claim_due(
  in_node bigint, in_limit integer, in_now timestamptz, in_lease_now timestamptz, in_lease interval,
  in_past_expired boolean, in_poll timestamptz, in_polls_from timestamptz,
  -- The polls of this node that left slots, as it remembers them.
  in_own_polls timestamptz[],
  -- Nothing was claimed, because leases have ended and their claims must be ended first.
  out has_expired boolean,
  out at_ms bigint, out next_ms bigint, out latest_change bigint,
  out ids bigint[], out versions bigint[], out tokens bigint[], out slots bigint[], out states text,
  -- The claimed schedules whose slots an earlier poll saw, and when.
  out seen_ids bigint[], out seen bigint[],
  -- The claimed schedules whose slots came due while their agent was paused, and when that pause ended.
  out held_ids bigint[], out held bigint[],
  -- The schedules whose slots wait for capacity from now on.
  out waiting_ids bigint[], out waiting_seen bigint[], out waiting_slots bigint[], out waiting_states text
) language plpgsql ${ONE_PLAN} as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, ${NOW});
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_until timestamptz := v_lease_now + in_lease;
  v_left integer := in_limit;${RIGHTS_VARIABLES}
  v_tids tid[];
  v_is_limited boolean;
  v_waiting tid[];
  v_agents bigint[];
  v_ids bigint[];
  v_polled_nodes bigint[];
begin
  perform ${schema}.end_pauses(v_now);
  perform ${shareClaimLock(schema)};
  if not in_past_expired and exists (select from ${schema}.leases l where l.until <= v_lease_now) then
    -- Leases whose claims have all been renewed or ended. One statement sees a claim together with its lease.
    delete from ${schema}.leases l where l.id = any(array(
      select d.id from ${schema}.leases d where d.until <= v_lease_now for update skip locked))
      and ${firstExpired(schema)} is null;
    has_expired := exists (select from ${schema}.leases l where l.until <= v_lease_now and ${firstExpired(schema)} is not null);
    if has_expired then return; end if;
  end if;
  if in_polls_from is not null then
    delete from ${schema}.polls p where p.node = in_node and p.at < in_polls_from;
  end if;
  if in_poll is not null then
    insert into ${schema}.polls (node, at) values (in_node, in_poll) on conflict do nothing;
  end if;
  v_polled_nodes := array(select distinct p.node from ${schema}.polls p where p.node <> in_node);
  ${readRights(schema, "in_node")}
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Rows that another transaction claims or changes are skipped. The first round locks no more than it can claim.
    select array_agg(f.tid), coalesce(bool_or(f.agent_id is not null), false) into v_tids, v_is_limited from (
      select q.ctid as tid, q.agent_id from ${schema}.queue q
      where not q.is_waiting and q.due_at <= v_now and ${isClaimable(schema, "v_lease_now")}
      order by q.due_at, q.id limit case when i = 1 then v_left else greatest(v_left, 100) end for update of q skip locked) as f;
    if exists (select from ${schema}.queue q where q.is_waiting) then
      select v_tids || array_agg(w.tid), v_is_limited or count(*) > 0 into v_tids, v_is_limited from (
          ${waitingAgents(schema)}
          select a.id, ${freeOf(schema)} as free from waiting join ${schema}.agents a on a.id = waiting.agent_id
        ) as agent, lateral (
          select q.ctid as tid from ${schema}.queue q
          where q.agent_id = agent.id and q.is_waiting and q.due_at <= v_now and ${isClaimable(schema, "v_lease_now")}
          order by q.due_at, q.id limit least(agent.free, v_left) for update of q skip locked
        ) as w where agent.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_limited then
      -- From here on no other transaction claims for these agents, so that their jobs can be counted.
      if i = 1 then
        perform from ${schema}.agents a where ${IS_LIMITED}
          and a.id in (select q.agent_id from ${schema}.queue q where q.ctid = any(v_tids)) order by a.id for update;
      else
        -- Waiting while agents of an earlier round are locked could be a deadlock: the slots of an agent that another
        -- transaction counts right now are left to it.
        v_agents := array(select a.id from ${schema}.agents a where ${IS_LIMITED}
          and a.id in (select q.agent_id from ${schema}.queue q where q.ctid = any(v_tids)) order by a.id for update skip locked);
        v_tids := array(select q.ctid from ${schema}.queue q where q.ctid = any(v_tids)
          and (q.agent_id is null or q.agent_id = any(v_agents)) order by q.due_at, q.id);
        exit when cardinality(v_tids) = 0;
      end if;
      with candidates as materialized (
        select q.ctid as tid, q.id, q.agent_id, q.due_at, q.is_waiting from ${schema}.queue q where q.ctid = any(v_tids)
      ), room as materialized (
        select a.id, ${freeOf(schema)} as free from ${schema}.agents a where a.id in (select c.agent_id from candidates c)
      ), ranked as (
        select c.*, coalesce(room.free, v_left) as free, row_number() over (partition by c.agent_id order by c.due_at, c.id) as place
        from candidates c left join room on room.id = c.agent_id
      ), ordered as (
        select *, row_number() over (partition by place <= free order by due_at, id) as turn from ranked
      )
      select array_agg(tid) filter (where place <= free and turn <= v_left),
        array_agg(tid) filter (where place > free and not is_waiting and agent_id is not null)
        into v_tids, v_waiting from ordered;
    else
      v_tids := v_tids[:v_left];
    end if;
    with taken as (delete from ${schema}.queue q where q.ctid = any(v_tids) returning q.id, q.agent_id
    ), counted as (
      insert into ${schema}.running (agent_id, id) select t.agent_id, t.id from taken t where t.agent_id is not null
    )
    select array_agg(t.id) into v_ids from taken t;
    perform ${schema}.note_seen(p.node, v_ids) from unnest(v_polled_nodes) as p(node);
    with r as (update ${schema}.states s set ${claimed(schema)} where s.id = any(v_ids) and s.token is null
      returning s.id, s.version, s.token, s.seen_at, s.slot, s.state)
    select ${added("ids", "r.id")}, ${added("versions", "r.version")}, ${added("tokens", "r.token")},
      seen_ids || array_agg(r.id) filter (where r.seen_at is not null),
      seen || array_agg(${msOf("r.seen_at")}) filter (where r.seen_at is not null),
      ${added("slots", msOf("r.slot"))}, ${addedDocuments("states")}
      into ids, versions, tokens, seen_ids, seen, slots, states from r;
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    with waiting as (update ${schema}.queue q set is_waiting = true where q.ctid = any(v_waiting) returning q.id)
    select array_agg(w.id) into v_ids from waiting w;
    perform ${schema}.note_seen(p.node, v_ids) from unnest(v_polled_nodes) as p(node);
    with r as (update ${schema}.states s set seen_at = least(coalesce(s.seen_at, v_now),
        (select min(p.at) from unnest(in_own_polls) as p(at) where p.at >= s.due_at)) where s.id = any(v_ids)
      returning s.id, s.seen_at, s.slot, s.state)
    select ${added("waiting_ids", "r.id")}, ${added("waiting_seen", msOf("r.seen_at"))},
      ${added("waiting_slots", msOf("r.slot"))}, ${addedDocuments("waiting_states")}
      into waiting_ids, waiting_seen, waiting_slots, waiting_states from r;
  end loop;
  if ids is not null then
    insert into ${schema}.leases (until, owner, schedules) values (v_until, in_node, ids);
    if exists (select from ${schema}.agents a where a.resumed_at > v_now - interval '1 day') then
      select array_agg(s.id), array_agg(${msOf("a.resumed_at")}) into held_ids, held
        from ${schema}.states s join ${schema}.agents a on a.id = s.agent_id
        where s.id = any(ids) and a.resumed_at > v_now - interval '1 day' and s.slot < a.resumed_at;
    end if;
  end if;
  at_ms := ${msOf("v_now")};
  -- Below the limit every slot that is due now was claimed, waits for capacity, or is claimed by another node right now.
  next_ms := ${msOf(`${schema}.next_due(in_node, v_now, v_lease_now)`)};
  latest_change := coalesce((select max(c.id) from ${schema}.changes c), 0);
end $$;

-- Claims one schedule on request. Returns why it cannot be claimed, or null.
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
  v_token bigint;
  v_free bigint;
begin
  perform ${shareClaimLock(schema)};
  select n.id into v_id from ${schema}.schedules n where n.agent = in_agent and n.schedule = in_schedule;
  loop
    begin
      select s.version into v_version from ${schema}.states s where s.id = v_id;
      perform ${schema}.lock_places(array[v_id]);
      select s.version, s.agent_id, s.is_disabled, s.is_limited, s.token
        into v_version_then, v_agent, v_is_disabled, v_is_limited, v_token
        from ${schema}.states s where s.id = v_id for update;
      exit when v_version_then is not distinct from v_version;
      raise exception 'the state has changed meanwhile' using errcode = '40001';
    -- Releases the locks, as in lock_places.
    exception when serialization_failure then null;
    end;
  end loop;
  perform from ${schema}.agents a where a.id = v_agent for update;
  select ${freeOf(schema)} into v_free from ${schema}.agents a where a.id = v_agent;
  if v_is_disabled or v_id is null then return 'disabled'; end if;
  if v_token is not null then return 'already_running'; end if;
  if v_free <= 0 then return 'at_capacity'; end if;
  perform ${schema}.leave_queue(array[v_id]);
  if v_is_limited then insert into ${schema}.running (agent_id, id) values (v_agent, v_id); end if;
  update ${schema}.states s set ${claimed(schema)}, slot = v_now, source = 'manual', state = coalesce(s.state, '{}')
    where s.id = v_id;
  insert into ${schema}.leases (until, owner, schedules) values (v_until, in_node, array[v_id]);
  return null;
end $$;

-- Whether a schedule is due on request and no live node runs it at its times. A node without a sign of life for a whole
-- lease counts as dead, as its claims do. A function with a low cost, because it is rarely called: otherwise the planner
-- would think its callers expensive.
create function ${schema}.is_left_to_manual(
  in_id bigint, in_lease_now timestamptz
) returns boolean language plpgsql stable cost 1 ${ONE_PLAN} as $$
begin
  return (select s.source is not null from ${schema}.states s where s.id = in_id) and not exists (
    select from ${schema}.nodes n where n.seen_at > in_lease_now - n.lease
      and case when in_id < 8 * length(n.schedules)::bigint then get_bit(n.schedules, in_id) = 1 else false end);
end $$;

-- When the node can claim a slot next, of the slots that come due after in_after; null for never.
create function ${schema}.next_due(
  in_node bigint, in_after timestamptz, in_lease_now timestamptz
) returns timestamptz language plpgsql stable ${ONE_PLAN} as $$
declare ${RIGHTS_VARIABLES}
  v_due timestamptz;
begin
  ${readRights(schema, "in_node")}
  select least(
    (select q.due_at from ${schema}.queue q
      where not q.is_waiting and q.due_at > coalesce(in_after, '-infinity') and ${isClaimable(schema, "in_lease_now")}
      order by q.due_at, q.id limit 1),
    (${waitingAgents(schema)}
      select min(q.due_at) from waiting join ${schema}.agents a on a.id = waiting.agent_id
        join ${schema}.queue q on q.agent_id = a.id and q.is_waiting
      where ${freeOf(schema)} > 0 and q.due_at > coalesce(in_after, '-infinity') and ${isClaimable(schema, "in_lease_now")}),
    (select min(a.held_until) from ${schema}.agents a where a.held_until < 'infinity')) into v_due;
  return v_due;
end $$;
`;

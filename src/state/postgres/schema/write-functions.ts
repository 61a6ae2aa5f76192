/**
 * Database functions that change states: all rows of a call are written or none, each only if it has the version that was
 * read. They keep or end claims and never make one.
 */
import { IS_LIMITED, lockOutClaims, ONE_PLAN } from "./claim-functions.js";

/** The versions of `in_ids`. */
const versionsOf = (schema: string): string => `
  array(select s.version from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id order by u.id)`;

/** Merges the lists in the order of their ids, however long they are, and so locks the rows in that order. */
const IN_ORDER = "set enable_nestloop = off set enable_hashjoin = off";

export const createWriteFunctions = (schema: string): string => `
-- Defaults may be left out: a slot that is the due time, and false. A due time or a state that all rows share is given once.
create function ${schema}.write_states(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text,
  -- The schedules that were not claimed.
  in_unclaimed bigint[], in_receipt text
) returns boolean language plpgsql ${ONE_PLAN} as $$
declare
  v_written integer;
  v_is_limited boolean;
  -- No document has a line break in it.
  v_states text[] := string_to_array(in_states, E'\n');
  -- The schedules that have their place in the queue already, or need none.
  v_placed bigint[] := '{}';
begin
  if cardinality(in_dues) = 1 then in_dues := array_fill(in_dues[1], array[cardinality(in_ids)]); end if;
  if cardinality(v_states) = 1 then v_states := array_fill(v_states[1], array[cardinality(in_ids)]); end if;
  if cardinality(in_unclaimed) > 0 then
    perform ${schema}.lock_places(in_unclaimed);
    v_placed := array(select s.id from unnest(in_ids, in_dues) as w(id, due)
      join unnest(in_unclaimed) as u(id) on u.id = w.id join ${schema}.states s on s.id = w.id
      where s.due_at is not distinct from to_timestamp(w.due / 1000));
    perform ${schema}.leave_queue(array(select u.id from unnest(in_unclaimed) as u(id)
      where not exists (select from unnest(v_placed) as p(id) where p.id = u.id)));
  end if;
  select r.written, r.is_limited into v_written, v_is_limited from ${schema}.write_rows(
    in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, v_states, v_placed) as r;
  if v_written < cardinality(in_ids) then
    raise exception 'a state has changed since it was read' using errcode = '40001';
  end if;
  if v_is_limited then
    delete from ${schema}.running r using unnest(in_ids) as w(id) join ${schema}.states s on s.id = w.id
    where s.token is null and r.agent_id = s.agent_id and r.id = s.id;
  end if;
  insert into ${schema}.receipts (id) values (in_receipt);
  return true;
-- A result instead of an error: an error would cost the connection with its prepared statements.
exception when serialization_failure then return false;
end $$;

-- The statement of write_states that writes rows and their places in the queue.
create function ${schema}.write_rows(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text[],
  -- The schedules whose places in the queue stay as they are.
  in_placed bigint[],
  out written integer, out is_limited boolean
) language plpgsql ${ONE_PLAN} ${IN_ORDER} as $$
#variable_conflict use_column
begin
  with made as (
    update ${schema}.states s set
      version = s.version + 1, state = w.state, is_disabled = coalesce(w.is_disabled, false),
      due_at = to_timestamp(w.due / 1000), seen_at = case when w.keeps_seen then s.seen_at end,
      slot = case when w.keeps_claim then s.slot else to_timestamp(coalesce(w.slot, w.due) / 1000) end,
      source = w.source, token = case when w.keeps_claim then s.token end,
      claimed_at = case when w.keeps_claim then s.claimed_at end, owner = case when w.keeps_claim then s.owner end,
      lease_until = case when w.keeps_claim then s.lease_until end
    from unnest(in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, in_states)
      as w(id, version, due, slot, source, is_disabled, keeps_claim, keeps_seen, state)
    -- The first condition makes this one scan of the index instead of a scan for each row.
    where s.id = any(in_ids) and s.id = w.id and s.version = w.version
    returning s.id, s.agent_id, s.is_limited, s.is_held, s.due_at, s.token
  ), queued as (
    insert into ${schema}.queue (due_at, id, agent_id) select w.due_at, w.id, case when w.is_limited then w.agent_id end
    from made w where w.token is null and w.due_at is not null and not w.is_held
      and not exists (select from unnest(in_placed) as p(id) where p.id = w.id)
  )
  select count(*), bool_or(w.is_limited) into written, is_limited from made w;
end $$;

-- Locks the places of schedules in the queue, in the order of their ids, after claims of them have ended. Every change of an
-- unclaimed state begins with it, so that a claim never waits for a state, and two changes never wait for each other.
create function ${schema}.lock_places(in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_tids tid[];
  v_versions bigint[];
  v_held bigint;
begin
  -- Not forever: a place that was deleted from outside would never be found.
  for i in 1..100 loop
    begin
      v_versions := ${versionsOf(schema)};
      v_tids := array(
        select q.ctid from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
          join ${schema}.queue q on q.due_at = s.due_at and q.id = s.id where not q.is_waiting
        union all
        select q.ctid from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
          join ${schema}.queue q on q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id where q.is_waiting);
      with held as (select q.id from ${schema}.queue q where q.ctid = any(v_tids) order by q.id for update)
      select count(*) into v_held from held;
      if v_versions = ${versionsOf(schema)} and v_held = (
        select count(*) from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
        where s.token is null and s.due_at is not null and not s.is_held) then return; end if;
      raise exception 'a place has changed meanwhile' using errcode = '40001';
    -- Releases the locks: waiting for a place while holding others could be a deadlock.
    exception when serialization_failure then null;
    end;
  end loop;
end $$;

-- Removes places from the queue that are locked.
create function ${schema}.leave_queue(in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
begin
  delete from ${schema}.queue q using unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
  where not q.is_waiting and q.due_at = s.due_at and q.id = s.id;
  delete from ${schema}.queue q using unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
  where q.is_waiting and q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id;
end $$;

-- Numbers changes in the order of their commits: a node that has read one has read all before it.
create function ${schema}.list_changes(in_agents text[], in_schedules text[], in_keys json) returns void
language plpgsql ${ONE_PLAN} as $$
begin
  perform pg_advisory_xact_lock(hashtext('${schema}'), 2);
  insert into ${schema}.changes (agent, schedule, keys)
  select c.agent, c.schedule, array(select json_array_elements_text(k.keys))
  from unnest(in_agents, in_schedules) with ordinality as c(agent, schedule, place)
  join json_array_elements(in_keys) with ordinality as k(keys, place) using (place) order by place;
  delete from ${schema}.changes where made_at < clock_timestamp() - interval '1 hour';
end $$;

-- Inserts the rows of schedules without one.
create function ${schema}.add_schedules(in_agents text[], in_schedules text[]) returns void language plpgsql ${ONE_PLAN} as $$
begin
  if not exists (select from unnest(in_agents, in_schedules) as d(agent, schedule)
    where not exists (select from ${schema}.schedules n where n.agent = d.agent and n.schedule = d.schedule)) then return; end if;
  perform ${lockOutClaims(schema)};
  -- Only missing rows: a row that conflicts would use up an id.
  insert into ${schema}.agents (name) select distinct d.agent from unnest(in_agents) as d(agent)
  where not exists (select from ${schema}.agents a where a.name = d.agent);
  with added as (
    insert into ${schema}.schedules (agent, schedule)
    select d.agent, d.schedule from unnest(in_agents, in_schedules) with ordinality as d(agent, schedule, place)
    where not exists (select from ${schema}.schedules n where n.agent = d.agent and n.schedule = d.schedule)
    group by d.agent, d.schedule order by min(d.place) returning id, agent
  ), counted as (
    update ${schema}.agents a set size = a.size + c.count
    from (select agent, count(*) as count from added group by agent) as c where a.name = c.agent
  )
  insert into ${schema}.states (id, agent_id, is_limited, is_held)
  select added.id, a.id, false, a.held_until is not null from added join ${schema}.agents a on a.name = added.agent order by added.id;
  perform ${schema}.limit_agents(in_agents);
end $$;

-- Inserts missing agents, sets capacities, and returns the ids of the agents in the same order.
create function ${schema}.define_agents(in_names text[], in_capacities integer[]) returns bigint[] language plpgsql ${ONE_PLAN} as $$
begin
  if exists (select from unnest(in_names, in_capacities) as c(name, capacity)
    left join ${schema}.agents a on a.name = c.name where a.capacity is distinct from c.capacity) then
    perform ${lockOutClaims(schema)};
    insert into ${schema}.agents (name) select c.name from unnest(in_names) as c(name)
    where not exists (select from ${schema}.agents a where a.name = c.name);
    update ${schema}.agents a set capacity = c.capacity from unnest(in_names, in_capacities) as c(name, capacity)
    where a.name = c.name and a.capacity <> c.capacity;
    perform ${schema}.limit_agents(in_names);
  end if;
  return array(select a.id from unnest(in_names) with ordinality as c(name, place)
    join ${schema}.agents a on a.name = c.name order by c.place);
end $$;

-- Starts or stops counting the jobs of agents, after their capacity, size or is_counted has changed. The caller locks out claims.
create function ${schema}.limit_agents(in_names text[]) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_ids bigint[] := array(select s.id from ${schema}.agents a join ${schema}.schedules n on n.agent = a.name
    join ${schema}.states s on s.id = n.id
    where a.name = any(in_names) and s.is_limited <> ${IS_LIMITED} order by s.id);
begin
  if cardinality(v_ids) = 0 then return; end if;
  perform ${schema}.lock_places(v_ids);
  update ${schema}.states s set is_limited = not s.is_limited from unnest(v_ids) as c(id) where s.id = c.id;
  update ${schema}.queue q set agent_id = case when s.is_limited then s.agent_id end, is_waiting = q.is_waiting and s.is_limited
  from unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id where q.due_at = s.due_at and q.id = s.id;
  delete from ${schema}.running r using unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
  where r.agent_id = s.agent_id and r.id = s.id and not s.is_limited;
  insert into ${schema}.running (agent_id, id)
  select s.agent_id, s.id from unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
  where s.is_limited and s.token is not null;
end $$;
`;

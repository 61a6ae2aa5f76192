/**
 * Changing states, in the database: all rows of a call are written or none, each only as long as it has the version
 * that was read. A claim is never made here, only kept or ended.
 */
import { keepOthersFromClaiming, ONE_PLAN } from "./claim-functions.js";

/** Those of `in_ids`. */
const versionsOf = (schema: string): string => `
  array(select s.version from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id order by u.id)`;

/** Lists are matched as they stand, in the order of their ids, however long they are: the rows are locked in that order too. */
const IN_ORDER = "set enable_nestloop = off set enable_hashjoin = off";

export const createWriteFunctions = (schema: string): string => `
-- Whatever is the same as if nothing were said of it may be left out: the slot where it is the due time, and all booleans.
-- Where all have one due time, or one state, that is told once.
create function ${schema}.write_states(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text,
  -- Those of them that nobody had claimed.
  in_unclaimed bigint[], in_receipt text
) returns boolean language plpgsql ${ONE_PLAN} as $$
declare
  v_written integer;
  v_is_limited boolean;
  -- No document has a line break in it.
  v_states text[] := string_to_array(in_states, E'\n');
  -- Who has a place in the queue already, or is to have none.
  v_placed bigint[] := '{}';
begin
  if cardinality(in_dues) = 1 then in_dues := array_fill(in_dues[1], array[cardinality(in_ids)]); end if;
  if cardinality(v_states) = 1 then v_states := array_fill(v_states[1], array[cardinality(in_ids)]); end if;
  if cardinality(in_unclaimed) > 0 then
    perform ${schema}.hold_places(in_unclaimed);
    v_placed := array(select s.id from unnest(in_ids, in_dues) as w(id, due)
      join unnest(in_unclaimed) as u(id) on u.id = w.id join ${schema}.states s on s.id = w.id
      where s.due_at is not distinct from to_timestamp(w.due / 1000));
    perform ${schema}.leave_queue(array(select u.id from unnest(in_unclaimed) as u(id)
      where not exists (select from unnest(v_placed) as p(id) where p.id = u.id)));
  end if;
  select r.written, r.is_limited into v_written, v_is_limited from ${schema}.write_rows(
    in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, v_states, v_placed) as r;
  if v_written < cardinality(in_ids) then
    raise exception 'a state was changed by another' using errcode = '40001';
  end if;
  if v_is_limited then
    delete from ${schema}.running r using unnest(in_ids) as w(id) join ${schema}.states s on s.id = w.id
    where s.token is null and r.agent_id = s.agent_id and r.id = s.id;
  end if;
  insert into ${schema}.receipts (id) values (in_receipt);
  return true;
-- Taken back, and answered: an error would cost the connection with all that is prepared on it.
exception when serialization_failure then return false;
end $$;

-- What write_states writes of rows and their places in the queue, all of it by one statement.
create function ${schema}.write_rows(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text[],
  -- Those whose place in the queue stays as it is.
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
    -- Told twice: so all are found on one way through the index, and not each by a way of its own.
    where s.id = any(in_ids) and s.id = w.id and s.version = w.version
    returning s.id, s.agent_id, s.is_limited, s.due_at, s.token
  ), queued as (
    insert into ${schema}.queue (due_at, id, agent_id) select w.due_at, w.id, case when w.is_limited then w.agent_id end
    from made w where w.token is null and w.due_at is not null
      and not exists (select from unnest(in_placed) as p(id) where p.id = w.id)
  )
  select count(*), bool_or(w.is_limited) into written, is_limited from made w;
end $$;

-- Keeps others from claiming schedules that are in the queue, and waits for who does. Whoever changes states of such begins
-- with it, in one order: then nobody who claims has ever to wait for a state, and no two for each other.
create function ${schema}.hold_places(in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_tids tid[];
  v_versions bigint[];
  v_held bigint;
begin
  -- What somebody has taken out by hand would be looked for forever.
  for i in 1..100 loop
    begin
      v_versions := ${versionsOf(schema)};
      v_tids := array(
        select q.ctid from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
          join ${schema}.queue q on q.due_at = s.due_at and q.id = s.id where not q.is_lined
        union all
        select q.ctid from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
          join ${schema}.queue q on q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id where q.is_lined);
      with held as (select q.id from ${schema}.queue q where q.ctid = any(v_tids) order by q.id for update)
      select count(*) into v_held from held;
      if v_versions = ${versionsOf(schema)} and v_held = (
        select count(*) from unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
        where s.token is null and s.due_at is not null) then return; end if;
      raise exception 'one was moved meanwhile' using errcode = '40001';
    -- Lets go of those that are held: to wait for another while holding them could be to wait for each other.
    exception when serialization_failure then null;
    end;
  end loop;
end $$;

-- Takes schedules out of the queue that are to have another place in it, or none, and are held.
create function ${schema}.leave_queue(in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
begin
  delete from ${schema}.queue q using unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
  where not q.is_lined and q.due_at = s.due_at and q.id = s.id;
  delete from ${schema}.queue q using unnest(in_ids) as u(id) join ${schema}.states s on s.id = u.id
  where q.is_lined and q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id;
end $$;

-- In the order of the commits: whoever has read up to one has read all before it.
create function ${schema}.tell_change(in_agents text[], in_schedules text[], in_keys json) returns void
language plpgsql ${ONE_PLAN} as $$
begin
  perform pg_advisory_xact_lock(hashtext('${schema}'), 2);
  insert into ${schema}.changes (agent, schedule, keys)
  select c.agent, c.schedule, array(select json_array_elements_text(k.keys))
  from unnest(in_agents, in_schedules) with ordinality as c(agent, schedule, place)
  join json_array_elements(in_keys) with ordinality as k(keys, place) using (place) order by place;
  delete from ${schema}.changes where made_at < clock_timestamp() - interval '1 hour';
end $$;

-- Makes the rows of schedules that have none.
create function ${schema}.add_schedules(in_agents text[], in_schedules text[]) returns void language plpgsql ${ONE_PLAN} as $$
begin
  if not exists (select from unnest(in_agents, in_schedules) as d(agent, schedule)
    where not exists (select from ${schema}.schedules n where n.agent = d.agent and n.schedule = d.schedule)) then return; end if;
  perform ${keepOthersFromClaiming(schema)};
  -- Only what is missing: each row that is tried takes a number, also when it is there already.
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
  insert into ${schema}.states (id, agent_id, is_limited)
  select added.id, a.id, false from added join ${schema}.agents a on a.name = added.agent order by added.id;
  perform ${schema}.limit_agents(in_agents);
end $$;

create function ${schema}.set_capacities(in_names text[], in_capacities integer[]) returns void language plpgsql ${ONE_PLAN} as $$
begin
  if not exists (select from unnest(in_names, in_capacities) as c(name, capacity)
    join ${schema}.agents a on a.name = c.name where a.capacity <> c.capacity) then return; end if;
  perform ${keepOthersFromClaiming(schema)};
  update ${schema}.agents a set capacity = c.capacity from unnest(in_names, in_capacities) as c(name, capacity)
  where a.name = c.name and a.capacity <> c.capacity;
  perform ${schema}.limit_agents(in_names);
end $$;

-- To be called by who keeps others from claiming: their claims would not be counted.
create function ${schema}.limit_agents(in_names text[]) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_ids bigint[] := array(select s.id from ${schema}.agents a join ${schema}.schedules n on n.agent = a.name
    join ${schema}.states s on s.id = n.id
    where a.name = any(in_names) and s.is_limited <> (a.size > a.capacity) order by s.id);
begin
  if cardinality(v_ids) = 0 then return; end if;
  perform ${schema}.hold_places(v_ids);
  update ${schema}.states s set is_limited = not s.is_limited from unnest(v_ids) as c(id) where s.id = c.id;
  update ${schema}.queue q set agent_id = case when s.is_limited then s.agent_id end, is_lined = q.is_lined and s.is_limited
  from unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id where q.due_at = s.due_at and q.id = s.id;
  delete from ${schema}.running r using unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
  where r.agent_id = s.agent_id and r.id = s.id and not s.is_limited;
  insert into ${schema}.running (agent_id, id)
  select s.agent_id, s.id from unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
  where s.is_limited and s.token is not null;
end $$;
`;

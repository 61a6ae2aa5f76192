/**
 * Changing states, in the database: all rows of a call are written or none, each only as long as it has the version
 * that was read. A claim is never made here, only kept or ended.
 */
import { keepOthersFromClaiming, ONE_PLAN } from "./claim-functions.js";

export const createWriteFunctions = (schema: string): string => `
create function ${schema}.write_states(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text, in_receipt text
) returns boolean language plpgsql ${ONE_PLAN} as $$
declare
  v_written integer;
begin
  -- No document has a line break in it.
  update ${schema}.states s set
    version = s.version + 1, state = w.state, is_disabled = w.is_disabled, due_at = to_timestamp(w.due / 1000),
    seen_at = case when w.keeps_seen then s.seen_at end, is_lined = s.is_lined and w.keeps_seen,
    slot = case when w.keeps_claim then s.slot else to_timestamp(w.slot / 1000) end,
    source = case when w.keeps_claim then w.source end, token = case when w.keeps_claim then s.token end,
    claimed_at = case when w.keeps_claim then s.claimed_at end, owner = case when w.keeps_claim then s.owner end,
    lease_until = case when w.keeps_claim then s.lease_until end
  from unnest(in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen,
      string_to_array(in_states, E'\n')::json[])
    as w(id, version, due, slot, source, is_disabled, keeps_claim, keeps_seen, state)
  where s.id = w.id and s.version = w.version;
  get diagnostics v_written = row_count;
  if v_written < cardinality(in_ids) then
    raise exception 'a state was changed by another' using errcode = '40001';
  end if;
  insert into ${schema}.receipts (id) values (in_receipt);
  return true;
-- Taken back, and answered: an error would cost the connection with all that is prepared on it.
exception when serialization_failure then return false;
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
create function ${schema}.limit_agents(in_names text[]) returns void language sql as $$
  update ${schema}.states s set is_limited = a.size > a.capacity
  from ${schema}.agents a join ${schema}.schedules n on n.agent = a.name
  where a.name = any(in_names) and s.id = n.id and s.is_limited <> (a.size > a.capacity)
$$;
`;

/**
 * Changing states, in the database: all rows of a call are written or none, each only as long as it has the version
 * that was read. A claim is never made here, only kept or ended.
 */
export const createWriteFunctions = (schema: string): string => `
create function ${schema}.write_states(
  in_ids bigint[], in_versions bigint[], in_statuses text[], in_next_runs double precision[], in_sources text[],
  in_pauses double precision[], in_keeps_claim boolean[], in_rests json[]
) returns void language plpgsql as $$
declare
  v_written integer;
begin
  update ${schema}.schedules s set
    status = w.status, version = s.version + 1, next_run_at = to_timestamp(w.next_run / 1000), next_run_source = w.source,
    paused_until = to_timestamp(w.pause / 1000), rest = w.rest,
    seen_at = case when s.next_run_at is not distinct from to_timestamp(w.next_run / 1000) then s.seen_at end,
    token = case when w.keeps_claim then s.token end, job_id = case when w.keeps_claim then s.job_id end,
    slot = case when w.keeps_claim then s.slot end, source = case when w.keeps_claim then s.source end,
    claimed_at = case when w.keeps_claim then s.claimed_at end, owner = case when w.keeps_claim then s.owner end,
    lease_until = case when w.keeps_claim then s.lease_until end
  from unnest(in_ids, in_versions, in_statuses, in_next_runs, in_sources, in_pauses, in_keeps_claim, in_rests)
    as w(id, version, status, next_run, source, pause, keeps_claim, rest)
  where s.id = w.id and s.version = w.version;
  get diagnostics v_written = row_count;
  if v_written < cardinality(in_ids) then
    raise exception 'a state was changed by another' using errcode = '40001';
  end if;
end $$;

create function ${schema}.add_states(
  in_agents text[], in_schedules text[], in_statuses text[], in_next_runs double precision[], in_sources text[],
  in_pauses double precision[], in_rests json[]
) returns void language sql as $$
  insert into ${schema}.schedules as s (agent, schedule, status, next_run_at, next_run_source, paused_until, rest)
  select w.agent, w.schedule, w.status, to_timestamp(w.next_run / 1000), w.source, to_timestamp(w.pause / 1000), w.rest
  from unnest(in_agents, in_schedules, in_statuses, in_next_runs, in_sources, in_pauses, in_rests)
    as w(agent, schedule, status, next_run, source, pause, rest)
$$;

-- In the order of the commits: whoever has read up to one has read all before it.
create function ${schema}.tell_change(in_agents text[], in_schedules text[], in_keys json) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('${schema}'), 2);
  insert into ${schema}.changes (agent, schedule, keys)
  select c.agent, c.schedule, array(select json_array_elements_text(k.keys))
  from unnest(in_agents, in_schedules) with ordinality as c(agent, schedule, place)
  join json_array_elements(in_keys) with ordinality as k(keys, place) using (place) order by place;
  delete from ${schema}.changes where made_at < clock_timestamp() - interval '1 hour';
end $$;

create function ${schema}.add_schedules(in_agents text[], in_schedules text[]) returns void language sql as $$
  insert into ${schema}.schedules (agent, schedule)
  select * from unnest(in_agents, in_schedules) as d(agent, schedule)
  where not exists (select from ${schema}.schedules s where s.agent = d.agent and s.schedule = d.schedule)
  order by 1, 2 on conflict do nothing
$$;

create function ${schema}.set_capacities(in_names text[], in_capacities integer[]) returns void language plpgsql as $$
begin
  perform from ${schema}.agents a join unnest(in_names, in_capacities) as c(name, capacity) on a.name = c.name
    where a.capacity <> c.capacity order by a.name for update of a;
  update ${schema}.agents a set capacity = c.capacity from unnest(in_names, in_capacities) as c(name, capacity)
  where a.name = c.name and a.capacity <> c.capacity;
end $$;

create function ${schema}.set_definitions(in_node bigint, in_agents text[], in_schedules text[]) returns void
language sql as $$
  delete from ${schema}.definitions where node = in_node;
  insert into ${schema}.definitions (node, schedule_id)
  select in_node, s.id from unnest(in_agents, in_schedules) as d(agent, schedule)
  join ${schema}.schedules s on s.agent = d.agent and s.schedule = d.schedule on conflict do nothing
$$;
`;

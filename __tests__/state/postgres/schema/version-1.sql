-- A database as version 1 of the schema left it, with data in every table. The name "rota_1" stands for the schema.
-- Written by the program of that version; never changed.

create schema "rota_1";

create table "rota_1".migrations (number integer primary key, made_at timestamptz not null default now());

create table "rota_1".nodes (
  id bigint generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  lease interval not null,
  schedules bytea not null default '',
  by_hand bytea not null default ''
);

create table "rota_1".agents (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  capacity integer not null default 1,
  size integer not null default 0
) with (fillfactor = 70);

create table "rota_1".schedules (
  id bigint generated always as identity primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  unique (agent, schedule)
);

create table "rota_1".states (
  id bigint primary key references "rota_1".schedules on delete cascade,
  agent_id bigint not null,
  is_limited boolean not null,
  is_disabled boolean not null default false,
  version bigint not null default 0,
  due_at timestamptz,
  slot timestamptz,
  seen_at timestamptz,
  token bigint,
  source text,
  claimed_at timestamptz,
  owner bigint,
  lease_until timestamptz,
  state text check (strpos(state, '') = 0)
) with (fillfactor = 16);

create table "rota_1".queue (
  due_at timestamptz not null,
  id bigint not null,
  agent_id bigint,
  is_lined boolean not null default false
);
create index queue_due on "rota_1".queue (due_at, id) where not is_lined;
create index queue_lines on "rota_1".queue (agent_id, due_at, id) where is_lined;

create table "rota_1".running (
  agent_id bigint not null,
  id bigint not null,
  primary key (agent_id, id)
);

create table "rota_1".leases (
  id bigint generated always as identity primary key,
  until timestamptz not null,
  owner bigint not null,
  schedules bigint[] not null
);
create index leases_until on "rota_1".leases (until);
alter table "rota_1".leases alter column schedules set storage external;

create table "rota_1".looks (
  node bigint not null,
  at timestamptz not null,
  primary key (node, at)
);

create table "rota_1".changes (
  id bigint generated always as identity primary key,
  made_at timestamptz not null default clock_timestamp(),
  agent text not null,
  schedule text not null,
  keys text[] not null
);

create table "rota_1".receipts (
  id text collate "C" primary key,
  made_at timestamptz not null default clock_timestamp()
);
create index receipts_oldest on "rota_1".receipts (made_at);

create sequence "rota_1".job_number cache 1000;

create table "rota_1".jobs (
  id text collate "C" primary key,
  number bigint generated always as identity,
  agent text collate "C" not null,
  schedule text collate "C",
  status text not null,
  node bigint,
  started_at timestamptz not null,
  is_presumed boolean not null default false,
  trigger text not null,
  slot timestamptz,
  source text,
  attempt bigint not null,
  finished_at timestamptz,
  duration_ms double precision,
  start text,
  "end" text
) with (fillfactor = 70);
create index jobs_newest on "rota_1".jobs (started_at, number, agent, schedule);
create index jobs_by_status on "rota_1".jobs (status, started_at, number) where status <> 'completed';

create table "rota_1".job_outputs (
  job_id text collate "C" primary key,
  opened_at timestamptz not null default clock_timestamp()
);
create index job_outputs_oldest on "rota_1".job_outputs (opened_at);
create table "rota_1".job_output_blocks (
  job_id text collate "C" not null references "rota_1".job_outputs on delete cascade,
  block integer not null,
  bytes bytea not null,
  primary key (job_id, block)
);

create function "rota_1".claim_due(
  in_node bigint, in_limit integer, in_now timestamptz, in_lease_now timestamptz, in_lease interval,
  in_past_expired boolean, in_look timestamptz, in_looks_from timestamptz,
  in_own_looks timestamptz[],
  out has_expired boolean,
  out at_ms bigint, out next_ms bigint, out has_lines boolean, out latest_change bigint,
  out ids bigint[], out versions bigint[], out tokens bigint[], out slots bigint[], out states text,
  out seen_ids bigint[], out seen bigint[],
  out lined_ids bigint[], out lined_seen bigint[], out lined_slots bigint[], out lined_states text
) language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(in_now, date_trunc('milliseconds', clock_timestamp()));
  v_lease_now timestamptz := coalesce(in_lease_now, clock_timestamp());
  v_until timestamptz := v_lease_now + in_lease;
  v_left integer := in_limit;
  v_mine bytea;
  v_size bigint;
  v_by_hand bytea;
  v_by_hand_size bigint;
  v_tids tid[];
  v_is_limited boolean;
  v_waiting tid[];
  v_ids bigint[];
  v_others bigint[];
begin
  perform pg_advisory_xact_lock_shared(hashtext('"rota_1"'), 3);
  if not in_past_expired and exists (select from "rota_1".leases l where l.until <= v_lease_now) then
    delete from "rota_1".leases l where l.id = any(array(
      select d.id from "rota_1".leases d where d.until <= v_lease_now for update skip locked))
      and
  (select s.id from unnest(l.schedules) as c(id) join "rota_1".states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1) is null;
    has_expired := exists (select from "rota_1".leases l where l.until <= v_lease_now and
  (select s.id from unnest(l.schedules) as c(id) join "rota_1".states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1) is not null);
    if has_expired then return; end if;
  end if;
  if in_looks_from is not null then
    delete from "rota_1".looks k where k.node = in_node and k.at < in_looks_from;
  end if;
  if in_look is not null then
    insert into "rota_1".looks (node, at) values (in_node, in_look) on conflict do nothing;
  end if;
  v_others := array(select distinct k.node from "rota_1".looks k where k.node <> in_node);

  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint, n.by_hand || ''::bytea, 8 * length(n.by_hand)::bigint
    into v_mine, v_size, v_by_hand, v_by_hand_size
    from "rota_1".nodes n where n.id = in_node;
  for i in 1..100 loop
    exit when v_left <= 0;
    select array_agg(f.tid), coalesce(bool_or(f.agent_id is not null), false) into v_tids, v_is_limited from (
      select q.ctid as tid, q.agent_id from "rota_1".queue q
      where not q.is_lined and q.due_at <= v_now and
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_by_hand_size then false when get_bit(v_by_hand, q.id) = 0 then false
    else "rota_1".is_left_to_hand(q.id) end
      order by q.due_at, q.id limit case when i = 1 then v_left else greatest(v_left, 100) end for update of q skip locked) as f;
    if exists (select from "rota_1".queue q where q.is_lined) then
      select v_tids || array_agg(w.tid), v_is_limited or count(*) > 0 into v_tids, v_is_limited from (

  with recursive lined(agent_id) as (
    (select l.agent_id from "rota_1".queue l where l.is_lined order by l.agent_id limit 1)
    union all
    select (select l.agent_id from "rota_1".queue l
      where l.is_lined and l.agent_id > lined.agent_id order by l.agent_id limit 1)
    from lined where lined.agent_id is not null)
          select a.id,
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_1".running r where r.agent_id = a.id limit a.capacity) as counted) end as free from lined join "rota_1".agents a on a.id = lined.agent_id
        ) as line, lateral (
          select q.ctid as tid from "rota_1".queue q
          where q.agent_id = line.id and q.is_lined and q.due_at <= v_now and
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_by_hand_size then false when get_bit(v_by_hand, q.id) = 0 then false
    else "rota_1".is_left_to_hand(q.id) end
          order by q.due_at, q.id limit least(line.free, v_left) for update of q skip locked
        ) as w where line.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_limited then
      perform from "rota_1".agents a where a.size > a.capacity
        and a.id in (select q.agent_id from "rota_1".queue q where q.ctid = any(v_tids)) order by a.id for update;
      with candidates as materialized (
        select q.ctid as tid, q.id, q.agent_id, q.due_at, q.is_lined from "rota_1".queue q where q.ctid = any(v_tids)
      ), room as materialized (
        select a.id,
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_1".running r where r.agent_id = a.id limit a.capacity) as counted) end as free from "rota_1".agents a where a.id in (select c.agent_id from candidates c)
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
    with taken as (delete from "rota_1".queue q where q.ctid = any(v_tids) returning q.id, q.agent_id
    ), counted as (
      insert into "rota_1".running (agent_id, id) select t.agent_id, t.id from taken t where t.agent_id is not null
    )
    select array_agg(t.id) into v_ids from taken t;
    perform "rota_1".note_seen(other, v_ids) from unnest(v_others) as other;
    with r as (update "rota_1".states s set
    version = s.version + 1, token = nextval('"rota_1".job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until where s.id = any(v_ids) and s.token is null
      returning s.id, s.version, s.token, s.seen_at, s.slot, s.state)
    select ids || array_agg(r.id), versions || array_agg(r.version), tokens || array_agg(r.token),
      seen_ids || array_agg(r.id) filter (where r.seen_at is not null),
      seen || array_agg((date_part('epoch', r.seen_at) * 1000)::bigint) filter (where r.seen_at is not null),
      slots || array_agg((date_part('epoch', r.slot) * 1000)::bigint), nullif(concat_ws('', states, string_agg(coalesce(r.state, '{}'), '')), '')
      into ids, versions, tokens, seen_ids, seen, slots, states from r;
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    with waiting as (update "rota_1".queue q set is_lined = true where q.ctid = any(v_waiting) returning q.id)
    select array_agg(w.id) into v_ids from waiting w;
    perform "rota_1".note_seen(other, v_ids) from unnest(v_others) as other;
    with r as (update "rota_1".states s set seen_at = least(coalesce(s.seen_at, v_now),
        (select min(k.at) from unnest(in_own_looks) as k(at) where k.at >= s.due_at)) where s.id = any(v_ids)
      returning s.id, s.seen_at, s.slot, s.state)
    select lined_ids || array_agg(r.id), lined_seen || array_agg((date_part('epoch', r.seen_at) * 1000)::bigint),
      lined_slots || array_agg((date_part('epoch', r.slot) * 1000)::bigint), nullif(concat_ws('', lined_states, string_agg(coalesce(r.state, '{}'), '')), '')
      into lined_ids, lined_seen, lined_slots, lined_states from r;
  end loop;
  if ids is not null then
    insert into "rota_1".leases (until, owner, schedules) values (v_until, in_node, ids);
  end if;
  at_ms := (date_part('epoch', v_now) * 1000)::bigint;
  next_ms := (date_part('epoch', "rota_1".next_due(in_node, v_now, v_now)) * 1000)::bigint;
  has_lines := exists (select from "rota_1".queue q where q.is_lined);
  latest_change := coalesce((select max(c.id) from "rota_1".changes c), 0);
end $$;

create function "rota_1".claim_one(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval
) returns text language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(in_now, date_trunc('milliseconds', clock_timestamp()));
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
  perform pg_advisory_xact_lock_shared(hashtext('"rota_1"'), 3);
  select n.id into v_id from "rota_1".schedules n where n.agent = in_agent and n.schedule = in_schedule;
  loop
    begin
      select s.version into v_version from "rota_1".states s where s.id = v_id;
      perform "rota_1".hold_places(array[v_id]);
      select s.version, s.agent_id, s.is_disabled, s.is_limited, s.token
        into v_version_then, v_agent, v_is_disabled, v_is_limited, v_held_by
        from "rota_1".states s where s.id = v_id for update;
      exit when v_version_then is not distinct from v_version;
      raise exception 'it was moved meanwhile' using errcode = '40001';
    exception when serialization_failure then null;
    end;
  end loop;
  perform from "rota_1".agents a where a.id = v_agent for update;
  select
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_1".running r where r.agent_id = a.id limit a.capacity) as counted) end into v_free from "rota_1".agents a where a.id = v_agent;
  if v_is_disabled or v_id is null then return 'disabled'; end if;
  if v_held_by is not null then return 'already_running'; end if;
  if v_free <= 0 then return 'at_capacity'; end if;
  perform "rota_1".leave_queue(array[v_id]);
  if v_is_limited then insert into "rota_1".running (agent_id, id) values (v_agent, v_id); end if;
  update "rota_1".states s set
    version = s.version + 1, token = nextval('"rota_1".job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until, slot = v_now, source = 'manual', state = coalesce(s.state, '{}')
    where s.id = v_id;
  insert into "rota_1".leases (until, owner, schedules) values (v_until, in_node, array[v_id]);
  return null;
end $$;

create function "rota_1".is_left_to_hand(in_id bigint) returns boolean language plpgsql stable cost 1
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select s.source is not null from "rota_1".states s where s.id = in_id) and not exists (
    select from "rota_1".nodes n
    where case when in_id < 8 * length(n.schedules)::bigint then get_bit(n.schedules, in_id) = 1 else false end);
end $$;

create function "rota_1".next_due(in_node bigint, in_left timestamptz, in_looked timestamptz) returns timestamptz language plpgsql stable
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_mine bytea;
  v_size bigint;
  v_by_hand bytea;
  v_by_hand_size bigint;
  v_due timestamptz;
begin

  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint, n.by_hand || ''::bytea, 8 * length(n.by_hand)::bigint
    into v_mine, v_size, v_by_hand, v_by_hand_size
    from "rota_1".nodes n where n.id = in_node;
  select least(
    (select q.due_at from "rota_1".queue q
      where not q.is_lined and q.due_at > coalesce(in_left, '-infinity') and
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_by_hand_size then false when get_bit(v_by_hand, q.id) = 0 then false
    else "rota_1".is_left_to_hand(q.id) end
      order by q.due_at, q.id limit 1),
    (
  with recursive lined(agent_id) as (
    (select l.agent_id from "rota_1".queue l where l.is_lined order by l.agent_id limit 1)
    union all
    select (select l.agent_id from "rota_1".queue l
      where l.is_lined and l.agent_id > lined.agent_id order by l.agent_id limit 1)
    from lined where lined.agent_id is not null)
      select min(q.due_at) from lined join "rota_1".agents a on a.id = lined.agent_id
        join "rota_1".queue q on q.agent_id = a.id and q.is_lined
      where
  case when a.size <= a.capacity then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_1".running r where r.agent_id = a.id limit a.capacity) as counted) end > 0 and q.due_at > coalesce(in_looked, '-infinity') and
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_by_hand_size then false when get_bit(v_by_hand, q.id) = 0 then false
    else "rota_1".is_left_to_hand(q.id) end)) into v_due;
  return v_due;
end $$;

create function "rota_1".note_seen(in_node bigint, in_ids bigint[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_mine bytea;
  v_size bigint;
  v_by_hand bytea;
  v_by_hand_size bigint;
begin

  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint, n.by_hand || ''::bytea, 8 * length(n.by_hand)::bigint
    into v_mine, v_size, v_by_hand, v_by_hand_size
    from "rota_1".nodes n where n.id = in_node;
  update "rota_1".states q set seen_at = least(q.seen_at, k.at)
  from unnest(in_ids) as i(id) join "rota_1".states d on d.id = i.id, lateral (
    select k.at from "rota_1".looks k where k.node = in_node and k.at >= d.due_at order by k.at limit 1
  ) as k where q.id = i.id and case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end;
end $$;

create function "rota_1".settle_looks(in_node bigint) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_latest timestamptz := (select max(k.at) from "rota_1".looks k where k.node = in_node);
  v_ids bigint[];
begin
  if v_latest is null then return; end if;
  v_ids := array(select q.id from "rota_1".queue q where not q.is_lined and q.due_at <= v_latest);
  perform "rota_1".hold_places(v_ids);
  perform "rota_1".note_seen(in_node, v_ids);
  delete from "rota_1".looks k where k.node = in_node;
end $$;

create function "rota_1".forget_node(in_node bigint) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform "rota_1".settle_looks(in_node);
  delete from "rota_1".nodes n where n.id = in_node;
end $$;

create function "rota_1".let_node_run(in_node bigint, in_schedules bytea, in_by_hand bytea) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform "rota_1".settle_looks(in_node);
  update "rota_1".nodes n set schedules = in_schedules, by_hand = in_by_hand where n.id = in_node;
end $$;

create function "rota_1".write_states(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text,
  in_unclaimed bigint[], in_receipt text
) returns boolean language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_written integer;
  v_is_limited boolean;
  v_states text[] := string_to_array(in_states, E'
');
  v_placed bigint[] := '{}';
begin
  if cardinality(in_dues) = 1 then in_dues := array_fill(in_dues[1], array[cardinality(in_ids)]); end if;
  if cardinality(v_states) = 1 then v_states := array_fill(v_states[1], array[cardinality(in_ids)]); end if;
  if cardinality(in_unclaimed) > 0 then
    perform "rota_1".hold_places(in_unclaimed);
    v_placed := array(select s.id from unnest(in_ids, in_dues) as w(id, due)
      join unnest(in_unclaimed) as u(id) on u.id = w.id join "rota_1".states s on s.id = w.id
      where s.due_at is not distinct from to_timestamp(w.due / 1000));
    perform "rota_1".leave_queue(array(select u.id from unnest(in_unclaimed) as u(id)
      where not exists (select from unnest(v_placed) as p(id) where p.id = u.id)));
  end if;
  select r.written, r.is_limited into v_written, v_is_limited from "rota_1".write_rows(
    in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, v_states, v_placed) as r;
  if v_written < cardinality(in_ids) then
    raise exception 'a state was changed by another' using errcode = '40001';
  end if;
  if v_is_limited then
    delete from "rota_1".running r using unnest(in_ids) as w(id) join "rota_1".states s on s.id = w.id
    where s.token is null and r.agent_id = s.agent_id and r.id = s.id;
  end if;
  insert into "rota_1".receipts (id) values (in_receipt);
  return true;
exception when serialization_failure then return false;
end $$;

create function "rota_1".write_rows(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text[],
  in_placed bigint[],
  out written integer, out is_limited boolean
) language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_hashjoin = off as $$
#variable_conflict use_column
begin
  with made as (
    update "rota_1".states s set
      version = s.version + 1, state = w.state, is_disabled = coalesce(w.is_disabled, false),
      due_at = to_timestamp(w.due / 1000), seen_at = case when w.keeps_seen then s.seen_at end,
      slot = case when w.keeps_claim then s.slot else to_timestamp(coalesce(w.slot, w.due) / 1000) end,
      source = w.source, token = case when w.keeps_claim then s.token end,
      claimed_at = case when w.keeps_claim then s.claimed_at end, owner = case when w.keeps_claim then s.owner end,
      lease_until = case when w.keeps_claim then s.lease_until end
    from unnest(in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, in_states)
      as w(id, version, due, slot, source, is_disabled, keeps_claim, keeps_seen, state)
    where s.id = any(in_ids) and s.id = w.id and s.version = w.version
    returning s.id, s.agent_id, s.is_limited, s.due_at, s.token
  ), queued as (
    insert into "rota_1".queue (due_at, id, agent_id) select w.due_at, w.id, case when w.is_limited then w.agent_id end
    from made w where w.token is null and w.due_at is not null
      and not exists (select from unnest(in_placed) as p(id) where p.id = w.id)
  )
  select count(*), bool_or(w.is_limited) into written, is_limited from made w;
end $$;

create function "rota_1".hold_places(in_ids bigint[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_tids tid[];
  v_versions bigint[];
  v_held bigint;
begin
  for i in 1..100 loop
    begin
      v_versions :=
  array(select s.version from unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id order by u.id);
      v_tids := array(
        select q.ctid from unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id
          join "rota_1".queue q on q.due_at = s.due_at and q.id = s.id where not q.is_lined
        union all
        select q.ctid from unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id
          join "rota_1".queue q on q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id where q.is_lined);
      with held as (select q.id from "rota_1".queue q where q.ctid = any(v_tids) order by q.id for update)
      select count(*) into v_held from held;
      if v_versions =
  array(select s.version from unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id order by u.id) and v_held = (
        select count(*) from unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id
        where s.token is null and s.due_at is not null) then return; end if;
      raise exception 'one was moved meanwhile' using errcode = '40001';
    exception when serialization_failure then null;
    end;
  end loop;
end $$;

create function "rota_1".leave_queue(in_ids bigint[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from "rota_1".queue q using unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id
  where not q.is_lined and q.due_at = s.due_at and q.id = s.id;
  delete from "rota_1".queue q using unnest(in_ids) as u(id) join "rota_1".states s on s.id = u.id
  where q.is_lined and q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id;
end $$;

create function "rota_1".tell_change(in_agents text[], in_schedules text[], in_keys json) returns void
language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform pg_advisory_xact_lock(hashtext('"rota_1"'), 2);
  insert into "rota_1".changes (agent, schedule, keys)
  select c.agent, c.schedule, array(select json_array_elements_text(k.keys))
  from unnest(in_agents, in_schedules) with ordinality as c(agent, schedule, place)
  join json_array_elements(in_keys) with ordinality as k(keys, place) using (place) order by place;
  delete from "rota_1".changes where made_at < clock_timestamp() - interval '1 hour';
end $$;

create function "rota_1".add_schedules(in_agents text[], in_schedules text[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if not exists (select from unnest(in_agents, in_schedules) as d(agent, schedule)
    where not exists (select from "rota_1".schedules n where n.agent = d.agent and n.schedule = d.schedule)) then return; end if;
  perform pg_advisory_xact_lock(hashtext('"rota_1"'), 3);
  insert into "rota_1".agents (name) select distinct d.agent from unnest(in_agents) as d(agent)
  where not exists (select from "rota_1".agents a where a.name = d.agent);
  with added as (
    insert into "rota_1".schedules (agent, schedule)
    select d.agent, d.schedule from unnest(in_agents, in_schedules) with ordinality as d(agent, schedule, place)
    where not exists (select from "rota_1".schedules n where n.agent = d.agent and n.schedule = d.schedule)
    group by d.agent, d.schedule order by min(d.place) returning id, agent
  ), counted as (
    update "rota_1".agents a set size = a.size + c.count
    from (select agent, count(*) as count from added group by agent) as c where a.name = c.agent
  )
  insert into "rota_1".states (id, agent_id, is_limited)
  select added.id, a.id, false from added join "rota_1".agents a on a.name = added.agent order by added.id;
  perform "rota_1".limit_agents(in_agents);
end $$;

create function "rota_1".set_capacities(in_names text[], in_capacities integer[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if not exists (select from unnest(in_names, in_capacities) as c(name, capacity)
    join "rota_1".agents a on a.name = c.name where a.capacity <> c.capacity) then return; end if;
  perform pg_advisory_xact_lock(hashtext('"rota_1"'), 3);
  update "rota_1".agents a set capacity = c.capacity from unnest(in_names, in_capacities) as c(name, capacity)
  where a.name = c.name and a.capacity <> c.capacity;
  perform "rota_1".limit_agents(in_names);
end $$;

create function "rota_1".limit_agents(in_names text[]) returns void language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids bigint[] := array(select s.id from "rota_1".agents a join "rota_1".schedules n on n.agent = a.name
    join "rota_1".states s on s.id = n.id
    where a.name = any(in_names) and s.is_limited <> (a.size > a.capacity) order by s.id);
begin
  if cardinality(v_ids) = 0 then return; end if;
  perform "rota_1".hold_places(v_ids);
  update "rota_1".states s set is_limited = not s.is_limited from unnest(v_ids) as c(id) where s.id = c.id;
  update "rota_1".queue q set agent_id = case when s.is_limited then s.agent_id end, is_lined = q.is_lined and s.is_limited
  from unnest(v_ids) as c(id) join "rota_1".states s on s.id = c.id where q.due_at = s.due_at and q.id = s.id;
  delete from "rota_1".running r using unnest(v_ids) as c(id) join "rota_1".states s on s.id = c.id
  where r.agent_id = s.agent_id and r.id = s.id and not s.is_limited;
  insert into "rota_1".running (agent_id, id)
  select s.agent_id, s.id from unnest(v_ids) as c(id) join "rota_1".states s on s.id = c.id
  where s.is_limited and s.token is not null;
end $$;

create function "rota_1".insert_jobs(
  in_node bigint, in_ids text, in_agents text, in_schedules text, in_starts text,
  in_statuses text[], in_triggers text[], in_sources text[], in_attempts bigint[], in_started double precision[],
  in_slots double precision[], in_finished double precision[], in_durations double precision[]
) returns text[] language plpgsql
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_made text[];
begin
  insert into "rota_1".jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select j.id, j.agent, j.schedule, case when cardinality(in_statuses) = 1 then in_statuses[1] else j.status end, in_node, to_timestamp(case when cardinality(in_started) = 1 then in_started[1] else j.started end / 1000),
      case when cardinality(in_triggers) = 1 then in_triggers[1] else j.trigger end, to_timestamp(case when cardinality(in_slots) = 1 then in_slots[1] else j.slot end / 1000), case when cardinality(in_sources) = 1 then in_sources[1] else j.source end,
      case when cardinality(in_attempts) = 1 then in_attempts[1] else j.attempt end, to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else j.finished end / 1000),
      case when cardinality(in_durations) = 1 then in_durations[1] else j.duration_ms end, j.start
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_statuses, in_started, in_triggers,
        in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_starts, E'\n', E'\\'))
      as j(id, agent, schedule, status, started, trigger, slot, source, attempt, finished, duration_ms, start);
  return null;
exception when unique_violation then
  with made as (insert into "rota_1".jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select j.id, j.agent, j.schedule, case when cardinality(in_statuses) = 1 then in_statuses[1] else j.status end, in_node, to_timestamp(case when cardinality(in_started) = 1 then in_started[1] else j.started end / 1000),
      case when cardinality(in_triggers) = 1 then in_triggers[1] else j.trigger end, to_timestamp(case when cardinality(in_slots) = 1 then in_slots[1] else j.slot end / 1000), case when cardinality(in_sources) = 1 then in_sources[1] else j.source end,
      case when cardinality(in_attempts) = 1 then in_attempts[1] else j.attempt end, to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else j.finished end / 1000),
      case when cardinality(in_durations) = 1 then in_durations[1] else j.duration_ms end, j.start
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_statuses, in_started, in_triggers,
        in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_starts, E'\n', E'\\'))
      as j(id, agent, schedule, status, started, trigger, slot, source, attempt, finished, duration_ms, start) on conflict do nothing returning id)
  select coalesce(array_agg(m.id), '{}') into v_made from made m;
  return v_made;
end $$;

insert into "rota_1".migrations ("number", "made_at") overriding system value values
  ('1', '2026-03-01 00:00:00+00');

insert into "rota_1".nodes ("id", "name", "host", "pid", "started_at", "seen_at", "lease", "schedules", "by_hand") overriding system value values
  ('2', 'beta', 'host', '1', '2026-03-01 00:00:00+00', '1970-01-01 00:00:00+00', '00:00:30', '\xf801', '\x'),
  ('3', 'gone', 'host', '1', '2026-03-01 00:00:00+00', '1970-01-01 00:00:00+00', '00:00:30', '\x000004', '\x'),
  ('1', 'alpha', 'host', '1', '2026-03-01 00:00:00+00', '1970-01-01 00:00:20+00', '00:00:30', '\xfefe3f', '\x0001');

insert into "rota_1".agents ("id", "name", "capacity", "size") overriding system value values
  ('7', 'team', '1', '3'),
  ('4', 'lost', '1', '1'),
  ('6', 'solo', '2', '2'),
  ('1', 'crew', '5', '3'),
  ('2', 'kinds', '9', '8'),
  ('5', 'od\0d\\na\nme', '9', '1'),
  ('3', 'late', '3', '3');

insert into "rota_1".schedules ("id", "agent", "schedule") overriding system value values
  ('1', 'solo', 'hourly'),
  ('2', 'solo', 'spare'),
  ('3', 'team', 'a'),
  ('4', 'team', 'b'),
  ('5', 'team', 'c'),
  ('6', 'crew', 'left'),
  ('7', 'crew', 'right'),
  ('8', 'crew', 'asked'),
  ('9', 'kinds', 'never'),
  ('10', 'kinds', 'idle'),
  ('11', 'kinds', 'disabled'),
  ('12', 'kinds', 'paused'),
  ('13', 'kinds', 'hinted'),
  ('14', 'kinds', 'failing'),
  ('15', 'kinds', 'missed'),
  ('16', 'kinds', 'requested'),
  ('17', 'od\0d\\na\nme', 's\0x'),
  ('18', 'lost', 'job'),
  ('19', 'late', 'one'),
  ('20', 'late', 'two'),
  ('21', 'late', 'three');

insert into "rota_1".states ("id", "agent_id", "is_limited", "is_disabled", "version", "due_at", "slot", "seen_at", "token", "source", "claimed_at", "owner", "lease_until", "state") overriding system value values
  ('10', '2', 'f', 'f', '1', '2026-03-02 00:00:00+00', '2026-03-02 00:00:00+00', null, null, null, null, null, null, '{"r":1772323200000,"c":1772323200000,"n":1772409600000,"w":"baseline-cron","f":0}'),
  ('11', '2', 'f', 't', '1', null, '2026-03-01 00:00:00+00', null, null, null, null, null, null, '{"n":1772323200000,"w":"baseline-interval","t":"disabled"}'),
  ('7', '1', 'f', 'f', '1', null, '2026-03-01 00:00:20+00', null, '1004', 'manual', '2026-03-01 00:00:20+00', '1', '1970-01-01 00:00:50+00', '{}'),
  ('6', '1', 'f', 'f', '3', '2026-03-01 07:00:00+00', '2026-03-01 07:00:00+00', null, null, null, null, null, null, '{"n":1772348400000,"w":"baseline-interval","r":1772323220000,"c":1772323220000}'),
  ('12', '2', 'f', 'f', '1', '2026-03-01 09:00:00+00', '2026-03-01 00:00:00+00', null, null, null, null, null, null, '{"n":1772323200000,"w":"baseline-interval","paused_until":"2026-03-01T09:00:00.000Z"}'),
  ('13', '2', 'f', 'f', '1', '2026-03-01 08:00:00+00', '2026-03-01 08:00:00+00', null, null, null, null, null, null, '{"n":1772352000000,"w":"baseline-interval","hint":{"interval":"3s","expires_at":"2026-03-01T10:00:00.000Z","reason":"busy \u001e \"quoted\"\n"}}'),
  ('14', '2', 'f', 'f', '1', '2026-03-01 08:00:00+00', '2026-03-01 08:00:00+00', null, null, null, null, null, null, '{"n":1772352000000,"w":"baseline-interval","f":4,"last_error":"boom\u0000\nsecond line","r":1772323200000,"s":null}'),
  ('15', '2', 'f', 'f', '1', '2026-03-01 08:00:00+00', '2026-03-01 08:00:00+00', null, null, null, null, null, null, '{"n":1772352000000,"w":"baseline-interval","missed_count":3,"last_missed_at":"2026-03-01T00:00:00.000Z","interrupted_count":1}'),
  ('16', '2', 'f', 'f', '1', '2026-03-01 08:00:00+00', '2026-03-01 08:00:00+00', null, null, null, null, null, null, '{"n":1772352000000,"w":"baseline-interval","request":{"id":"r1","action":"run","expires_at":"2026-03-01T08:00:00.000Z"}}'),
  ('17', '5', 'f', 'f', '1', '2026-03-01 08:00:00+00', '2026-03-01 08:00:00+00', null, null, null, null, null, null, '{"n":1772352000000,"w":"baseline-interval"}'),
  ('18', '4', 'f', 'f', '2', '2026-03-01 00:00:00+00', '2026-03-01 00:00:00+00', null, '1', null, '2026-03-01 00:00:00+00', '3', '1970-01-01 00:00:30+00', '{"n":1772323200000,"w":"baseline-interval"}'),
  ('1', '6', 'f', 'f', '2', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, '1001', null, '2026-03-01 00:00:20+00', '1', '1970-01-01 00:00:50+00', '{"n":1772323220000,"w":"baseline-interval"}'),
  ('3', '7', 't', 'f', '2', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, '1002', null, '2026-03-01 00:00:20+00', '1', '1970-01-01 00:00:50+00', '{"n":1772323220000,"w":"baseline-interval"}'),
  ('2', '6', 'f', 'f', '0', null, null, null, null, null, null, null, null, null),
  ('4', '7', 't', 'f', '1', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, null, null, null, null, '{"n":1772323220000,"w":"baseline-interval"}'),
  ('8', '1', 'f', 'f', '0', null, null, null, null, null, null, null, null, null),
  ('9', '2', 'f', 'f', '0', null, null, null, null, null, null, null, null, null),
  ('5', '7', 't', 'f', '1', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, null, null, null, null, '{"n":1772323220000,"w":"baseline-interval"}'),
  ('21', '3', 'f', 'f', '1', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, null, null, null, null, null, '{"n":1772323220000,"w":"baseline-interval"}'),
  ('19', '3', 'f', 'f', '2', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, '2001', null, '2026-03-01 00:00:20+00', '1', '1970-01-01 00:00:50+00', '{"n":1772323220000,"w":"baseline-interval"}'),
  ('20', '3', 'f', 'f', '2', '2026-03-01 00:00:20+00', '2026-03-01 00:00:20+00', null, '2002', null, '2026-03-01 00:00:21+00', '1', '1970-01-01 00:00:51+00', '{"n":1772323220000,"w":"baseline-interval"}');

insert into "rota_1".queue ("due_at", "id", "agent_id", "is_lined") overriding system value values
  ('2026-03-02 00:00:00+00', '10', null, 'f'),
  ('2026-03-01 09:00:00+00', '12', null, 'f'),
  ('2026-03-01 08:00:00+00', '13', null, 'f'),
  ('2026-03-01 08:00:00+00', '14', null, 'f'),
  ('2026-03-01 08:00:00+00', '15', null, 'f'),
  ('2026-03-01 08:00:00+00', '16', null, 'f'),
  ('2026-03-01 08:00:00+00', '17', null, 'f'),
  ('2026-03-01 00:00:20+00', '4', '7', 't'),
  ('2026-03-01 00:00:20+00', '5', '7', 't'),
  ('2026-03-01 07:00:00+00', '6', null, 'f'),
  ('2026-03-01 00:00:20+00', '21', null, 'f');

insert into "rota_1".running ("agent_id", "id") overriding system value values
  ('7', '3');

insert into "rota_1".leases ("id", "until", "owner", "schedules") overriding system value values
  ('1', '1970-01-01 00:00:30+00', '3', '{18}'),
  ('2', '1970-01-01 00:00:50+00', '1', '{1,3,6}'),
  ('3', '1970-01-01 00:00:50+00', '1', '{7}'),
  ('4', '1970-01-01 00:00:50+00', '1', '{19}'),
  ('5', '1970-01-01 00:00:51+00', '1', '{20}');

insert into "rota_1".looks ("node", "at") overriding system value values
  ('1', '2026-03-01 00:00:20+00');

insert into "rota_1".changes ("id", "made_at", "agent", "schedule", "keys") overriding system value values
  ('1', '2026-03-01 00:00:00+00', 'kinds', 'idle', '{last_run_at,last_started_at,last_completed_at,next_run_at,next_run_source,failure_count}'),
  ('2', '2026-03-01 00:00:00+00', 'kinds', 'disabled', '{status,next_run_at,next_run_source}'),
  ('3', '2026-03-01 00:00:00+00', 'kinds', 'paused', '{next_run_at,next_run_source,paused_until}'),
  ('4', '2026-03-01 00:00:00+00', 'kinds', 'hinted', '{next_run_at,next_run_source,hint}'),
  ('5', '2026-03-01 00:00:00+00', 'kinds', 'failing', '{last_run_at,next_run_at,next_run_source,last_error,failure_count}'),
  ('6', '2026-03-01 00:00:00+00', 'kinds', 'missed', '{next_run_at,next_run_source,interrupted_count,missed_count,last_missed_at}'),
  ('7', '2026-03-01 00:00:00+00', 'kinds', 'requested', '{next_run_at,next_run_source,request}'),
  ('8', '2026-03-01 00:00:00+00', 'od\0d\\na\nme', 's\0x', '{next_run_at,next_run_source}'),
  ('9', '2026-03-01 00:00:00+00', 'lost', 'job', '{next_run_at,next_run_source}'),
  ('10', '2026-03-01 00:00:00+00', 'team', 'a', '{next_run_at,next_run_source}'),
  ('11', '2026-03-01 00:00:00+00', 'team', 'b', '{next_run_at,next_run_source}'),
  ('12', '2026-03-01 00:00:00+00', 'team', 'c', '{next_run_at,next_run_source}'),
  ('13', '2026-03-01 00:00:00+00', 'solo', 'hourly', '{next_run_at,next_run_source}'),
  ('14', '2026-03-01 00:00:00+00', 'crew', 'left', '{next_run_at,next_run_source}'),
  ('15', '2026-03-01 00:00:00+00', 'late', 'one', '{next_run_at,next_run_source}'),
  ('16', '2026-03-01 00:00:00+00', 'late', 'two', '{next_run_at,next_run_source}'),
  ('17', '2026-03-01 00:00:00+00', 'late', 'three', '{next_run_at,next_run_source}');

insert into "rota_1".receipts ("id", "made_at") overriding system value values
  ('376fcc503195305e1fe73238', '2026-03-01 00:00:00+00'),
  ('b2924fd75e1d1189edb8d670', '2026-03-01 00:00:00+00'),
  ('485d791f1960f702a3e3fe40', '2026-03-01 00:00:00+00'),
  ('32a9bfff791cf6cfde5097a8', '2026-03-01 00:00:00+00'),
  ('0b78bac7a72e8bfd6452e471', '2026-03-01 00:00:00+00'),
  ('31e0d9006033718f3078b671', '2026-03-01 00:00:00+00'),
  ('fd21bfb534680cfed3252ec3', '2026-03-01 00:00:00+00'),
  ('bdad5ae664501323a54748ec', '2026-03-01 00:00:00+00'),
  ('b658d81a862cd2a11c614257', '2026-03-01 00:00:00+00'),
  ('52f8fdd3da81682c245041e0', '2026-03-01 00:00:00+00'),
  ('dadfa90ae9e87df0964b794b', '2026-03-01 00:00:00+00'),
  ('74ea17f06a4ed81c7aa4cd83', '2026-03-01 00:00:00+00'),
  ('6800a7d8dc9665eff2fa7850', '2026-03-01 00:00:00+00'),
  ('7721135afca38358c9335a5f', '2026-03-01 00:00:00+00'),
  ('73c4f8f7f1aae30e335002c0', '2026-03-01 00:00:00+00'),
  ('ac5e92987a2216c7ed6e531e', '2026-03-01 00:00:00+00'),
  ('85a34f2edd6d354df4225ba6', '2026-03-01 00:00:00+00'),
  ('8fd942a5dcb335c575dc01a0', '2026-03-01 00:00:00+00');

insert into "rota_1".jobs ("id", "number", "agent", "schedule", "status", "node", "started_at", "is_presumed", "trigger", "slot", "source", "attempt", "finished_at", "duration_ms", "start", "end") overriding system value values
  ('job-2026-03-01-000001', '1', 'lost', 'job', 'running', '3', '2026-03-01 00:00:00+00', 'f', 'interval', '2026-03-01 00:00:00+00', 'baseline-interval', '1', null, null, null, null),
  ('job-2026-03-01-0000rv', '2', 'crew', 'left', 'completed', '1', '2026-03-01 00:00:20+00', 'f', 'interval', '2026-03-01 00:00:20+00', 'baseline-interval', '1', '2026-03-01 00:00:20+00', '5', null, null),
  ('job-2026-03-01-0000rt', '3', 'solo', 'hourly', 'running', '1', '2026-03-01 00:00:20+00', 'f', 'interval', '2026-03-01 00:00:20+00', null, '1', null, null, '{"prompt":"do it","work_item":{"id":7}}', null),
  ('job-2026-03-01-0000ru', '4', 'team', 'a', 'running', '1', '2026-03-01 00:00:20+00', 'f', 'interval', '2026-03-01 00:00:20+00', null, '1', null, null, '{"prompt":"do it","work_item":{"id":7}}', null),
  ('job-2026-03-01-zzzzz1', '5', 'crew', null, 'failed', '1', '2026-03-01 00:00:20+00', 'f', 'manual', null, null, '1', '2026-03-01 00:00:20+00', '0', '{"prompt":"p\u0000\n"}', '{"work_item":[1],"error":"e\n\u0000","summary":"s","exit_code":3,"response_body":{"a":null}}'),
  ('job-2026-03-01-zzzzz2', '6', 'crew', null, 'interrupted', '1', '2026-03-01 00:00:20+00', 't', 'manual', null, null, '1', '2026-03-01 00:00:20+00', null, null, '{"error":"the process that ran the job ended"}');

insert into "rota_1".job_outputs ("job_id", "opened_at") overriding system value values
  ('job-2026-03-01-0000rt', '2026-03-01 00:00:00+00');

insert into "rota_1".job_output_blocks ("job_id", "block", "bytes") overriding system value values
  ('job-2026-03-01-0000rt', '0', convert_to(repeat('x', 8192), 'UTF8')),
  ('job-2026-03-01-0000rt', '1', convert_to(repeat('x', 808), 'UTF8') || '\x74686520656e640a');

select setval(pg_get_serial_sequence('"rota_1".nodes', 'id'), (select max(id) from "rota_1".nodes));

select setval(pg_get_serial_sequence('"rota_1".agents', 'id'), (select max(id) from "rota_1".agents));

select setval(pg_get_serial_sequence('"rota_1".schedules', 'id'), (select max(id) from "rota_1".schedules));

select setval(pg_get_serial_sequence('"rota_1".leases', 'id'), (select max(id) from "rota_1".leases));

select setval(pg_get_serial_sequence('"rota_1".changes', 'id'), (select max(id) from "rota_1".changes));

select setval(pg_get_serial_sequence('"rota_1".jobs', 'number'), (select max(number) from "rota_1".jobs));

select setval('"rota_1".job_number', 100000);

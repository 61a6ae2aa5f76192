-- A database as version 4 of the schema left it, with data in every table. The name "rota_4" stands for the schema.
-- Written by the program of that version; never changed.

create schema "rota_4";
create table "rota_4".migrations (number integer primary key, made_at timestamptz not null default now());

create table "rota_4".nodes (
  id bigint generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- How long its claims last. It shows a sign of life several times in a lease.
  lease interval not null,
  -- The schedules that it runs at their times: one bit for each id.
  schedules bytea not null default '',
  -- The schedules that it runs on request only.
  by_hand bytea not null default ''
);

create table "rota_4".agents (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  capacity integer not null default 1,
  -- The number of its schedules. Up to the capacity they cannot exceed it, and its jobs are not counted.
  size integer not null default 0
) with (fillfactor = 70);

-- Only names: no change of a state touches the index of these texts.
create table "rota_4".schedules (
  id bigint generated always as identity primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  unique (agent, schedule)
);

-- No index has a column that changes, so that claims and their ends update no index. This holds for rows that stay on their
-- page: a row is inserted empty, and its page has room for the state, a claim and its end.
create table "rota_4".states (
  id bigint primary key references "rota_4".schedules on delete cascade,
  agent_id bigint not null,
  -- Whether the jobs of its agent are counted.
  is_limited boolean not null,
  is_disabled boolean not null default false,
  -- Every write adds one, and is refused when the version is not the one that was read.
  version bigint not null default 0,
  -- When it can be claimed; null for never. An unclaimed schedule has a place in the queue at this time.
  due_at timestamptz,
  -- The slot that runs next, or that is running.
  slot timestamptz,
  -- When a poll first saw the slot due.
  seen_at timestamptz,
  -- The number of the running job, which is the token of its claim.
  token bigint,
  -- Why it runs, where the state no longer says so; of an unclaimed schedule, only for requests and catch-ups.
  source text,
  claimed_at timestamptz,
  owner bigint,
  lease_until timestamptz,
  -- Null for a schedule that is only defined. Several are sent as one text, separated by this character.
  state text check (strpos(state, '') = 0)
) with (fillfactor = 16);

-- The places of unclaimed schedules that will be due. A place is changed before its state.
create table "rota_4".queue (
  due_at timestamptz not null,
  id bigint not null,
  -- Its agent, where the agent's jobs are counted.
  agent_id bigint,
  -- Whether it came due and waits for the capacity of its agent.
  is_lined boolean not null default false
);
create index queue_due on "rota_4".queue (due_at, id) where not is_lined;
create index queue_lines on "rota_4".queue (agent_id, due_at, id) where is_lined;

-- The running jobs of the agents whose jobs are counted.
create table "rota_4".running (
  agent_id bigint not null,
  id bigint not null,
  primary key (agent_id, id)
);

-- When to check that claims were renewed. Every claim is in a row that ends no earlier than its own lease.
create table "rota_4".leases (
  id bigint generated always as identity primary key,
  until timestamptz not null,
  owner bigint not null,
  schedules bigint[] not null
);
create index leases_until on "rota_4".leases (until);
-- Not compressed: compression would take as long as the rest of a claim.
alter table "rota_4".leases alter column schedules set storage external;

-- When nodes polled and left due slots: every slot of the node that was due by then was seen then.
create table "rota_4".looks (
  node bigint not null,
  at timestamptz not null,
  primary key (node, at)
);

-- Changes from outside the nodes, which plan by them.
create table "rota_4".changes (
  id bigint generated always as identity primary key,
  made_at timestamptz not null default clock_timestamp(),
  agent text not null,
  schedule text not null,
  keys text[] not null
);

-- The writes that were carried out, for a node that lost a reply.
create table "rota_4".receipts (
  id text collate "C" primary key,
  made_at timestamptz not null default clock_timestamp()
);
create index receipts_oldest on "rota_4".receipts (made_at);

-- Every connection reserves a thousand numbers.
create sequence "rota_4".job_number cache 1000;

create table "rota_4".jobs (
  id text collate "C" primary key,
  -- The order of the records of jobs that start at the same time.
  number bigint generated always as identity,
  agent text collate "C" not null,
  schedule text collate "C",
  status text not null,
  -- The node that opened it; null for a store that was not open.
  node bigint,
  started_at timestamptz not null,
  -- Whether another node closed it because its node seemed to be gone.
  is_presumed boolean not null default false,
  trigger text not null,
  -- The due time that it runs for, and why it was planned for that time.
  slot timestamptz,
  source text,
  attempt bigint not null,
  finished_at timestamptz,
  -- How long it ran; null while it runs, and for an end that was not observed.
  duration_ms double precision,
  -- The rest of the record. "start" has all of it for a record that was written at the job's end.
  start text,
  "end" text
) with (fillfactor = 70);
-- Finds the newest of one agent or schedule too, from the index alone. An index for each of these would cost every job more
-- than the rest of its record.
create index jobs_newest on "rota_4".jobs (started_at, number, agent, schedule);
-- Most jobs are completed, so that the index above finds the newest of them.
create index jobs_by_status on "rota_4".jobs (status, started_at, number) where status <> 'completed';

create table "rota_4".job_outputs (
  job_id text collate "C" primary key,
  opened_at timestamptz not null default clock_timestamp()
);
create index job_outputs_oldest on "rota_4".job_outputs (opened_at);
create table "rota_4".job_output_blocks (
  job_id text collate "C" not null references "rota_4".job_outputs on delete cascade,
  block integer not null,
  bytes bytea not null,
  primary key (job_id, block)
);

-- Whether its jobs are counted although its schedules cannot exceed its capacity.
alter table "rota_4".agents add column is_counted boolean not null default false;
-- The ids of the agents whose steps a node may claim, and of the agents that it wants counted.
alter table "rota_4".nodes add column agents bigint[] not null default '{}', add column counted_agents bigint[] not null default '{}';
alter table "rota_4".nodes rename column by_hand to manual_schedules;
alter table "rota_4".queue rename column is_lined to is_waiting;
alter index "rota_4".queue_lines rename to queue_waiting;
alter table "rota_4".looks rename to polls;
alter index "rota_4".looks_pkey rename to polls_pkey;

select setval('"rota_4".job_number', greatest(last_value, 2176782336)) from "rota_4".job_number;

create table "rota_4".requests (
  id text collate "C" primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  action text not null,
  -- The job to cancel.
  job_id text collate "C",
  -- Names an order: the same key returns the same job.
  key text collate "C",
  -- The rest of the request as JSON.
  content text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Whether the node that made it carries it out itself.
  is_taken boolean not null default false,
  -- Why nothing was done; before the answer: why a node left the request to its peers.
  refusal text,
  answered_at timestamptz,
  -- The job that was started: the token of its claim, and when it was claimed.
  token bigint,
  claimed_at timestamptz
);
create index requests_open on "rota_4".requests (created_at) where answered_at is null;
create index requests_oldest on "rota_4".requests (created_at);
create index requests_jobs on "rota_4".requests (token) where token is not null;
create index requests_keys on "rota_4".requests (agent, schedule, key, created_at) where key is not null and token is not null;

create function "rota_4".claim_due(
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
  -- The schedules whose slots wait for capacity from now on.
  out waiting_ids bigint[], out waiting_seen bigint[], out waiting_slots bigint[], out waiting_states text
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
  v_manual bytea;
  v_manual_size bigint;
  v_tids tid[];
  v_is_limited boolean;
  v_waiting tid[];
  v_ids bigint[];
  v_polled_nodes bigint[];
begin
  perform pg_advisory_xact_lock_shared(hashtext('"rota_4"'), 3);
  if not in_past_expired and exists (select from "rota_4".leases l where l.until <= v_lease_now) then
    -- Leases whose claims have all been renewed or ended. One statement sees a claim together with its lease.
    delete from "rota_4".leases l where l.id = any(array(
      select d.id from "rota_4".leases d where d.until <= v_lease_now for update skip locked))
      and 
  (select s.id from unnest(l.schedules) as c(id) join "rota_4".states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1) is null;
    has_expired := exists (select from "rota_4".leases l where l.until <= v_lease_now and 
  (select s.id from unnest(l.schedules) as c(id) join "rota_4".states s on s.id = c.id
    where s.lease_until <= v_lease_now limit 1) is not null);
    if has_expired then return; end if;
  end if;
  if in_polls_from is not null then
    delete from "rota_4".polls p where p.node = in_node and p.at < in_polls_from;
  end if;
  if in_poll is not null then
    insert into "rota_4".polls (node, at) values (in_node, in_poll) on conflict do nothing;
  end if;
  v_polled_nodes := array(select distinct p.node from "rota_4".polls p where p.node <> in_node);
  
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint,
      n.manual_schedules || ''::bytea, 8 * length(n.manual_schedules)::bigint
    into v_mine, v_size, v_manual, v_manual_size
    from "rota_4".nodes n where n.id = in_node;
  for i in 1..100 loop
    exit when v_left <= 0;
    -- Rows that another transaction claims or changes are skipped. The first round locks no more than it can claim.
    select array_agg(f.tid), coalesce(bool_or(f.agent_id is not null), false) into v_tids, v_is_limited from (
      select q.ctid as tid, q.agent_id from "rota_4".queue q
      where not q.is_waiting and q.due_at <= v_now and 
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_manual_size then false when get_bit(v_manual, q.id) = 0 then false
    else "rota_4".is_left_to_manual(q.id, v_lease_now) end
      order by q.due_at, q.id limit case when i = 1 then v_left else greatest(v_left, 100) end for update of q skip locked) as f;
    if exists (select from "rota_4".queue q where q.is_waiting) then
      select v_tids || array_agg(w.tid), v_is_limited or count(*) > 0 into v_tids, v_is_limited from (
          
  with recursive waiting(agent_id) as (
    (select w.agent_id from "rota_4".queue w where w.is_waiting order by w.agent_id limit 1)
    union all
    select (select w.agent_id from "rota_4".queue w
      where w.is_waiting and w.agent_id > waiting.agent_id order by w.agent_id limit 1)
    from waiting where waiting.agent_id is not null)
          select a.id, 
  case when not (a.is_counted or a.size > a.capacity) then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_4".running r where r.agent_id = a.id limit a.capacity) as counted) end as free from waiting join "rota_4".agents a on a.id = waiting.agent_id
        ) as agent, lateral (
          select q.ctid as tid from "rota_4".queue q
          where q.agent_id = agent.id and q.is_waiting and q.due_at <= v_now and 
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_manual_size then false when get_bit(v_manual, q.id) = 0 then false
    else "rota_4".is_left_to_manual(q.id, v_lease_now) end
          order by q.due_at, q.id limit least(agent.free, v_left) for update of q skip locked
        ) as w where agent.free > 0;
    end if;
    exit when v_tids is null;
    v_waiting := null;
    if v_is_limited then
      -- From here on no other transaction claims for these agents, so that their jobs can be counted.
      perform from "rota_4".agents a where (a.is_counted or a.size > a.capacity)
        and a.id in (select q.agent_id from "rota_4".queue q where q.ctid = any(v_tids)) order by a.id for update;
      with candidates as materialized (
        select q.ctid as tid, q.id, q.agent_id, q.due_at, q.is_waiting from "rota_4".queue q where q.ctid = any(v_tids)
      ), room as materialized (
        select a.id, 
  case when not (a.is_counted or a.size > a.capacity) then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_4".running r where r.agent_id = a.id limit a.capacity) as counted) end as free from "rota_4".agents a where a.id in (select c.agent_id from candidates c)
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
    with taken as (delete from "rota_4".queue q where q.ctid = any(v_tids) returning q.id, q.agent_id
    ), counted as (
      insert into "rota_4".running (agent_id, id) select t.agent_id, t.id from taken t where t.agent_id is not null
    )
    select array_agg(t.id) into v_ids from taken t;
    perform "rota_4".note_seen(p.node, v_ids) from unnest(v_polled_nodes) as p(node);
    with r as (update "rota_4".states s set 
    version = s.version + 1, token = nextval('"rota_4".job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until where s.id = any(v_ids) and s.token is null
      returning s.id, s.version, s.token, s.seen_at, s.slot, s.state)
    select ids || array_agg(r.id), versions || array_agg(r.version), tokens || array_agg(r.token),
      seen_ids || array_agg(r.id) filter (where r.seen_at is not null),
      seen || array_agg((date_part('epoch', r.seen_at) * 1000)::bigint) filter (where r.seen_at is not null),
      slots || array_agg((date_part('epoch', r.slot) * 1000)::bigint), nullif(concat_ws('', states, string_agg(coalesce(r.state, '{}'), '')), '')
      into ids, versions, tokens, seen_ids, seen, slots, states from r;
    v_left := v_left - coalesce(cardinality(v_tids), 0);
    exit when v_waiting is null;
    with waiting as (update "rota_4".queue q set is_waiting = true where q.ctid = any(v_waiting) returning q.id)
    select array_agg(w.id) into v_ids from waiting w;
    perform "rota_4".note_seen(p.node, v_ids) from unnest(v_polled_nodes) as p(node);
    with r as (update "rota_4".states s set seen_at = least(coalesce(s.seen_at, v_now),
        (select min(p.at) from unnest(in_own_polls) as p(at) where p.at >= s.due_at)) where s.id = any(v_ids)
      returning s.id, s.seen_at, s.slot, s.state)
    select waiting_ids || array_agg(r.id), waiting_seen || array_agg((date_part('epoch', r.seen_at) * 1000)::bigint),
      waiting_slots || array_agg((date_part('epoch', r.slot) * 1000)::bigint), nullif(concat_ws('', waiting_states, string_agg(coalesce(r.state, '{}'), '')), '')
      into waiting_ids, waiting_seen, waiting_slots, waiting_states from r;
  end loop;
  if ids is not null then
    insert into "rota_4".leases (until, owner, schedules) values (v_until, in_node, ids);
  end if;
  at_ms := (date_part('epoch', v_now) * 1000)::bigint;
  -- Below the limit every slot that is due now was claimed, waits for capacity, or is claimed by another node right now.
  next_ms := (date_part('epoch', "rota_4".next_due(in_node, v_now, v_lease_now)) * 1000)::bigint;
  latest_change := coalesce((select max(c.id) from "rota_4".changes c), 0);
end $$;

-- Claims one schedule on request. Returns why it cannot be claimed, or null.
create function "rota_4".claim_one(
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
  v_token bigint;
  v_free bigint;
begin
  perform pg_advisory_xact_lock_shared(hashtext('"rota_4"'), 3);
  select n.id into v_id from "rota_4".schedules n where n.agent = in_agent and n.schedule = in_schedule;
  loop
    begin
      select s.version into v_version from "rota_4".states s where s.id = v_id;
      perform "rota_4".lock_places(array[v_id]);
      select s.version, s.agent_id, s.is_disabled, s.is_limited, s.token
        into v_version_then, v_agent, v_is_disabled, v_is_limited, v_token
        from "rota_4".states s where s.id = v_id for update;
      exit when v_version_then is not distinct from v_version;
      raise exception 'the state has changed meanwhile' using errcode = '40001';
    -- Releases the locks, as in lock_places.
    exception when serialization_failure then null;
    end;
  end loop;
  perform from "rota_4".agents a where a.id = v_agent for update;
  select 
  case when not (a.is_counted or a.size > a.capacity) then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_4".running r where r.agent_id = a.id limit a.capacity) as counted) end into v_free from "rota_4".agents a where a.id = v_agent;
  if v_is_disabled or v_id is null then return 'disabled'; end if;
  if v_token is not null then return 'already_running'; end if;
  if v_free <= 0 then return 'at_capacity'; end if;
  perform "rota_4".leave_queue(array[v_id]);
  if v_is_limited then insert into "rota_4".running (agent_id, id) values (v_agent, v_id); end if;
  update "rota_4".states s set 
    version = s.version + 1, token = nextval('"rota_4".job_number'), claimed_at = v_now, owner = in_node,
    lease_until = v_until, slot = v_now, source = 'manual', state = coalesce(s.state, '{}')
    where s.id = v_id;
  insert into "rota_4".leases (until, owner, schedules) values (v_until, in_node, array[v_id]);
  return null;
end $$;

-- Whether a schedule is due on request and no live node runs it at its times. A node without a sign of life for a whole
-- lease counts as dead, as its claims do. A function with a low cost, because it is rarely called: otherwise the planner
-- would think its callers expensive.
create function "rota_4".is_left_to_manual(
  in_id bigint, in_lease_now timestamptz
) returns boolean language plpgsql stable cost 1 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select s.source is not null from "rota_4".states s where s.id = in_id) and not exists (
    select from "rota_4".nodes n where n.seen_at > in_lease_now - n.lease
      and case when in_id < 8 * length(n.schedules)::bigint then get_bit(n.schedules, in_id) = 1 else false end);
end $$;

-- When the node can claim a slot next, of the slots that come due after in_after; null for never.
create function "rota_4".next_due(
  in_node bigint, in_after timestamptz, in_lease_now timestamptz
) returns timestamptz language plpgsql stable 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare 
  v_mine bytea;
  v_size bigint;
  v_manual bytea;
  v_manual_size bigint;
  v_due timestamptz;
begin
  
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint,
      n.manual_schedules || ''::bytea, 8 * length(n.manual_schedules)::bigint
    into v_mine, v_size, v_manual, v_manual_size
    from "rota_4".nodes n where n.id = in_node;
  select least(
    (select q.due_at from "rota_4".queue q
      where not q.is_waiting and q.due_at > coalesce(in_after, '-infinity') and 
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_manual_size then false when get_bit(v_manual, q.id) = 0 then false
    else "rota_4".is_left_to_manual(q.id, in_lease_now) end
      order by q.due_at, q.id limit 1),
    (
  with recursive waiting(agent_id) as (
    (select w.agent_id from "rota_4".queue w where w.is_waiting order by w.agent_id limit 1)
    union all
    select (select w.agent_id from "rota_4".queue w
      where w.is_waiting and w.agent_id > waiting.agent_id order by w.agent_id limit 1)
    from waiting where waiting.agent_id is not null)
      select min(q.due_at) from waiting join "rota_4".agents a on a.id = waiting.agent_id
        join "rota_4".queue q on q.agent_id = a.id and q.is_waiting
      where 
  case when not (a.is_counted or a.size > a.capacity) then 2147483647 else a.capacity - (
    select count(*) from (select from "rota_4".running r where r.agent_id = a.id limit a.capacity) as counted) end > 0 and q.due_at > coalesce(in_after, '-infinity') and 
  case when case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end then true when q.id >= v_manual_size then false when get_bit(v_manual, q.id) = 0 then false
    else "rota_4".is_left_to_manual(q.id, in_lease_now) end)) into v_due;
  return v_due;
end $$;

-- Marks the schedules whose slots a poll of the node saw, unless an earlier poll did.
create function "rota_4".note_seen(in_node bigint, in_ids bigint[]) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare 
  v_mine bytea;
  v_size bigint;
  v_manual bytea;
  v_manual_size bigint;
begin
  
  select n.schedules || ''::bytea, 8 * length(n.schedules)::bigint,
      n.manual_schedules || ''::bytea, 8 * length(n.manual_schedules)::bigint
    into v_mine, v_size, v_manual, v_manual_size
    from "rota_4".nodes n where n.id = in_node;
  update "rota_4".states q set seen_at = least(q.seen_at, p.at)
  from unnest(in_ids) as i(id) join "rota_4".states d on d.id = i.id, lateral (
    select p.at from "rota_4".polls p where p.node = in_node and p.at >= d.due_at order by p.at limit 1
  ) as p where q.id = i.id and case when q.id < v_size then get_bit(v_mine, q.id) = 1 else false end;
end $$;

-- Replaces the polls of a node by marks on the slots that they saw.
create function "rota_4".settle_polls(in_node bigint) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_latest timestamptz := (select max(p.at) from "rota_4".polls p where p.node = in_node);
  v_ids bigint[];
begin
  if v_latest is null then return; end if;
  v_ids := array(select q.id from "rota_4".queue q where not q.is_waiting and q.due_at <= v_latest);
  perform "rota_4".lock_places(v_ids);
  perform "rota_4".note_seen(in_node, v_ids);
  delete from "rota_4".polls p where p.node = in_node;
end $$;

create function "rota_4".remove_node(in_node bigint) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_counts boolean := exists (select from "rota_4".nodes n where n.id = in_node and cardinality(n.counted_agents) > 0);
begin
  if v_counts then perform pg_advisory_xact_lock(hashtext('"rota_4"'), 3); end if;
  perform "rota_4".settle_polls(in_node);
  delete from "rota_4".nodes n where n.id = in_node;
  if v_counts then perform "rota_4".count_agents(); end if;
end $$;

-- Sets what a node may run, schedules as one bit for each id, and which agents it wants counted.
create function "rota_4".set_rights(
  in_node bigint, in_schedules bytea, in_manual_schedules bytea, in_agents bigint[], in_counted_agents bigint[]
) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_counts boolean := exists (select from "rota_4".nodes n where n.id = in_node and n.counted_agents <> in_counted_agents);
begin
  -- First of all locks: a claim that shares it may wait for places in the queue.
  if v_counts then perform pg_advisory_xact_lock(hashtext('"rota_4"'), 3); end if;
  perform "rota_4".settle_polls(in_node);
  update "rota_4".nodes n set schedules = in_schedules, manual_schedules = in_manual_schedules, agents = in_agents,
    counted_agents = in_counted_agents where n.id = in_node;
  if v_counts then perform "rota_4".count_agents(); end if;
end $$;

-- An agent is counted while a registered node wants it. The caller locks out claims.
create function "rota_4".count_agents() returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_names text[];
begin
  with wanted as (
    select a.id, exists (select from "rota_4".nodes n where a.id = any(n.counted_agents)) as is_counted from "rota_4".agents a
  ), changed as (
    update "rota_4".agents a set is_counted = w.is_counted from wanted w
    where a.id = w.id and a.is_counted <> w.is_counted returning a.name
  )
  select array_agg(c.name) into v_names from changed c;
  if v_names is not null then perform "rota_4".limit_agents(v_names); end if;
end $$;

-- Defaults may be left out: a slot that is the due time, and false. A due time or a state that all rows share is given once.
create function "rota_4".write_states(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text,
  -- The schedules that were not claimed.
  in_unclaimed bigint[], in_receipt text
) returns boolean language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_written integer;
  v_is_limited boolean;
  -- No document has a line break in it.
  v_states text[] := string_to_array(in_states, E'
');
  -- The schedules that have their place in the queue already, or need none.
  v_placed bigint[] := '{}';
begin
  if cardinality(in_dues) = 1 then in_dues := array_fill(in_dues[1], array[cardinality(in_ids)]); end if;
  if cardinality(v_states) = 1 then v_states := array_fill(v_states[1], array[cardinality(in_ids)]); end if;
  if cardinality(in_unclaimed) > 0 then
    perform "rota_4".lock_places(in_unclaimed);
    v_placed := array(select s.id from unnest(in_ids, in_dues) as w(id, due)
      join unnest(in_unclaimed) as u(id) on u.id = w.id join "rota_4".states s on s.id = w.id
      where s.due_at is not distinct from to_timestamp(w.due / 1000));
    perform "rota_4".leave_queue(array(select u.id from unnest(in_unclaimed) as u(id)
      where not exists (select from unnest(v_placed) as p(id) where p.id = u.id)));
  end if;
  select r.written, r.is_limited into v_written, v_is_limited from "rota_4".write_rows(
    in_ids, in_versions, in_dues, in_slots, in_sources, in_disabled, in_keeps_claim, in_keeps_seen, v_states, v_placed) as r;
  if v_written < cardinality(in_ids) then
    raise exception 'a state has changed since it was read' using errcode = '40001';
  end if;
  if v_is_limited then
    delete from "rota_4".running r using unnest(in_ids) as w(id) join "rota_4".states s on s.id = w.id
    where s.token is null and r.agent_id = s.agent_id and r.id = s.id;
  end if;
  insert into "rota_4".receipts (id) values (in_receipt);
  return true;
-- A result instead of an error: an error would cost the connection with its prepared statements.
exception when serialization_failure then return false;
end $$;

-- The statement of write_states that writes rows and their places in the queue.
create function "rota_4".write_rows(
  in_ids bigint[], in_versions bigint[], in_dues double precision[], in_slots double precision[], in_sources text[],
  in_disabled boolean[], in_keeps_claim boolean[], in_keeps_seen boolean[], in_states text[],
  -- The schedules whose places in the queue stay as they are.
  in_placed bigint[],
  out written integer, out is_limited boolean
) language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_hashjoin = off as $$
#variable_conflict use_column
begin
  with made as (
    update "rota_4".states s set
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
    returning s.id, s.agent_id, s.is_limited, s.due_at, s.token
  ), queued as (
    insert into "rota_4".queue (due_at, id, agent_id) select w.due_at, w.id, case when w.is_limited then w.agent_id end
    from made w where w.token is null and w.due_at is not null
      and not exists (select from unnest(in_placed) as p(id) where p.id = w.id)
  )
  select count(*), bool_or(w.is_limited) into written, is_limited from made w;
end $$;

-- Locks the places of schedules in the queue, in the order of their ids, after claims of them have ended. Every change of an
-- unclaimed state begins with it, so that a claim never waits for a state, and two changes never wait for each other.
create function "rota_4".lock_places(in_ids bigint[]) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_tids tid[];
  v_versions bigint[];
  v_held bigint;
begin
  -- Not forever: a place that was deleted from outside would never be found.
  for i in 1..100 loop
    begin
      v_versions := 
  array(select s.version from unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id order by u.id);
      v_tids := array(
        select q.ctid from unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id
          join "rota_4".queue q on q.due_at = s.due_at and q.id = s.id where not q.is_waiting
        union all
        select q.ctid from unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id
          join "rota_4".queue q on q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id where q.is_waiting);
      with held as (select q.id from "rota_4".queue q where q.ctid = any(v_tids) order by q.id for update)
      select count(*) into v_held from held;
      if v_versions = 
  array(select s.version from unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id order by u.id) and v_held = (
        select count(*) from unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id
        where s.token is null and s.due_at is not null) then return; end if;
      raise exception 'a place has changed meanwhile' using errcode = '40001';
    -- Releases the locks: waiting for a place while holding others could be a deadlock.
    exception when serialization_failure then null;
    end;
  end loop;
end $$;

-- Removes places from the queue that are locked.
create function "rota_4".leave_queue(in_ids bigint[]) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from "rota_4".queue q using unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id
  where not q.is_waiting and q.due_at = s.due_at and q.id = s.id;
  delete from "rota_4".queue q using unnest(in_ids) as u(id) join "rota_4".states s on s.id = u.id
  where q.is_waiting and q.agent_id = s.agent_id and q.due_at = s.due_at and q.id = s.id;
end $$;

-- Numbers changes in the order of their commits: a node that has read one has read all before it.
create function "rota_4".list_changes(in_agents text[], in_schedules text[], in_keys json) returns void
language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform pg_advisory_xact_lock(hashtext('"rota_4"'), 2);
  insert into "rota_4".changes (agent, schedule, keys)
  select c.agent, c.schedule, array(select json_array_elements_text(k.keys))
  from unnest(in_agents, in_schedules) with ordinality as c(agent, schedule, place)
  join json_array_elements(in_keys) with ordinality as k(keys, place) using (place) order by place;
  delete from "rota_4".changes where made_at < clock_timestamp() - interval '1 hour';
end $$;

-- Inserts the rows of schedules without one.
create function "rota_4".add_schedules(in_agents text[], in_schedules text[]) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if not exists (select from unnest(in_agents, in_schedules) as d(agent, schedule)
    where not exists (select from "rota_4".schedules n where n.agent = d.agent and n.schedule = d.schedule)) then return; end if;
  perform pg_advisory_xact_lock(hashtext('"rota_4"'), 3);
  -- Only missing rows: a row that conflicts would use up an id.
  insert into "rota_4".agents (name) select distinct d.agent from unnest(in_agents) as d(agent)
  where not exists (select from "rota_4".agents a where a.name = d.agent);
  with added as (
    insert into "rota_4".schedules (agent, schedule)
    select d.agent, d.schedule from unnest(in_agents, in_schedules) with ordinality as d(agent, schedule, place)
    where not exists (select from "rota_4".schedules n where n.agent = d.agent and n.schedule = d.schedule)
    group by d.agent, d.schedule order by min(d.place) returning id, agent
  ), counted as (
    update "rota_4".agents a set size = a.size + c.count
    from (select agent, count(*) as count from added group by agent) as c where a.name = c.agent
  )
  insert into "rota_4".states (id, agent_id, is_limited)
  select added.id, a.id, false from added join "rota_4".agents a on a.name = added.agent order by added.id;
  perform "rota_4".limit_agents(in_agents);
end $$;

-- Inserts missing agents, sets capacities, and returns the ids of the agents in the same order.
create function "rota_4".define_agents(in_names text[], in_capacities integer[]) returns bigint[] language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if exists (select from unnest(in_names, in_capacities) as c(name, capacity)
    left join "rota_4".agents a on a.name = c.name where a.capacity is distinct from c.capacity) then
    perform pg_advisory_xact_lock(hashtext('"rota_4"'), 3);
    insert into "rota_4".agents (name) select c.name from unnest(in_names) as c(name)
    where not exists (select from "rota_4".agents a where a.name = c.name);
    update "rota_4".agents a set capacity = c.capacity from unnest(in_names, in_capacities) as c(name, capacity)
    where a.name = c.name and a.capacity <> c.capacity;
    perform "rota_4".limit_agents(in_names);
  end if;
  return array(select a.id from unnest(in_names) with ordinality as c(name, place)
    join "rota_4".agents a on a.name = c.name order by c.place);
end $$;

-- Starts or stops counting the jobs of agents, after their capacity, size or is_counted has changed. The caller locks out claims.
create function "rota_4".limit_agents(in_names text[]) returns void language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids bigint[] := array(select s.id from "rota_4".agents a join "rota_4".schedules n on n.agent = a.name
    join "rota_4".states s on s.id = n.id
    where a.name = any(in_names) and s.is_limited <> (a.is_counted or a.size > a.capacity) order by s.id);
begin
  if cardinality(v_ids) = 0 then return; end if;
  perform "rota_4".lock_places(v_ids);
  update "rota_4".states s set is_limited = not s.is_limited from unnest(v_ids) as c(id) where s.id = c.id;
  update "rota_4".queue q set agent_id = case when s.is_limited then s.agent_id end, is_waiting = q.is_waiting and s.is_limited
  from unnest(v_ids) as c(id) join "rota_4".states s on s.id = c.id where q.due_at = s.due_at and q.id = s.id;
  delete from "rota_4".running r using unnest(v_ids) as c(id) join "rota_4".states s on s.id = c.id
  where r.agent_id = s.agent_id and r.id = s.id and not s.is_limited;
  insert into "rota_4".running (agent_id, id)
  select s.agent_id, s.id from unnest(v_ids) as c(id) join "rota_4".states s on s.id = c.id
  where s.is_limited and s.token is not null;
end $$;

-- Returns the ids that belong to other jobs, or null when there are none. A record that is final already stays as it is.
create function "rota_4".record_jobs(
  in_node bigint, in_ids text, in_agents text, in_schedules text, in_details text,
  -- One value each, where all jobs have the same.
  in_opened boolean[], in_statuses text[], in_triggers text[], in_sources text[], in_attempts bigint[],
  in_started double precision[], in_slots double precision[], in_finished double precision[], in_durations double precision[]
) returns text[] language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_closed bigint;
  v_inserted text[];
begin
  begin
    if true = any(in_opened) then
      update "rota_4".jobs j set status = case when cardinality(in_statuses) = 1 then in_statuses[1] else g.status end,
      finished_at = to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end / 1000), duration_ms = case when cardinality(in_durations) = 1 then in_durations[1] else g.duration_ms end,
      start = g.details, "end" = null, is_presumed = false
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) where j.id = g.id and j.agent = g.agent and j.schedule is not distinct from g.schedule and (j.status = 'running' or j.is_presumed)
      and case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end is not null and case when cardinality(in_opened) = 1 then in_opened[1] else g.is_opened end;
      get diagnostics v_closed = row_count;
      if v_closed < (select count(*) from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) where case when cardinality(in_opened) = 1 then in_opened[1] else g.is_opened end) then
        raise exception 'a record was not open' using errcode = '23505';
      end if;
    end if;
    if false = any(in_opened) then
      insert into "rota_4".jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select g.id, g.agent, g.schedule, case when cardinality(in_statuses) = 1 then in_statuses[1] else g.status end, in_node, to_timestamp(case when cardinality(in_started) = 1 then in_started[1] else g.started end / 1000),
      case when cardinality(in_triggers) = 1 then in_triggers[1] else g.trigger end, to_timestamp(case when cardinality(in_slots) = 1 then in_slots[1] else g.slot end / 1000), case when cardinality(in_sources) = 1 then in_sources[1] else g.source end,
      case when cardinality(in_attempts) = 1 then in_attempts[1] else g.attempt end, to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end / 1000),
      case when cardinality(in_durations) = 1 then in_durations[1] else g.duration_ms end, g.details
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) where not case when cardinality(in_opened) = 1 then in_opened[1] else g.is_opened end;
    end if;
    return null;
  -- Rare. An insert that is prepared for conflicts takes half as long again for every row.
  exception when unique_violation then null;
  end;
  update "rota_4".jobs j set status = case when cardinality(in_statuses) = 1 then in_statuses[1] else g.status end,
      finished_at = to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end / 1000), duration_ms = case when cardinality(in_durations) = 1 then in_durations[1] else g.duration_ms end,
      start = g.details, "end" = null, is_presumed = false
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) where j.id = g.id and j.agent = g.agent and j.schedule is not distinct from g.schedule and (j.status = 'running' or j.is_presumed)
      and case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end is not null;
  with inserted as (insert into "rota_4".jobs
      (id, agent, schedule, status, node, started_at, trigger, slot, source, attempt, finished_at, duration_ms, start)
    select g.id, g.agent, g.schedule, case when cardinality(in_statuses) = 1 then in_statuses[1] else g.status end, in_node, to_timestamp(case when cardinality(in_started) = 1 then in_started[1] else g.started end / 1000),
      case when cardinality(in_triggers) = 1 then in_triggers[1] else g.trigger end, to_timestamp(case when cardinality(in_slots) = 1 then in_slots[1] else g.slot end / 1000), case when cardinality(in_sources) = 1 then in_sources[1] else g.source end,
      case when cardinality(in_attempts) = 1 then in_attempts[1] else g.attempt end, to_timestamp(case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end / 1000),
      case when cardinality(in_durations) = 1 then in_durations[1] else g.duration_ms end, g.details
    from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) on conflict do nothing returning id)
  select coalesce(array_agg(i.id), '{}') into v_inserted from inserted i;
  return nullif(array(select g.id from unnest(string_to_array(in_ids, E'\n', E'\\'), string_to_array(in_agents, E'\n', E'\\'), string_to_array(in_schedules, E'\n', E'\\'), in_opened, in_statuses,
        in_started, in_triggers, in_slots, in_sources, in_attempts, in_finished, in_durations, string_to_array(in_details, E'\n', E'\\'))
      as g(id, agent, schedule, is_opened, status, started, trigger, slot, source, attempt, finished, duration_ms, details) where g.id <> all(v_inserted) and not exists (
    select from "rota_4".jobs j where j.id = g.id and j.agent = g.agent and j.schedule is not distinct from g.schedule and j.status <> 'running' and not j.is_presumed
      and case when cardinality(in_finished) = 1 then in_finished[1] else g.finished end is not null)), '{}');
end $$;

create function "rota_4".post_request(
  in_id text, in_agent text, in_schedule text, in_action text, in_job_id text, in_key text, in_content text,
  in_now timestamptz, in_ttl interval, in_is_taken boolean,
  out created_ms bigint, out expires_ms bigint
) language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(in_now, date_trunc('milliseconds', clock_timestamp()));
begin
  -- Answers and keys are kept for a day, prompts and data for a week: their jobs may have to run again.
  delete from "rota_4".requests r where r.created_at < v_now - interval '1 day' and (r.content = '{}' or r.token is null);
  delete from "rota_4".requests r where r.created_at < v_now - interval '7 days';
  insert into "rota_4".requests (id, agent, schedule, action, job_id, key, content, created_at, expires_at, is_taken)
  values (in_id, in_agent, in_schedule, in_action, in_job_id, in_key, in_content, v_now, v_now + in_ttl, in_is_taken);
  created_ms := (date_part('epoch', v_now) * 1000)::bigint;
  expires_ms := (date_part('epoch', v_now + in_ttl) * 1000)::bigint;
  if in_is_taken then return; end if;
  perform "rota_4".list_changes(array[in_agent], array[in_schedule], '[["request"]]');
  perform pg_notify('rota_4', '');
end $$;

-- Claims a schedule for a request. Returns why it cannot be claimed, null when it was claimed, and 'answered' when the
-- request is gone, has an answer, or has the key of an earlier one.
create function "rota_4".claim_request(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval, in_request text
) returns text language plpgsql 
  set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(in_now, clock_timestamp());
  v_key text;
  v_refusal text;
begin
  select r.key into v_key from "rota_4".requests r
    where r.id = in_request and r.answered_at is null and (r.is_taken or r.expires_at > v_now) for update skip locked;
  if not found then return 'answered'; end if;
  if v_key is not null then
    -- Two requests with one key wait for each other.
    perform pg_advisory_xact_lock(hashtext('"rota_4"'), hashtext(in_agent || '/' || in_schedule || '/' || v_key));
    if exists (select from "rota_4".requests r where r.agent = in_agent and r.schedule = in_schedule and r.key = v_key
        and r.token is not null and r.created_at > v_now - interval '1 day') then return 'answered'; end if;
  end if;
  v_refusal := "rota_4".claim_one(in_node, in_agent, in_schedule, in_now, in_lease_now, in_lease);
  if v_refusal is not null then return v_refusal; end if;
  update "rota_4".requests r set answered_at = v_now, refusal = null, token = s.token, claimed_at = s.claimed_at
    from "rota_4".schedules n join "rota_4".states s on s.id = n.id
    where r.id = in_request and n.agent = in_agent and n.schedule = in_schedule;
  perform pg_notify('rota_4', 'answered');
  return null;
end $$;

insert into "rota_4".migrations ("number", "made_at") overriding system value values
  ('1', '2026-11-18 20:34:53.39813+00'),
  ('2', '2026-11-18 20:34:53.39813+00'),
  ('3', '2026-11-18 20:34:53.39813+00'),
  ('4', '2026-11-18 20:34:53.39813+00');

insert into "rota_4".nodes ("id", "name", "host", "pid", "started_at", "seen_at", "lease", "schedules", "manual_schedules", "agents", "counted_agents") overriding system value values
  ('1', 'first', 'a', '1', '2026-11-18 20:34:53.486498+00', '1970-01-01 00:00:10+00', '00:00:30', '\xfe7f', '\x', '{1,2,3,4,5}', '{1}');

insert into "rota_4".agents ("id", "name", "capacity", "size", "is_counted") overriding system value values
  ('1', 'crew', '5', '2', 'true'),
  ('2', 'kinds', '9', '6', 'false'),
  ('3', 'lost', '1', '1', 'false'),
  ('4', 'solo', '2', '2', 'false'),
  ('5', 'team', '1', '3', 'false');

insert into "rota_4".schedules ("id", "agent", "schedule") overriding system value values
  ('1', 'solo', 'hourly'),
  ('10', 'kinds', 'disabled'),
  ('11', 'kinds', 'paused'),
  ('12', 'kinds', 'failing'),
  ('13', 'kinds', 'retried'),
  ('14', 'kinds', 'backfill'),
  ('2', 'solo', 'spare'),
  ('3', 'team', 'a'),
  ('4', 'team', 'b'),
  ('5', 'team', 'c'),
  ('6', 'crew', 'left'),
  ('7', 'crew', 'right'),
  ('8', 'lost', 'job'),
  ('9', 'kinds', 'idle');

insert into "rota_4".states ("id", "agent_id", "is_limited", "is_disabled", "version", "due_at", "slot", "seen_at", "token", "source", "claimed_at", "owner", "lease_until", "state") overriding system value values
  ('1', '4', 'false', 'false', '3', '2026-03-01 01:00:10+00', '2026-03-01 01:00:10+00', null, null, null, null, null, null, '{"n":1772326810000,"w":"baseline-interval"}'),
  ('10', '2', 'false', 'true', '1', null, null, null, null, null, null, null, null, '{"t":"disabled"}'),
  ('11', '2', 'false', 'false', '1', '2026-03-01 09:00:00+00', '2026-03-01 09:00:00+00', null, null, null, null, null, null, '{"n":1772355600000,"w":"paused","paused_until":"2026-03-01T09:00:00.000Z","accounted_until":"2026-03-01T00:00:00.000Z"}'),
  ('12', '2', 'false', 'false', '1', '2026-03-01 01:00:00+00', '2026-03-01 01:00:00+00', null, null, null, null, null, null, '{"n":1772326800000,"w":"baseline-interval","f":4,"last_error":"boom\u0000\nsecond line","missed_count":3,"last_missed_at":"2026-03-01T00:00:00.000Z"}'),
  ('13', '2', 'false', 'false', '1', '2026-03-01 00:01:00+00', '2026-02-28 23:59:00+00', null, null, 'retry', null, null, null, '{"n":1772323260000,"w":"retry","retry":{"slot":"2026-02-28T23:59:00.000Z","attempt":3,"trigger":"cron","source":"baseline-cron"},"interrupted_count":2}'),
  ('14', '2', 'false', 'false', '1', '2026-03-02 01:00:00+00', '2026-03-02 01:00:00+00', null, null, null, null, null, null, '{"n":1772413200000,"w":"baseline-interval","backfill":{"slots":["2026-02-28T22:00:00.000Z","2026-02-28T23:00:00.000Z"],"total":4,"failed":1},"hint":{"interval":"3s","expires_at":"2026-03-01T11:06:40.000Z","reason":"busy \u001e \"quoted\"\n"}}'),
  ('2', '4', 'false', 'false', '1', '2026-03-01 02:00:00+00', '2026-03-01 02:00:00+00', null, null, null, null, null, null, '{"n":1772330400000,"w":"baseline-interval"}'),
  ('3', '5', 'true', 'false', '2', '2026-03-01 00:00:03+00', '2026-03-01 00:00:03+00', null, '2176782339', null, '2026-03-01 00:00:10+00', '1', '1970-01-01 00:00:40+00', '{"n":1772323203000,"w":"baseline-interval"}'),
  ('4', '5', 'true', 'false', '1', '2026-03-01 00:00:04+00', '2026-03-01 00:00:04+00', '2026-03-01 00:00:10+00', null, null, null, null, null, '{"n":1772323204000,"w":"baseline-interval"}'),
  ('5', '5', 'true', 'false', '1', '2026-03-01 02:30:00+00', '2026-03-01 02:30:00+00', null, null, null, null, null, null, '{"n":1772332200000,"w":"baseline-interval"}'),
  ('6', '1', 'true', 'false', '2', '2026-03-01 00:00:05+00', '2026-03-01 00:00:05+00', null, '2176782340', null, '2026-03-01 00:00:10+00', '1', '1970-01-01 00:00:40+00', '{"n":1772323205000,"w":"baseline-interval"}'),
  ('7', '1', 'true', 'false', '2', '2026-03-01 01:40:00+00', '2026-03-01 00:00:10+00', null, '2176782337', 'manual', '2026-03-01 00:00:10+00', '1', '1970-01-01 00:00:40+00', '{"n":1772329200000,"w":"baseline-interval"}'),
  ('8', '3', 'false', 'false', '2', '2026-03-01 00:00:06+00', '2026-03-01 00:00:06+00', null, '2176782341', null, '2026-03-01 00:00:10+00', '1', '1970-01-01 00:00:40+00', '{"n":1772323206000,"w":"baseline-interval"}'),
  ('9', '2', 'false', 'false', '1', '2026-03-01 07:00:00+00', '2026-03-01 07:00:00+00', null, null, null, null, null, null, '{"n":1772348400000,"w":"baseline-cron","s":1772323200000,"f":0}');

insert into "rota_4".queue ("due_at", "id", "agent_id", "is_waiting") overriding system value values
  ('2026-03-01 00:00:04+00', '4', '5', 'true'),
  ('2026-03-01 00:01:00+00', '13', null, 'false'),
  ('2026-03-01 01:00:00+00', '12', null, 'false'),
  ('2026-03-01 01:00:10+00', '1', null, 'false'),
  ('2026-03-01 02:00:00+00', '2', null, 'false'),
  ('2026-03-01 02:30:00+00', '5', '5', 'false'),
  ('2026-03-01 07:00:00+00', '9', null, 'false'),
  ('2026-03-01 09:00:00+00', '11', null, 'false'),
  ('2026-03-02 01:00:00+00', '14', null, 'false');

insert into "rota_4".running ("agent_id", "id") overriding system value values
  ('1', '7'),
  ('1', '6'),
  ('5', '3');

insert into "rota_4".leases ("id", "until", "owner", "schedules") overriding system value values
  ('1', '1970-01-01 00:00:40+00', '1', '{7}'),
  ('2', '1970-01-01 00:00:40+00', '1', '{1,3,6,8}');

insert into "rota_4".changes ("id", "made_at", "agent", "schedule", "keys") overriding system value values
  ('1', '2026-11-18 20:34:53.652407+00', 'kinds', 'idle', '{request}');

insert into "rota_4".receipts ("id", "made_at") overriding system value values
  ('1a8768df3e04bf8753cbb88a', '2026-11-18 20:34:53.599965+00'),
  ('5d6f4ef97c730e10a011af77', '2026-11-18 20:34:53.622831+00'),
  ('704aab46b40558c65e657fd1', '2026-11-18 20:34:53.608265+00'),
  ('88cc9781cdd36e7aca393cd2', '2026-11-18 20:34:53.580147+00'),
  ('8907848ac72d0dd2d0bdce23', '2026-11-18 20:34:53.5608+00'),
  ('8f3379c0e939a3a3e8ef2931', '2026-11-18 20:34:53.568785+00'),
  ('9b29f484e5ed00b262802f94', '2026-11-18 20:34:53.577378+00'),
  ('a773082fff35ce87c4dce295', '2026-11-18 20:34:53.704823+00'),
  ('bd50c586caad5e9d91679f66', '2026-11-18 20:34:53.589825+00'),
  ('cbc69280aec8b95175a4143d', '2026-11-18 20:34:53.595185+00'),
  ('d223a021ac40f10420f60f83', '2026-11-18 20:34:53.585414+00'),
  ('ebd486ba81eeaaaee65b41bc', '2026-11-18 20:34:53.59152+00'),
  ('f354267f3b34a8a60dda4f37', '2026-11-18 20:34:53.605786+00'),
  ('f6dab92661fd17bedc7011f8', '2026-11-18 20:34:53.61599+00'),
  ('f8fba5f2f796c67b9edc310e', '2026-11-18 20:34:53.583155+00');

insert into "rota_4".jobs ("id", "number", "agent", "schedule", "status", "node", "started_at", "is_presumed", "trigger", "slot", "source", "attempt", "finished_at", "duration_ms", "start", "end") overriding system value values
  ('job-2026-03-01-01000001', '3', 'crew', 'right', 'running', '1', '2026-03-01 00:00:10+00', 'false', 'interval', '2026-03-01 00:00:10+00', 'manual', '1', null, null, null, null),
  ('job-2026-03-01-01000002', '4', 'solo', 'hourly', 'failed', '1', '2026-03-01 00:00:10+00', 'false', 'interval', '2026-03-01 00:00:02+00', 'baseline-interval', '1', '2026-03-01 00:00:11+00', '1000', '{"prompt":"p\u0000\n","work_item":[1],"error":"e\n\u0000","summary":"s","exit_code":3,"response_body":{"a":1}}', null),
  ('job-2026-03-01-01000003', '1', 'team', 'a', 'running', '1', '2026-03-01 00:00:10+00', 'false', 'interval', '2026-03-01 00:00:03+00', 'baseline-interval', '1', null, null, null, null),
  ('job-2026-03-01-01000004', '2', 'crew', 'left', 'running', '1', '2026-03-01 00:00:10+00', 'false', 'interval', '2026-03-01 00:00:05+00', 'baseline-interval', '1', null, null, null, null);

insert into "rota_4".requests ("id", "agent", "schedule", "action", "job_id", "key", "content", "created_at", "expires_at", "is_taken", "refusal", "answered_at", "token", "claimed_at") overriding system value values
  ('req-bd49ba6e01eeb339ce6f90c7', 'kinds', 'idle', 'run', null, null, '{}', '2026-03-01 00:00:10+00', '2026-03-01 01:00:10+00', 'false', null, null, null, null),
  ('req-d0befc058fb642565e494f36', 'crew', 'right', 'run', null, 'once', '{"prompt":"Line\n\u0000two","data":{"a":[1,null]},"cause":"test","author":"someone"}', '2026-03-01 00:00:10+00', '2026-03-01 00:01:10+00', 'true', null, '2026-03-01 00:00:10+00', '2176782337', '2026-03-01 00:00:10+00');

select setval(pg_get_serial_sequence('"rota_4".nodes', 'id'), (select max(id) from "rota_4".nodes));

select setval(pg_get_serial_sequence('"rota_4".agents', 'id'), (select max(id) from "rota_4".agents));

select setval(pg_get_serial_sequence('"rota_4".schedules', 'id'), (select max(id) from "rota_4".schedules));

select setval(pg_get_serial_sequence('"rota_4".leases', 'id'), (select max(id) from "rota_4".leases));

select setval(pg_get_serial_sequence('"rota_4".changes', 'id'), (select max(id) from "rota_4".changes));

select setval(pg_get_serial_sequence('"rota_4".jobs', 'number'), (select max(number) from "rota_4".jobs));

select setval('"rota_4".job_number', 2176783336);

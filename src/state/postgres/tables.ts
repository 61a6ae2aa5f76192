/**
 * The tables, as the first migration makes them. A schedule is a row: what is searched for has a column, all else is
 * in `rest`. That is json and not jsonb, which cannot hold every text: an error may have a zero byte in it.
 */
export const createTables = (schema: string): string => `
create table ${schema}.nodes (
  id bigint generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);

create table ${schema}.agents (
  name text collate "C" primary key,
  capacity integer not null default 1,
  -- How many schedules it has: up to its capacity they cannot exceed it, and nobody has to count.
  size integer not null default 0
) with (fillfactor = 70);

create table ${schema}.schedules (
  id bigint generated always as identity primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  -- Every write makes it one more, and is refused when it is not what was read.
  version bigint not null default 0,
  status text not null default 'idle',
  next_run_at timestamptz,
  next_run_source text,
  paused_until timestamptz,
  due_at timestamptz generated always as (
    case when status = 'disabled' or next_run_at is null then null else greatest(next_run_at, paused_until) end
  ) stored,
  -- When its slot was first seen due: from then on it stands in its agent's line.
  seen_at timestamptz,
  token text,
  job_id text,
  slot timestamptz,
  source text,
  claimed_at timestamptz,
  owner bigint,
  lease_until timestamptz,
  -- Null while it was only defined and has no state.
  rest json,
  unique (agent, schedule)
) with (fillfactor = 70);

create index schedules_queue on ${schema}.schedules (due_at, id) where token is null and seen_at is null;
create index schedules_line on ${schema}.schedules (agent, due_at, id) where token is null and seen_at is not null;
create index schedules_running on ${schema}.schedules (agent) where token is not null;
create index schedules_lease on ${schema}.schedules (lease_until) where lease_until is not null;

create function ${schema}.count_schedules() returns trigger language plpgsql as $$
begin
  insert into ${schema}.agents as a (name, size)
  select agent, count(*) from added group by agent order by agent
  on conflict (name) do update set size = a.size + excluded.size;
  return null;
end $$;
create trigger count_schedules after insert on ${schema}.schedules
  referencing new table as added for each statement execute function ${schema}.count_schedules();

create table ${schema}.definitions (
  node bigint not null references ${schema}.nodes on delete cascade,
  -- No foreign key: its check would lock the schedule, while others who claim it wait for what a definition holds.
  schedule_id bigint not null,
  primary key (node, schedule_id)
);

-- What somebody who is no node has changed, for the nodes to take account of.
create table ${schema}.changes (
  id bigint generated always as identity primary key,
  made_at timestamptz not null default clock_timestamp(),
  agent text not null,
  schedule text not null,
  keys text[] not null
);

create sequence ${schema}.job_number;

create table ${schema}.jobs (
  number bigint generated always as identity primary key,
  id text collate "C" not null unique,
  agent text collate "C" not null,
  schedule text collate "C",
  status text not null,
  started_at timestamptz not null,
  start json not null,
  "end" json
) with (fillfactor = 70);
create index jobs_newest on ${schema}.jobs (started_at, number);
create index jobs_of_agent on ${schema}.jobs (agent, started_at, number);
create index jobs_of_schedule on ${schema}.jobs (schedule, started_at, number);
create index jobs_by_status on ${schema}.jobs (status, started_at, number);

create table ${schema}.job_outputs (
  job_id text collate "C" primary key,
  opened_at timestamptz not null default clock_timestamp()
);
create index job_outputs_oldest on ${schema}.job_outputs (opened_at);
create table ${schema}.job_output_blocks (
  job_id text collate "C" not null references ${schema}.job_outputs on delete cascade,
  block integer not null,
  bytes bytea not null,
  primary key (job_id, block)
);
`;

/**
 * The tables, as the first migration makes them. A state is a document, and what is searched for has a column beside it.
 * Documents are texts: jsonb cannot hold every text, such as an error with a zero byte in it, and json would read each again
 * that was written here just now. They are checked when they are read.
 */
import { DOCUMENT_END } from "../rows/column-text.js";

export const createTables = (schema: string): string => `
create table ${schema}.nodes (
  id bigint generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- How long its claims last: it shows that it lives several times in a lease.
  lease interval not null,
  -- Which schedules it runs at their times: the bit at the place of their ids.
  schedules bytea not null default '',
  -- And which it starts by hand only.
  by_hand bytea not null default ''
);

create table ${schema}.agents (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  capacity integer not null default 1,
  -- How many schedules it has: up to its capacity they cannot exceed it, and nobody has to count.
  size integer not null default 0
) with (fillfactor = 70);

-- Names alone: what changes is elsewhere, so that no change has to touch the index of these texts.
create table ${schema}.schedules (
  id bigint generated always as identity primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  unique (agent, schedule)
);

-- No column that changes is in an index: a claim and its end then cost no index anything, and leave nothing behind in one.
-- That holds of rows that stay on their page: each is defined empty, and has room for what it grows to, its claim and its end.
create table ${schema}.states (
  id bigint primary key references ${schema}.schedules on delete cascade,
  agent_id bigint not null,
  -- Whether its agent has more schedules than it may have jobs.
  is_limited boolean not null,
  is_disabled boolean not null default false,
  -- Every write makes it one more, and is refused when it is not what was read.
  version bigint not null default 0,
  -- When it can be claimed; null for never. Until it is, it stands in the queue with this time.
  due_at timestamptz,
  -- The slot that is to run next, or the one that is running.
  slot timestamptz,
  -- When that was first seen due.
  seen_at timestamptz,
  -- The number of the job that runs, which fences off all before it.
  token bigint,
  -- Why it runs, where the state does not say that any more; while nobody has claimed it, only where that was asked for.
  source text,
  claimed_at timestamptz,
  owner bigint,
  lease_until timestamptz,
  -- Null while it was only defined. Many are told as one text, with this character between them.
  state text check (strpos(state, '${DOCUMENT_END}') = 0)
) with (fillfactor = 16);

-- What nobody has claimed and will be due. Whoever takes somebody out of it, or moves them, has done so before their state.
create table ${schema}.queue (
  due_at timestamptz not null,
  id bigint not null,
  -- Its agent, where that has more schedules than it may have jobs.
  agent_id bigint,
  -- Whether it came due and stands in its agent's line.
  is_lined boolean not null default false
);
create index queue_due on ${schema}.queue (due_at, id) where not is_lined;
create index queue_lines on ${schema}.queue (agent_id, due_at, id) where is_lined;

-- The jobs that run of agents with more schedules than they may have jobs.
create table ${schema}.running (
  agent_id bigint not null,
  id bigint not null,
  primary key (agent_id, id)
);

-- When to look whether claims have been renewed. Every claim is in one that ends no earlier than its own lease.
create table ${schema}.leases (
  id bigint generated always as identity primary key,
  until timestamptz not null,
  owner bigint not null,
  schedules bigint[] not null
);
create index leases_until on ${schema}.leases (until);
-- Not compressed: that would take as long as a claim takes otherwise.
alter table ${schema}.leases alter column schedules set storage external;

-- When nodes looked and left some of what was due: whatever of theirs was due by then has been seen then.
create table ${schema}.looks (
  node bigint not null,
  at timestamptz not null,
  primary key (node, at)
);

-- What somebody who is no node has changed, for the nodes to take account of.
create table ${schema}.changes (
  id bigint generated always as identity primary key,
  made_at timestamptz not null default clock_timestamp(),
  agent text not null,
  schedule text not null,
  keys text[] not null
);

-- What has been written: whoever lost the answer to a write finds it here.
create table ${schema}.receipts (
  id text collate "C" primary key,
  made_at timestamptz not null default clock_timestamp()
);
create index receipts_oldest on ${schema}.receipts (made_at);

-- Every connection takes a thousand at once.
create sequence ${schema}.job_number cache 1000;

create table ${schema}.jobs (
  id text collate "C" primary key,
  -- Of jobs that start at once, which was recorded first.
  number bigint generated always as identity,
  agent text collate "C" not null,
  schedule text collate "C",
  status text not null,
  -- Who opened it; null for who is no node.
  node bigint,
  started_at timestamptz not null,
  -- Whether somebody closed it who found its node gone, and did not see how it ended.
  is_presumed boolean not null default false,
  trigger text not null,
  -- The due time it ran for, and why it was planned for that time.
  slot timestamptz,
  source text,
  attempt bigint not null,
  finished_at timestamptz,
  -- How long it ran; null while it runs, and where nobody saw its end.
  duration_ms double precision,
  -- What few jobs have. The first has all of a job that was recorded at its end.
  start text,
  "end" text
) with (fillfactor = 70);
-- Of one agent or schedule the newest are found here as well, without a look at other rows. One index for each of these
-- would cost every job more than all else that is written of it.
create index jobs_newest on ${schema}.jobs (started_at, number, agent, schedule);
-- Most are completed, and so are most of the newest.
create index jobs_by_status on ${schema}.jobs (status, started_at, number) where status <> 'completed';

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

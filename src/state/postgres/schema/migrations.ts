/**
 * The numbered migrations of the tables. Functions are not part of them: migrate.ts recreates all functions.
 * A state is a document with columns beside it for what is searched. Documents are texts and checked when they are read:
 * jsonb cannot hold every text, such as an error with a zero byte, and json would parse what was written here just now.
 */
import { FIRST_LONG_NUMBER } from "../../job-log/job-id.js";
import { DOCUMENT_END } from "../rows/column-text.js";

/** Version 1. */
const createTables = (schema: string): string => `
create table ${schema}.nodes (
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

create table ${schema}.agents (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  capacity integer not null default 1,
  -- The number of its schedules. Up to the capacity they cannot exceed it, and its jobs are not counted.
  size integer not null default 0
) with (fillfactor = 70);

-- Only names: no change of a state touches the index of these texts.
create table ${schema}.schedules (
  id bigint generated always as identity primary key,
  agent text collate "C" not null,
  schedule text collate "C" not null,
  unique (agent, schedule)
);

-- No index has a column that changes, so that claims and their ends update no index. This holds for rows that stay on their
-- page: a row is inserted empty, and its page has room for the state, a claim and its end.
create table ${schema}.states (
  id bigint primary key references ${schema}.schedules on delete cascade,
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
  state text check (strpos(state, '${DOCUMENT_END}') = 0)
) with (fillfactor = 16);

-- The places of unclaimed schedules that will be due. A place is changed before its state.
create table ${schema}.queue (
  due_at timestamptz not null,
  id bigint not null,
  -- Its agent, where the agent's jobs are counted.
  agent_id bigint,
  -- Whether it came due and waits for the capacity of its agent.
  is_lined boolean not null default false
);
create index queue_due on ${schema}.queue (due_at, id) where not is_lined;
create index queue_lines on ${schema}.queue (agent_id, due_at, id) where is_lined;

-- The running jobs of the agents whose jobs are counted.
create table ${schema}.running (
  agent_id bigint not null,
  id bigint not null,
  primary key (agent_id, id)
);

-- When to check that claims were renewed. Every claim is in a row that ends no earlier than its own lease.
create table ${schema}.leases (
  id bigint generated always as identity primary key,
  until timestamptz not null,
  owner bigint not null,
  schedules bigint[] not null
);
create index leases_until on ${schema}.leases (until);
-- Not compressed: compression would take as long as the rest of a claim.
alter table ${schema}.leases alter column schedules set storage external;

-- When nodes polled and left due slots: every slot of the node that was due by then was seen then.
create table ${schema}.looks (
  node bigint not null,
  at timestamptz not null,
  primary key (node, at)
);

-- Changes from outside the nodes, which plan by them.
create table ${schema}.changes (
  id bigint generated always as identity primary key,
  made_at timestamptz not null default clock_timestamp(),
  agent text not null,
  schedule text not null,
  keys text[] not null
);

-- The writes that were carried out, for a node that lost a reply.
create table ${schema}.receipts (
  id text collate "C" primary key,
  made_at timestamptz not null default clock_timestamp()
);
create index receipts_oldest on ${schema}.receipts (made_at);

-- Every connection reserves a thousand numbers.
create sequence ${schema}.job_number cache 1000;

create table ${schema}.jobs (
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
create index jobs_newest on ${schema}.jobs (started_at, number, agent, schedule);
-- Most jobs are completed, so that the index above finds the newest of them.
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

/** Version 2: agents that are counted, nodes that name their agents, and plainer names. */
const countAgents = (schema: string): string => `
-- Whether its jobs are counted although its schedules cannot exceed its capacity.
alter table ${schema}.agents add column is_counted boolean not null default false;
-- The ids of the agents whose steps a node may claim, and of the agents that it wants counted.
alter table ${schema}.nodes add column agents bigint[] not null default '{}', add column counted_agents bigint[] not null default '{}';
alter table ${schema}.nodes rename column by_hand to manual_schedules;
alter table ${schema}.queue rename column is_lined to is_waiting;
alter index ${schema}.queue_lines rename to queue_waiting;
alter table ${schema}.looks rename to polls;
alter index ${schema}.looks_pkey rename to polls_pkey;
`;

/** Version 3: ids with eight characters. A job that runs now keeps its number, and with it the id in its record. */
const lengthenIds = (schema: string): string => `
select setval('${schema}.job_number', greatest(last_value, ${FIRST_LONG_NUMBER})) from ${schema}.job_number;
`;

/** Version 4: requests to the nodes, one row each. */
const addRequests = (schema: string): string => `
create table ${schema}.requests (
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
create index requests_open on ${schema}.requests (created_at) where answered_at is null;
create index requests_oldest on ${schema}.requests (created_at);
create index requests_jobs on ${schema}.requests (token) where token is not null;
create index requests_keys on ${schema}.requests (agent, schedule, key, created_at) where key is not null and token is not null;
`;

/** Version 5: the names of nodes that are gone, for their jobs. */
const keepNodeNames = (schema: string): string => `
create table ${schema}.node_names (
  id bigint primary key,
  name text not null
);
`;

/** Version 6: agents that are paused. */
const addPauses = (schema: string): string => `
alter table ${schema}.agents
  -- Why it is paused, as JSON; null when it is not.
  add column pause text,
  -- When the pause ends by itself; infinity for one that does not, null without a pause.
  add column held_until timestamptz,
  -- When its last pause ended: what came due before is late for that reason.
  add column resumed_at timestamptz;
create index agents_held on ${schema}.agents (held_until) where held_until is not null;
create index agents_resumed on ${schema}.agents (resumed_at) where resumed_at is not null;
-- Whether its agent is paused, so that it has no place in the queue.
alter table ${schema}.states add column is_held boolean not null default false;
`;

/** In order, from version 1. A published migration never changes. */
export const MIGRATIONS: readonly ((schema: string) => string)[] = [
  createTables,
  countAgents,
  lengthenIds,
  addRequests,
  keepNodeNames,
  addPauses,
];

/** Functions of earlier versions that no longer exist. */
export const RETIRED_FUNCTIONS: readonly string[] = [
  "claim_due",
  "claim_one",
  "is_left_to_hand",
  "next_due",
  "note_seen",
  "settle_looks",
  "forget_node",
  "let_node_run",
  "write_states",
  "write_rows",
  "hold_places",
  "leave_queue",
  "tell_change",
  "add_schedules",
  "set_capacities",
  "limit_agents",
  "insert_jobs",
];

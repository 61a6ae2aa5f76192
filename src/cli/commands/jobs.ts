/** `rota jobs`: lists jobs, newest first. */
import { quote } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import type { JobFilter, JobRecord, JobStatus } from "../../state/job-log/job-log.js";
import { type Argument, type Call, type Command, countOption, flag, option, textOption } from "../command.js";
import { usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { JOB_STYLES, tookText, whyRan } from "../format/job.js";
import { findJobsOf } from "../fleet/find-job.js";
import { connectToState } from "../fleet/fleet.js";
import { instantOption } from "../instant-option.js";
import type { StateConnection } from "../location/state-location.js";
import type { Cell, Column } from "../format/table.js";
import { timeCell } from "../format/when.js";

const STATUSES: readonly JobStatus[] = [
  "running",
  "completed",
  "failed",
  "timeout",
  "cancelled",
  "interrupted",
];
const DEFAULT_LIMIT = 20;

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: false,
  summary: "Only jobs of this schedule, or of this agent.",
  completion: "schedule",
};
const AGENT = textOption("agent", "name", { summary: "Only jobs of this agent.", completion: "agent" });
const SCHEDULE = textOption("schedule", "name", { summary: "Only jobs of schedules with this name." });
const STATUS = option(
  "status",
  "statuses",
  {
    summary: `Only jobs that are ${STATUSES.join(", ")}; or several of these, separated by commas.`,
    completion: STATUSES,
  },
  (given) => given.split(",").map(statusOf),
);
const SINCE = instantOption("since", "past", 'Only jobs started since this time, or "2h" for two hours ago.');
const UNTIL = instantOption("until", "past", "Only jobs started before this time.");
const LIMIT = countOption("limit", { short: "n", summary: `At most this many. Default: ${DEFAULT_LIMIT}.` });

const IDS = flag("ids", { summary: "Print only the ids, one per line." });

const NODE: Column = { title: "NODE", dropAs: 2 };
const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "STARTED", dropAs: 6 },
  { title: "TOOK", align: "right", dropAs: 3 },
  { title: "STATUS" },
  { title: "TRIGGER", dropAs: 1 },
  { title: "AGENT/SCHEDULE" },
  { title: "WHY", cutTo: 8, dropAs: 4 },
  { title: "SUMMARY", cutTo: 8, dropAs: 5 },
];

export const jobsCommand: Command = {
  name: "jobs",
  summary: "List jobs, newest first: when and why each ran, how it ended, and its summary or error.",
  details: [
    "On a database, the column NODE names the node that ran the job. --json prints the whole records with `node`, which is null " +
      "in a directory.",
  ],
  arguments: [TARGET],
  options: [AGENT, SCHEDULE, STATUS, SINCE, UNTIL, LIMIT, IDS],
  examples: [
    { command: "rota jobs", comment: `the last ${DEFAULT_LIMIT}` },
    { command: "rota jobs reports/nightly", comment: "of one schedule" },
    {
      command: "rota jobs --status failed,timeout --since yesterday",
      comment: "what went wrong since yesterday",
    },
  ],
  run: jobs,
};

async function jobs(call: Call): Promise<ExitCode> {
  const { args, isJson, option: optionOf, output } = call;
  const [target] = args;
  if (target !== undefined && (optionOf(AGENT) ?? optionOf(SCHEDULE)) !== undefined)
    throw usageError(`Give ${quote(target)}, or --${AGENT.name} and --${SCHEDULE.name}, not both`);
  await using connection = await connectToState(call);
  const now = connection.clock.now();
  const limit = optionOf(LIMIT) ?? DEFAULT_LIMIT;
  const until = optionOf(UNTIL)?.(now);
  const agent = optionOf(AGENT);
  const filter = {
    ...(target === undefined
      ? { agent, schedule: optionOf(SCHEDULE) }
      : await findJobsOf(call, connection, target)),
    since: optionOf(SINCE)?.(now),
    // Jobs from --until on are filtered out below and must not count towards the limit.
    limit: until === undefined ? limit : Infinity,
  };
  const found = await listOf(connection, filter, optionOf(STATUS));
  const records = found
    .filter(({ started_at }) => until === undefined || startMs(started_at) < until.getTime())
    .slice(0, limit);
  if (records.length === 0 && agent !== undefined) await findJobsOf(call, connection, agent);
  const ids = records.map(({ id }) => id);
  if (optionOf(IDS)) for (const id of ids) output.line(id);
  else if (records.length === 0 && !isJson) output.message("No matching jobs.");
  else {
    const nodes = await connection.nodesOf(ids);
    if (isJson) output.json(records.map((record) => ({ ...record, node: nodes.get(record.id) ?? null })));
    else
      output.table(
        nodes.size === 0 ? COLUMNS : COLUMNS.toSpliced(4, 0, NODE),
        records.map((record) => {
          const cells = jobCells(record, now);
          return nodes.size === 0 ? cells : cells.toSpliced(4, 0, nodes.get(record.id) ?? "-");
        }),
      );
  }
  return EXIT.ok;
}

/** The newest jobs of these statuses, or of all. */
async function listOf(
  { store }: StateConnection,
  filter: JobFilter,
  statuses: readonly JobStatus[] | undefined,
): Promise<readonly JobRecord[]> {
  if (statuses === undefined) return store.jobs.list(filter);
  const lists = await Promise.all(
    [...new Set(statuses)].map((status) => store.jobs.list({ ...filter, status })),
  );
  const [first = [], ...others] = lists;
  if (others.length === 0) return first;
  return lists.flat().toSorted((one, other) => startMs(other.started_at) - startMs(one.started_at));
}

function statusOf(text: string): JobStatus {
  const status = STATUSES.find((one) => one === text.trim());
  if (status !== undefined) return status;
  throw usageError(`Invalid --status ${quote(text)}: expected one of ${STATUSES.join(", ")}`);
}

function jobCells(record: JobRecord, now: Date): Cell[] {
  const { id, agent, schedule, started_at, status, trigger } = record;
  return [
    id,
    timeCell(new Date(startMs(started_at))),
    tookText(record, now),
    { text: status, style: JOB_STYLES[status] },
    trigger,
    schedule === null ? agent : `${agent}/${schedule}`,
    whyRan(record),
    record.error ?? record.summary ?? "",
  ];
}

function startMs(text: string): number {
  return isoTimeMs(text) ?? 0;
}

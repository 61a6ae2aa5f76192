/** `rota jobs`: lists jobs, newest first. */
import { isoTimeMs } from "../../iso-time.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { type Call, type Command, choiceOption, countOption, flag, textOption } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { JOB_STYLES, tookText } from "../format/job.js";
import { unknownName } from "../fleet/find-target.js";
import { connectToState } from "../fleet/fleet.js";
import { instantOption } from "../instant-option.js";
import { configOf } from "../location/locate.js";
import type { StateConnection } from "../location/state-location.js";
import type { Cell, Column } from "../format/table.js";
import { timeCell } from "../format/when.js";

const STATUSES = ["running", "completed", "failed", "timeout", "cancelled", "interrupted"] as const;
const DEFAULT_LIMIT = 20;

const AGENT = textOption("agent", "name", { summary: "Only jobs of this agent.", completion: "agent" });
const SCHEDULE = textOption("schedule", "name", { summary: "Only jobs of schedules with this name." });
const STATUS = choiceOption("status", STATUSES, { summary: `Only jobs that are ${STATUSES.join(", ")}.` });
const SINCE = instantOption("since", "past", 'Only jobs started since this time, or "2h" for two hours ago.');
const UNTIL = instantOption("until", "past", "Only jobs started before this time.");
const LIMIT = countOption("limit", { short: "n", summary: `At most this many. Default: ${DEFAULT_LIMIT}.` });

const IDS = flag("ids", { summary: "Print only the ids, one per line." });

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "STARTED" },
  { title: "TOOK", align: "right" },
  { title: "STATUS" },
  { title: "TRIGGER", dropAs: 1 },
  { title: "AGENT/SCHEDULE", cutTo: 10 },
  { title: "SUMMARY", cutTo: 8 },
];

export const jobsCommand: Command = {
  name: "jobs",
  summary: "List jobs, newest first: when each ran, how it ended, and its summary or error.",
  options: [AGENT, SCHEDULE, STATUS, SINCE, UNTIL, LIMIT, IDS],
  examples: [
    { command: "rota jobs", comment: `the last ${DEFAULT_LIMIT}` },
    {
      command: "rota jobs --agent reports --status failed --since 1d",
      comment: "failed jobs of the last day",
    },
  ],
  run: jobs,
};

async function jobs(call: Call): Promise<ExitCode> {
  const { isJson, option, output } = call;
  await using connection = await connectToState(call);
  const now = connection.clock.now();
  const limit = option(LIMIT) ?? DEFAULT_LIMIT;
  const until = option(UNTIL)?.(now);
  const filter = {
    agent: option(AGENT),
    schedule: option(SCHEDULE),
    status: option(STATUS),
    since: option(SINCE)?.(now),
    // Jobs from --until on are filtered out below and must not count towards the limit.
    limit: until === undefined ? limit : Infinity,
  };
  const found = await connection.store.jobs.list(filter);
  const records = found
    .filter(({ started_at }) => until === undefined || startMs(started_at) < until.getTime())
    .slice(0, limit);
  if (records.length === 0 && filter.agent !== undefined) await requireAgent(call, connection, filter.agent);
  if (option(IDS)) for (const { id } of records) output.line(id);
  else if (isJson) output.json(records);
  else if (records.length === 0) output.message("No matching jobs.");
  else
    output.table(
      COLUMNS,
      records.map((record) => jobCells(record, now)),
    );
  return EXIT.ok;
}

/** Rejects an agent that neither the state, the log nor the configuration knows: its name is probably a typo. */
async function requireAgent(call: Call, connection: StateConnection, agent: string): Promise<void> {
  const known = new Set((await connection.states()).keys());
  for (const job of await connection.store.jobs.list({ limit: Infinity })) known.add(job.agent);
  for (const { name } of (await configOf(call))?.agents ?? []) known.add(name);
  if (!known.has(agent)) throw unknownName("agent", agent, [...known]);
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
    record.error ?? record.summary ?? "",
  ];
}

function startMs(text: string): number {
  return isoTimeMs(text) ?? 0;
}

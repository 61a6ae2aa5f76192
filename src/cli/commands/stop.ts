/** `rota stop`: asks a scheduler to stop, and waits until it has. */
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { durationMs } from "../../duration.js";
import { quote } from "../../errors.js";
import { type Argument, type Call, type Command, option } from "../command.js";
import { refusedError, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { unknownName } from "../fleet/find-target.js";
import { messageLogger } from "../fleet/fleet.js";
import { counted, shortList } from "../format/counted.js";
import { formatRefusal, noReplyError } from "../format/refusal.js";
import { formatScheduler } from "../format/schedulers.js";
import { oneLine } from "../format/text-width.js";
import { shortDuration } from "../format/when.js";
import { locateState } from "../location/locate.js";
import type { SchedulerProcess, StateConnection } from "../location/state-location.js";
import { Progress } from "../progress.js";

const NODE: Argument = {
  name: "node",
  isRequired: false,
  summary:
    "The name of a node of the database, as `rota nodes` lists it. Not needed where one scheduler runs.",
};
const DEFAULT_TIMEOUT_MS = 300_000;
const TIMEOUT = option(
  "timeout",
  "duration",
  { summary: "How long to wait for the end of the scheduler. Default: 5m." },
  (text) => {
    const ms = durationMs(text);
    if (ms === undefined)
      throw usageError(`Invalid --timeout ${quote(text)}: expected a duration such as 30s or 5m`);
    return ms;
  },
);
const POLL_MS = 250;
const MOST_JOBS_SHOWN = 5;
/** The statuses of jobs that the stop has ended. */
const CANCELLED = new Set<string>(["cancelled", "interrupted"]);

export const stopCommand: Command = {
  name: "stop",
  summary: "Stop the scheduler of a directory, or a node of a database, and wait for its end.",
  details: [
    "The scheduler stops as after SIGTERM: no new job starts, and running jobs may end. Jobs that take longer than its " +
      "stop timeout (`rota run --stop-timeout`, 30 s by default) are cancelled.",
    "The exit code is 0 when the scheduler has stopped, or none runs; 1 when jobs were cancelled, or when the scheduler has not " +
      "stopped in time; 3 for an unknown node.",
  ],
  arguments: [NODE],
  options: [TIMEOUT],
  examples: [
    { command: "rota stop", comment: "the scheduler of this directory's fleet" },
    { command: "rota stop api-1 --database-url postgres://rota@db/app", comment: "one of several nodes" },
  ],
  run: stop,
};

async function stop(call: Call): Promise<ExitCode> {
  const { args, context, isJson, output, option: read } = call;
  const location = await locateState(call);
  await using connection = await location.connect({ clock: context.clock, logger: messageLogger(call) });
  const alive = (await connection.schedulers()).filter(({ isAlive }) => isAlive);
  const node = chosen(alive, args[0]);
  if (node === undefined) {
    if (isJson) output.json({ stopped: false, node: null, pid: null, jobs: [] });
    else output.message(`No scheduler runs on ${location.name}.`);
    return EXIT.ok;
  }
  const running = await runningJobs(connection, node);
  const startedMs = context.clock.monotonic();
  const { clock, store } = connection;
  const answer = await askScheduler(
    store,
    { agent: "", schedule: "" },
    { action: "stop", node: node.name ?? null },
    { clock, signal: context.signal },
  );
  if (answer === undefined) throw noReplyError([node]);
  if (answer.refusal != null) throw refusedError(`It was not stopped: ${formatRefusal(answer.refusal)}`);
  if (!isJson)
    output.message(
      running.length === 0
        ? `Stopping ${formatScheduler(node)}.`
        : `Stopping ${formatScheduler(node)}. Waiting for ${counted(running.length, "job")}: ${names(running)}.`,
    );
  await untilGone(call, connection, node, read(TIMEOUT) ?? DEFAULT_TIMEOUT_MS);
  const ended = await Promise.all(running.map(async (job) => (await store.jobs.get(job.id)) ?? job));
  const tookMs = context.clock.monotonic() - startedMs;
  if (isJson) output.json({ stopped: true, node: node.name ?? null, pid: node.pid, jobs: ended });
  else {
    const how = ended.map(({ id, status }) => `${id} ${status}`);
    const jobs = how.length === 0 ? "" : `: ${shortList(how, MOST_JOBS_SHOWN)}`;
    output.message(`Stopped after ${shortDuration(tookMs)}${jobs}.`);
  }
  return ended.some(({ status }) => CANCELLED.has(status)) ? EXIT.failure : EXIT.ok;
}

/** `undefined` when no scheduler runs. */
function chosen(alive: readonly SchedulerProcess[], name: string | undefined): SchedulerProcess | undefined {
  const named = alive.filter((one) => one.name !== undefined);
  if (name !== undefined && alive.length > named.length)
    throw usageError("A directory has one scheduler: leave the name of the node out");
  const fitting = name === undefined ? alive : named.filter((one) => one.name === name);
  const [only, ...others] = fitting;
  const known = named.map((one) => one.name ?? "");
  if (only === undefined && name !== undefined) throw unknownName("node", name, known);
  if (others.length === 0) return only;
  throw usageError(
    name === undefined
      ? `${alive.length} schedulers run. Name one: ${shortList(known.map(quote), 10)}`
      : `${fitting.length} nodes have the name ${quote(name)}: stop each with SIGTERM`,
  );
}

async function runningJobs(
  connection: StateConnection,
  { name }: SchedulerProcess,
): Promise<readonly JobRecord[]> {
  const all = await connection.store.jobs.list({ status: "running", limit: Infinity });
  if (name === undefined) return all;
  const nodes = await connection.nodesOf(all.map(({ id }) => id));
  return all.filter(({ id }) => nodes.get(id) === name);
}

async function untilGone(
  { context }: Call,
  connection: StateConnection,
  node: SchedulerProcess,
  timeoutMs: number,
): Promise<void> {
  const { clock, signal } = context;
  const progress = new Progress(context);
  const startedMs = clock.monotonic();
  try {
    for (;;) {
      const schedulers = await connection.schedulers();
      const isThere = schedulers.some((one) => one.isAlive && isSame(one, node));
      if (!isThere) return;
      const waitedMs = clock.monotonic() - startedMs;
      if (waitedMs >= timeoutMs) {
        const jobs = await runningJobs(connection, node);
        const why =
          jobs.length === 0 ? "" : `, and ${counted(jobs.length, "job")} still running: ${names(jobs)}`;
        throw refusedError(`It has not stopped within ${shortDuration(timeoutMs)}${why}`);
      }
      progress.show(`stopping ${formatScheduler(node)}, ${shortDuration(waitedMs)}`);
      await clock.sleep(POLL_MS, signal);
    }
  } finally {
    progress.end();
  }
}

function isSame(one: SchedulerProcess, other: SchedulerProcess): boolean {
  return (
    one.name === other.name &&
    one.pid === other.pid &&
    one.host === other.host &&
    one.since?.getTime() === other.since?.getTime()
  );
}

function names(jobs: readonly JobRecord[]): string {
  return shortList(
    jobs.map(
      ({ id, agent, schedule }) => `${oneLine(schedule === null ? agent : `${agent}/${schedule}`)} (${id})`,
    ),
    MOST_JOBS_SHOWN,
  );
}

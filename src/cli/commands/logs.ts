/** `rota logs`: prints the output of a job or of the whole fleet, and with `-f` goes on with what is written next. */
import { isoTimeMs } from "../../iso-time.js";
import { dayInJobId } from "../../state/job-log/job-id.js";
import type { JobFilter, JobRecord } from "../../state/job-log/job-log.js";
import { type Call, type Command, countOption, flag } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJob, findJobById, findJobsOf, hasJobs, JOB } from "../fleet/find-job.js";
import { connectToState } from "../fleet/fleet.js";
import {
  countLines,
  FollowedJob,
  type JobNews,
  lastLines,
  NamedLines,
  pause,
} from "../fleet/followed-job.js";
import type { StateConnection } from "../location/state-location.js";
import { oneLine } from "../format/text-width.js";
import { JOB_STYLES, tookText } from "../format/job.js";

const FOLLOW = flag("follow", {
  short: "f",
  summary:
    "Go on with the output as it is written: of a job until it has ended, of a schedule, an agent or the fleet with the next jobs too.",
});
const FLEET_LINES = 50;
const LINES = countOption("lines", {
  short: "n",
  summary: `Only the last lines. Default: all of a job, ${FLEET_LINES} of the fleet.`,
});
const POLL_MS = 500;
/** The fleet's last lines come from at most so many jobs. */
const MOST_JOBS = 200;
/** The record of a job may be written some time after its start. */
const LATE_RECORD_MS = 60_000;

export const logsCommand: Command = {
  name: "logs",
  summary: "Print the output of a job, also while it runs; or the latest output of the fleet.",
  details: [
    "Without an argument, each line begins with its agent/schedule, and jobs are in the order in which they started.",
  ],
  arguments: [{ ...JOB, isRequired: false }],
  options: [FOLLOW, LINES],
  examples: [
    { command: "rota logs", comment: `the last ${FLEET_LINES} lines of all jobs` },
    { command: "rota logs -f", comment: "what all jobs write from now on" },
    { command: "rota logs job-2026-11-15-k3x9qa7f", comment: "the output of a job" },
    { command: "rota logs k3x9qa7f -n 20", comment: "its last 20 lines; the end of its id is enough" },
    { command: "rota logs reports/nightly -f", comment: "follow a schedule, from its latest job on" },
  ],
  run: logs,
};

async function logs(call: Call): Promise<ExitCode> {
  const { args, isJson, option, output } = call;
  const [text] = args;
  const lines = option(LINES);
  await using connection = await connectToState(call);
  if (option(FOLLOW)) {
    const target = text === undefined ? {} : await followTarget(call, connection, text);
    return "id" in target
      ? await followJob(call, connection, target)
      : await new FleetFollower(call, connection, target).run();
  }
  if (text === undefined) {
    await printLatest(call, connection);
    return EXIT.ok;
  }
  const record = await findJob(connection.store.jobs, text);
  const whole = await connection.output(record.id);
  const bytes = whole === undefined ? undefined : lastLines(whole, lines);
  const now = connection.clock.now();
  if (isJson) output.json({ job: record, output: bytes?.toString("utf8") ?? null });
  else if (bytes === undefined) output.message(`${record.id} has no output. ${endOf(record, now, call)}`);
  else output.raw(bytes);
  return EXIT.ok;
}

/** One job, or the agent or schedule whose jobs are followed, also when it has none yet. */
async function followTarget(
  call: Call,
  connection: StateConnection,
  text: string,
): Promise<JobRecord | JobFilter> {
  const { jobs } = connection.store;
  const isName = dayInJobId(text) === undefined && (await hasJobs(jobs, text));
  const record = isName ? undefined : await findJobById(jobs, text);
  return record ?? findJobsOf(call, connection, text);
}

async function followJob(call: Call, connection: StateConnection, found: JobRecord): Promise<ExitCode> {
  const { context, option } = call;
  const job = new FollowedJob(call, connection, found);
  const printed = new PrintedJob(call, connection, undefined);
  for (let lines = option(LINES); !context.signal.aborted; lines = undefined) {
    const news = await job.next();
    printed.print({ ...news, bytes: lastLines(news.bytes, lines) });
    if (news.end !== undefined) return news.end === "ended" ? EXIT.ok : EXIT.failure;
    await pause(call, POLL_MS);
  }
  return EXIT.ok;
}

/** Prints what a job writes, and how it ends. */
class PrintedJob {
  readonly #call: Call;
  readonly #connection: StateConnection;
  readonly #lines: NamedLines | undefined;
  readonly #decoder = new TextDecoder();

  /** `name`: what each line begins with. */
  constructor(call: Call, connection: StateConnection, name: string | undefined) {
    this.#call = call;
    this.#connection = connection;
    this.#lines = name === undefined ? undefined : new NamedLines(name);
  }

  print({ record, bytes, end }: JobNews): void {
    const { isJson, output } = this.#call;
    const { id } = record;
    if (isJson) {
      const text = this.#decoder.decode(bytes, { stream: end === undefined });
      if (text !== "") output.jsonLine({ type: "output", job: id, text });
      if (end === "ended") output.jsonLine({ type: "end", job: record });
    } else {
      const shown = this.#lines?.add(bytes, end !== undefined) ?? bytes;
      if (shown.length > 0) output.raw(shown);
      if (end === "ended") output.message(endOf(record, this.#connection.clock.now(), this.#call));
    }
    if (end === "abandoned")
      output.message(
        `${id} will never end: the process that ran it is gone. The next scheduler marks it interrupted.`,
      );
  }
}

interface FollowedPrint {
  readonly job: FollowedJob;
  readonly printed: PrintedJob;
}

/** Follows the jobs of a schedule, an agent or the fleet until the reader of the output is gone. */
class FleetFollower {
  readonly #call: Call;
  readonly #connection: StateConnection;
  readonly #filter: JobFilter;
  /** The jobs that were seen, by id, with the time of their start. */
  readonly #seen = new Map<string, number>();
  readonly #followed = new Map<string, FollowedPrint>();

  constructor(call: Call, connection: StateConnection, filter: JobFilter) {
    this.#call = call;
    this.#connection = connection;
    this.#filter = filter;
  }

  async run(): Promise<ExitCode> {
    await this.#begin();
    while (!this.#call.context.signal.aborted) {
      await pause(this.#call, POLL_MS);
      for (const record of await this.#newJobs()) {
        if (!this.#call.isJson) this.#call.output.message(`${nameOfJob(record)}: ${record.id} started.`);
        this.#follow(record);
      }
      for (const [id, { job, printed }] of this.#followed) {
        const news = await job.next();
        printed.print(news);
        if (news.end !== undefined) this.#followed.delete(id);
      }
    }
    return EXIT.ok;
  }

  /** Prints the end of what is there: of the latest job, or of the fleet's latest jobs. Older jobs that run are followed too. */
  async #begin(): Promise<void> {
    const { jobs } = this.#connection.store;
    const isOne = this.#filter.schedule !== undefined;
    const latest = await jobs.list({ ...this.#filter, limit: isOne ? 1 : MOST_JOBS });
    const running = await jobs.list({ ...this.#filter, status: "running", limit: Infinity });
    for (const record of [...latest, ...running, ...(await this.#recent())]) this.#see(record);
    let left = this.#call.option(LINES) ?? (isOne ? Infinity : FLEET_LINES);
    const prints: (() => void)[] = [];
    const known = new Map([...latest, ...running].map((record) => [record.id, record]));
    for (const record of known.values()) {
      // A job that has ended is read only to show its last lines.
      if (left === 0 && record.status !== "running") continue;
      const { job, printed } = this.#follow(record);
      const news = await job.next();
      const bytes = lastLines(news.bytes, left);
      left -= countLines(bytes);
      // The end of a job that printed nothing is not news, unless it is the only one.
      if (bytes.length > 0 || isOne || news.end !== "ended")
        prints.push(() => printed.print({ ...news, bytes }));
      if (news.end !== undefined) this.#followed.delete(record.id);
    }
    for (const print of prints.toReversed()) print();
  }

  #follow(record: JobRecord): FollowedPrint {
    const isOne = this.#filter.schedule !== undefined;
    const name = isOne ? undefined : linePrefix(this.#call, record);
    const followed = {
      job: new FollowedJob(this.#call, this.#connection, record),
      printed: new PrintedJob(this.#call, this.#connection, name),
    };
    this.#followed.set(record.id, followed);
    return followed;
  }

  /** Oldest first. */
  async #newJobs(): Promise<readonly JobRecord[]> {
    const found = (await this.#recent()).filter(({ id }) => !this.#seen.has(id));
    for (const record of found) this.#see(record);
    const forgetMs = this.#connection.clock.now().getTime() - 2 * LATE_RECORD_MS;
    for (const [id, startedMs] of this.#seen)
      if (startedMs < forgetMs && !this.#followed.has(id)) this.#seen.delete(id);
    return found.toReversed();
  }

  #recent(): Promise<readonly JobRecord[]> {
    const since = new Date(this.#connection.clock.now().getTime() - LATE_RECORD_MS);
    return this.#connection.store.jobs.list({ ...this.#filter, since, limit: Infinity });
  }

  #see({ id, started_at }: JobRecord): void {
    this.#seen.set(id, isoTimeMs(started_at) ?? 0);
  }
}

/** The last lines of the fleet's jobs, oldest job first. */
async function printLatest(call: Call, connection: StateConnection): Promise<void> {
  const { isJson, option, output } = call;
  let left = option(LINES) ?? FLEET_LINES;
  const found: { readonly job: JobRecord; readonly bytes: Buffer }[] = [];
  for (const job of await connection.store.jobs.list({ limit: MOST_JOBS })) {
    if (left === 0) break;
    const bytes = lastLines((await connection.output(job.id)) ?? Buffer.alloc(0), left);
    left -= countLines(bytes);
    if (bytes.length > 0) found.push({ job, bytes });
  }
  const oldestFirst = found.toReversed();
  if (isJson) output.json(oldestFirst.map(({ job, bytes }) => ({ job, output: bytes.toString("utf8") })));
  else if (found.length === 0) output.message("No job has an output yet.");
  else
    for (const { job, bytes } of oldestFirst)
      output.raw(new NamedLines(linePrefix(call, job)).add(bytes, true));
}

function linePrefix({ output }: Call, record: JobRecord): string {
  return output.paint("dim", `${nameOfJob(record)} | `);
}

function nameOfJob({ agent, schedule }: JobRecord): string {
  return oneLine(schedule === null ? agent : `${agent}/${schedule}`);
}

/** "job-… failed after 3s: no such file". */
function endOf(record: JobRecord, now: Date, { output }: Call): string {
  const { id, status, error } = record;
  const took = tookText(record, now);
  const how = output.paintMessage(JOB_STYLES[status], status);
  const why = error === null ? "" : `: ${oneLine(error)}`;
  if (status === "running") return `${id} has been ${how} for ${took.replace("…", "")}.`;
  return took === "-" ? `${id} ${how}${why}` : `${id} ${how} after ${took}${why}`;
}

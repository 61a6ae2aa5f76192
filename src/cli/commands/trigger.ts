/** `rota trigger`: starts a job of a schedule now, in a running scheduler, or in this process when none runs. */
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { withTimeout } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import type { Agent } from "../../scheduler/agent.js";
import { readOrder, type TriggerOptions } from "../../scheduler/options.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { JobOrder } from "../../state/mailbox.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { awaitJob, OutputStream, reportJobEnd } from "../fleet/await-job.js";
import { type Argument, type Call, type Command, flag, textOption } from "../command.js";
import type { CliContext } from "../context.js";
import { refusedError, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../fleet/find-target.js";
import {
  type Fleet,
  type FleetSchedule,
  hasLiveScheduler,
  nameOf,
  readFleet,
  messageLogger,
} from "../fleet/fleet.js";
import type { SchedulerProcess, StateConnection } from "../location/state-location.js";
import { ElapsedProgress } from "../progress.js";
import { noReplyError, formatRefusal } from "../format/refusal.js";
import { processHost, type RunHost } from "../run/host.js";
import { StopSignals } from "../run/stop-signals.js";
import { oneLine } from "../format/text-width.js";

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent that has only one.",
  completion: "schedule",
};
const WAIT = flag("wait", {
  short: "w",
  summary: "Wait until the job has ended, and print its output. The exit code is 5 if it failed.",
});
const PROMPT = textOption("prompt", "text", {
  short: "p",
  summary: "The prompt of this job, instead of the schedule's. - reads it from stdin.",
});
const DATA = textOption("data", "file", {
  summary: "A JSON file with data for this job: {{path}} in its prompt, ROTA_DATA, job.data. - reads stdin.",
  completion: "file",
});
const KEY = textOption("key", "text", {
  summary: "Start one job for this key: within 24 hours the same key prints the same job's id.",
});

/** Tests pass their own host. */
export function triggerCommandOn(host: RunHost): Command {
  return {
    name: "trigger",
    summary: "Start a job of a schedule now, even while the schedule is paused.",
    details: [
      "A running scheduler starts the job, within the agent's capacity, and this command prints the job's id. When no " +
        "running scheduler knows the schedule, the job runs in the foreground of this command.",
    ],
    arguments: [TARGET],
    options: [WAIT, PROMPT, DATA, KEY],
    examples: [
      { command: "rota trigger reports/nightly", comment: "start it and print the job's id" },
      {
        command: "rota trigger reports/nightly --wait",
        comment: "start it, print its output and wait for its end",
      },
      {
        command: 'rota trigger inbox/hook --prompt "Answer {{from}}." --data mail.json',
        comment: "with a prompt and data",
      },
    ],
    run: (call) => trigger(call, host),
  };
}

export const triggerCommand: Command = triggerCommandOn(processHost);

async function trigger(call: Call, host: RunHost): Promise<ExitCode> {
  const order = await orderOf(call);
  await using fleet = await readFleet(call);
  const target = findTarget(fleet.schedules, call.args[0] ?? "");
  if (target.origin === "switched-off")
    throw refusedError(
      `${oneLine(nameOf(target))} was not started: it is switched off in the configuration (\`enabled: false\`)`,
    );
  // A live scheduler with a different configuration may not know the schedule.
  const able = (await fleet.connection.schedulers(target)).filter(({ isAlive }) => isAlive);
  return able.length > 0
    ? await askFor(call, fleet, { target, able, order })
    : await runHere(call, fleet, { target, host, order });
}

interface Asked {
  readonly target: FleetSchedule;
  /** The live schedulers that could start it. */
  readonly able: readonly SchedulerProcess[];
  readonly order: JobOrder;
}

/** What the job is to be started with. */
async function orderOf({ context, option }: Call): Promise<JobOrder> {
  const [prompt, file] = [option(PROMPT), option(DATA)];
  if (prompt === "-" && file === "-") throw usageError("--prompt - and --data - cannot both read stdin");
  const data = file === undefined ? undefined : await readData(context, file);
  const text = prompt === "-" ? await readPrompt(context) : prompt;
  const author = context.env["USER"] ?? context.env["LOGNAME"];
  try {
    return readOrder({ prompt: text, data, key: option(KEY), cause: "rota trigger", author });
  } catch (error) {
    throw usageError(messageOf(error), error);
  }
}

/** A line break at the end belongs to the pipe: the same prompt as an option is the same order. */
async function readPrompt(context: CliContext): Promise<string> {
  const text = (await readStdin(context)).replace(/\r?\n$/, "");
  if (text === "") throw usageError("--prompt - found nothing on stdin");
  return text;
}

async function readData(context: CliContext, file: string): Promise<unknown> {
  const name = file === "-" ? "stdin" : file;
  let text: string;
  try {
    text =
      file === "-"
        ? await readStdin(context)
        : await readFile(isAbsolute(file) ? file : join(context.cwd, file), "utf8");
  } catch (error) {
    const hint = /^\s*[[{"]/.test(file) ? ". It takes a file: pipe JSON to --data - instead" : "";
    throw usageError(`Could not read --data ${file}: ${messageOf(error)}${hint}`, error);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw usageError(`The data in ${name} is not JSON: ${messageOf(error)}`, error);
  }
}

async function readStdin({ stdin }: CliContext): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin ?? []) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

async function askFor(call: Call, { connection }: Fleet, { target, able, order }: Asked): Promise<ExitCode> {
  const { context, isJson, option, output } = call;
  const { agent, schedule } = target;
  const about = { clock: connection.clock, signal: context.signal };
  const answer = await askScheduler(
    connection.store,
    { agent, schedule },
    { ...order, action: "run" },
    about,
  );
  if (answer === undefined) throw noReplyError(able);
  if (answer.job_id == null)
    throw refusedError(`${oneLine(nameOf(target))} was not started: ${formatRefusal(answer.refusal)}`);
  const isWaiting = option(WAIT);
  if (!isJson) output.line(answer.job_id);
  else if (!isWaiting) output.json({ agent, schedule, job: answer.job_id });
  return isWaiting
    ? reportJobEnd(call, await awaitJob(call, connection, answer.job_id, { prints: true }))
    : EXIT.ok;
}

interface Foreground {
  readonly target: FleetSchedule;
  readonly host: RunHost;
  readonly order: JobOrder;
}

/** Runs the job with a scheduler in this process that starts no other job. It owns the state directory, or joins the database. */
async function runHere(call: Call, fleet: Fleet, { target, host, order }: Foreground): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const { clock } = context;
  const { agentDefinition: agent, definition, schedule, state } = target;
  const name = oneLine(nameOf(target));
  if (agent === undefined || definition === undefined)
    throw refusedError(
      `${name} was not started: no scheduler runs it, and the configuration does not define it`,
    );
  if (state.status === "disabled")
    throw refusedError(`${name} was not started: ${formatRefusal("disabled")}`);
  const plain = messageLogger(call);
  const isOwnEnd = (message: string): boolean => message.startsWith(`${nameOf(target)} failed (`);
  // How the job ended is reported at the end.
  const logger = { ...plain, error: (message: string) => void (isOwnEnd(message) || plain.error(message)) };
  await using opened = await fleet.location.open({
    clock,
    logger,
    jobs: fleet.config?.jobs,
    isManualOnly: true,
  });
  const { Scheduler } = await import("../../scheduler/scheduler.js");
  await using scheduler = new Scheduler({ ...fleet.config, store: opened.store, clock, logger });
  await scheduler.start([{ ...agent, schedules: { [schedule]: definition } }]);
  const reason = hasLiveScheduler(fleet) ? "No running scheduler knows this schedule" : "No scheduler runs";
  if (!isJson) output.message(`${reason}, so ${name} runs in this process.`);
  const record = await inForeground(call, {
    host,
    name,
    agent,
    schedule,
    scheduler,
    order,
    connection: fleet.connection,
  });
  await scheduler.stop({ timeout: Infinity });
  return reportJobEnd(call, record);
}

interface ForegroundJob {
  readonly host: RunHost;
  readonly name: string;
  readonly agent: Agent;
  readonly schedule: string;
  readonly scheduler: Scheduler;
  readonly order: JobOrder;
  readonly connection: StateConnection;
}

/** Returns the final record. Shows the elapsed time, and cancels the job at Ctrl-C. */
async function inForeground(call: Call, run: ForegroundJob): Promise<JobRecord> {
  const { context, option } = call;
  const { host, name, agent, schedule, scheduler, order, connection } = run;
  using stopped = new StopSignals(host);
  using _ = new ElapsedProgress(context, name);
  const ended = new Promise<JobRecord>((resolve) => {
    scheduler.on("job:finished", ({ job }) => resolve(job));
  });
  const { jobId, skipReason, error } = await scheduler.trigger(agent.name, schedule, triggerOptions(order));
  if (jobId === undefined)
    throw refusedError(`${name} was not started: ${error ?? formatRefusal(skipReason)}`);
  const signal = AbortSignal.any([context.signal, stopped.signal]);
  const cancel = (): void => void scheduler.cancel(jobId);
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    return option(WAIT)
      ? await printing(call, ended, new OutputStream(call, connection, jobId))
      : await ended;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

const PRINT_MS = 250;

/** Prints the output of a job in this process until it has ended. */
async function printing(
  { context }: Call,
  ended: Promise<JobRecord>,
  stream: OutputStream,
): Promise<JobRecord> {
  const race = { isOver: false };
  const over = ended.finally(() => {
    race.isOver = true;
  });
  while (!race.isOver) {
    await stream.print(false);
    await withTimeout(context.clock, PRINT_MS, over, () => undefined);
  }
  await stream.print(true);
  return ended;
}

/** An order without a prompt, data or key needs no place in the mailbox. */
function triggerOptions({ prompt, data, key, cause, author }: JobOrder): TriggerOptions {
  if (prompt === undefined && data === undefined && key === undefined) return {};
  return {
    prompt: prompt ?? undefined,
    data,
    key: key ?? undefined,
    cause: cause ?? undefined,
    author: author ?? undefined,
  };
}

/** `rota trigger`: starts a job of a schedule now, in a running scheduler, or in this process when none runs. */
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import type { Agent } from "../../scheduler/agent.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { awaitJob, reportJobEnd } from "../fleet/await-job.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
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
import type { SchedulerProcess } from "../location/state-location.js";
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
  summary: "Wait until the job has ended. The exit code is 5 if it failed.",
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
    options: [WAIT],
    examples: [
      { command: "rota trigger reports/nightly", comment: "start it and print the job's id" },
      { command: "rota trigger reports/nightly --wait", comment: "start it and wait for its end" },
    ],
    run: (call) => trigger(call, host),
  };
}

export const triggerCommand: Command = triggerCommandOn(processHost);

async function trigger(call: Call, host: RunHost): Promise<ExitCode> {
  await using fleet = await readFleet(call);
  const target = findTarget(fleet.schedules, call.args[0] ?? "");
  // A live scheduler with a different configuration may not know the schedule.
  const able = (await fleet.connection.schedulers(target)).filter(({ isAlive }) => isAlive);
  return able.length > 0
    ? await askFor(call, fleet, { target, able })
    : await runHere(call, fleet, { target, host });
}

interface Asked {
  readonly target: FleetSchedule;
  /** The live schedulers that could start it. */
  readonly able: readonly SchedulerProcess[];
}

async function askFor(call: Call, { connection }: Fleet, { target, able }: Asked): Promise<ExitCode> {
  const { context, isJson, option, output } = call;
  const { agent, schedule } = target;
  const about = { clock: connection.clock, signal: context.signal };
  const answer = await askScheduler(connection.store, { agent, schedule }, { action: "run" }, about);
  if (answer === undefined) throw noReplyError(able);
  if (answer.job_id == null)
    throw refusedError(`${oneLine(nameOf(target))} was not started: ${formatRefusal(answer.refusal)}`);
  const isWaiting = option(WAIT);
  if (!isJson) output.line(answer.job_id);
  else if (!isWaiting) output.json({ agent, schedule, job: answer.job_id });
  return isWaiting ? reportJobEnd(call, await awaitJob(call, connection, answer.job_id)) : EXIT.ok;
}

interface Foreground {
  readonly target: FleetSchedule;
  readonly host: RunHost;
}

/** Runs the job with a scheduler in this process that starts no other job. It owns the state directory, or joins the database. */
async function runHere(call: Call, fleet: Fleet, { target, host }: Foreground): Promise<ExitCode> {
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
  const logger = messageLogger(call);
  await using opened = await fleet.location.open({ clock, logger, isManualOnly: true });
  const { Scheduler } = await import("../../scheduler/scheduler.js");
  await using scheduler = new Scheduler({ ...fleet.config, store: opened.store, clock, logger });
  await scheduler.start([{ ...agent, schedules: { [schedule]: definition } }]);
  const reason = hasLiveScheduler(fleet) ? "No running scheduler knows this schedule" : "No scheduler runs";
  if (!isJson) output.message(`${reason}, so ${name} runs in this process.`);
  const record = await inForeground(call, { host, name, agent, schedule, scheduler });
  await scheduler.stop({ timeout: Infinity });
  return reportJobEnd(call, record);
}

interface ForegroundJob {
  readonly host: RunHost;
  readonly name: string;
  readonly agent: Agent;
  readonly schedule: string;
  readonly scheduler: Scheduler;
}

/** Returns the final record. Shows the elapsed time, and cancels the job at Ctrl-C. */
async function inForeground({ context }: Call, run: ForegroundJob): Promise<JobRecord> {
  const { host, name, agent, schedule, scheduler } = run;
  using stopped = new StopSignals(host);
  using _ = new ElapsedProgress(context, name);
  const ended = new Promise<JobRecord>((resolve) => {
    scheduler.on("job:finished", ({ job }) => resolve(job));
  });
  const { jobId, skipReason, error } = await scheduler.trigger(agent.name, schedule);
  if (jobId === undefined)
    throw refusedError(`${name} was not started: ${error ?? formatRefusal(skipReason)}`);
  const signal = AbortSignal.any([context.signal, stopped.signal]);
  const cancel = (): void => void scheduler.cancel(jobId);
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    return await ended;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

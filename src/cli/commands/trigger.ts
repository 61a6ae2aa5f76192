/** `rota trigger`: a job of a schedule now. By a scheduler that runs, or right here where none does. */
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import type { Agent } from "../../scheduler/agent.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import { awaitJob, tellEnd } from "../fleet/await-job.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../fleet/find-target.js";
import { type Fleet, type FleetSchedule, isRun, nameOf, readFleet, talkingLogger } from "../fleet/fleet.js";
import type { SeenScheduler } from "../location/state-location.js";
import { Turning } from "../progress.js";
import { noAnswerError, refusalInWords } from "../format/refusal.js";
import { processHost, type RunHost } from "../run/host.js";
import { StopSignals } from "../run/stop-signals.js";
import { oneLine } from "../format/text-width.js";

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent that has only one.",
  completion: "schedule",
};
const WAIT = flag("wait", { short: "w", summary: "Wait until the job has ended: exit code 5 if it failed." });

/** A test brings its own host. */
export function triggerCommandOn(host: RunHost): Command {
  return {
    name: "trigger",
    summary: "Start a job of a schedule now, whatever the time, also while it is paused.",
    details: [
      "The scheduler that runs starts it, within the agent's capacity, and the id of the job is printed. Where no " +
        "scheduler runs that knows it, the job runs right here, in the foreground, and is waited for.",
    ],
    arguments: [TARGET],
    options: [WAIT],
    examples: [
      { command: "rota trigger reports/nightly", says: "start it and print the job's id" },
      { command: "rota trigger reports/nightly --wait", says: "and wait for its end" },
    ],
    run: (call) => trigger(call, host),
  };
}

export const triggerCommand: Command = triggerCommandOn(processHost);

async function trigger(call: Call, host: RunHost): Promise<ExitCode> {
  await using fleet = await readFleet(call);
  const target = findTarget(fleet.schedules, call.args[0] ?? "");
  // One that runs with another configuration knows nothing of it.
  const able = (await fleet.guest.schedulers(target)).filter(({ isAlive }) => isAlive);
  return able.length > 0
    ? await askFor(call, fleet, { target, able })
    : await runHere(call, fleet, { target, host });
}

interface Asked {
  readonly target: FleetSchedule;
  /** Who could start it. */
  readonly able: readonly SeenScheduler[];
}

async function askFor(call: Call, { guest }: Fleet, { target, able }: Asked): Promise<ExitCode> {
  const { context, isJson, option, output } = call;
  const { agent, schedule } = target;
  const about = { clock: guest.clock, signal: context.signal };
  const answer = await askScheduler(guest.store, { agent, schedule }, { action: "run" }, about);
  if (answer === undefined) throw noAnswerError(able);
  if (answer.job_id == null)
    throw refusedError(`${oneLine(nameOf(target))} was not started: ${refusalInWords(answer.refusal)}`);
  const isWaiting = option(WAIT);
  if (!isJson) output.line(answer.job_id);
  else if (!isWaiting) output.json({ agent, schedule, job: answer.job_id });
  return isWaiting ? tellEnd(call, await awaitJob(call, guest, answer.job_id)) : EXIT.ok;
}

interface Foreground {
  readonly target: FleetSchedule;
  readonly host: RunHost;
}

/** By a scheduler that starts nothing else: what one owns is owned meanwhile, and what several share has one more. */
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
    throw refusedError(`${name} was not started: ${refusalInWords("disabled")}`);
  const logger = talkingLogger(call);
  await using home = await fleet.place.settle({ clock, logger, isByHand: true });
  const { Scheduler } = await import("../../scheduler/scheduler.js");
  await using scheduler = new Scheduler({ ...fleet.config, store: home.store, clock, logger });
  await scheduler.start([{ ...agent, schedules: { [schedule]: definition } }]);
  if (!isJson) output.talk(`No scheduler runs${isRun(fleet) ? " that knows it" : ""}, so ${name} runs here.`);
  const record = await inForeground(call, { host, name, agent, schedule, scheduler });
  await scheduler.stop({ timeout: Infinity });
  return tellEnd(call, record);
}

interface ForegroundRun {
  readonly host: RunHost;
  readonly name: string;
  readonly agent: Agent;
  readonly schedule: string;
  readonly scheduler: Scheduler;
}

/** Answers how its job ended. Shows that it goes on, and tells it to end when the process is to. */
async function inForeground({ context }: Call, run: ForegroundRun): Promise<JobRecord> {
  const { host, name, agent, schedule, scheduler } = run;
  using stopped = new StopSignals(host);
  using _ = new Turning(context, name);
  const ended = new Promise<JobRecord>((resolve) => {
    scheduler.on("job:finished", ({ job }) => resolve(job));
  });
  const { jobId, skipReason, error } = await scheduler.trigger(agent.name, schedule);
  if (jobId === undefined)
    throw refusedError(`${name} was not started: ${error ?? refusalInWords(skipReason)}`);
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

/** `rota trigger`: a job of a schedule now. By the scheduler that runs, or right here where none does. */
import { askScheduler } from "../../scheduler/ask-scheduler.js";
import type { RunResult } from "../../scheduler/agent.js";
import { FileStore } from "../../state/file-store.js";
import { awaitJob, tellEnd } from "../await-job.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../find-target.js";
import { type Fleet, type FleetSchedule, guestStore, nameOf, readFleet, talkingLogger } from "../fleet.js";
import { Turning } from "../progress.js";
import { noAnswerError, refusalInWords } from "../refusal-in-words.js";
import { processHost, type RunHost } from "../run/host.js";
import { StopSignals } from "../run/stop-signals.js";
import { oneLine } from "../text-width.js";

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
        "scheduler runs, the job runs right here, in the foreground, and is waited for.",
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
  const fleet = await readFleet(call);
  const target = findTarget(fleet.schedules, call.args[0] ?? "");
  return fleet.owner?.isAlive === true ? askFor(call, fleet, target) : runHere(call, fleet, target, host);
}

async function askFor(call: Call, fleet: Fleet, target: FleetSchedule): Promise<ExitCode> {
  const { context, isJson, option, output } = call;
  const { agent, schedule } = target;
  await using store = guestStore(call, fleet.stateDir);
  const { clock, signal } = context;
  const answer = await askScheduler(store, { agent, schedule }, { action: "run" }, { clock, signal });
  if (answer === undefined) throw noAnswerError(fleet.owner);
  if (answer.job_id == null)
    throw refusedError(`${oneLine(nameOf(target))} was not started: ${refusalInWords(answer.refusal)}`);
  const isWaiting = option(WAIT);
  if (!isJson) output.line(answer.job_id);
  else if (!isWaiting) output.json({ agent, schedule, job: answer.job_id });
  return isWaiting ? tellEnd(call, await awaitJob(call, store, fleet.stateDir, answer.job_id)) : EXIT.ok;
}

/** The directory is owned meanwhile: no scheduler starts that would run the schedule a second time. */
async function runHere(
  call: Call,
  { stateDir }: Fleet,
  target: FleetSchedule,
  host: RunHost,
): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const { clock } = context;
  const { agentDefinition: agent, definition: schedule, schedule: scheduleName, state } = target;
  const name = oneLine(nameOf(target));
  if (agent === undefined || schedule === undefined)
    throw refusedError(
      `${name} was not started: no scheduler runs, and the configuration does not define it`,
    );
  if (state.status === "disabled")
    throw refusedError(`${name} was not started: ${refusalInWords("disabled")}`);
  const logger = talkingLogger(call);
  await using owner = new FileStore({ stateDir, clock, logger });
  await owner.open(clock);
  if (!isJson) output.talk(`No scheduler runs, so ${name} runs here.`);
  const { runSchedule } = await import("../../scheduler/schedule-runner.js");
  const { jobId, skipped, summary, error } = await inForeground(call, host, name, (signal) =>
    runSchedule({ agent, scheduleName, schedule, stateDir, logger, clock, signal }),
  );
  const record = jobId === undefined ? undefined : await owner.jobs.get(jobId);
  if (record !== undefined) return tellEnd(call, record);
  if (isJson) output.json({ agent: agent.name, schedule: scheduleName, job: null, summary, error });
  else output.talk(`${name} ran no job: ${error ?? summary ?? "there was nothing to do"}.`);
  return skipped === true ? EXIT.ok : EXIT.jobFailed;
}

/** Shows that it goes on, and tells it to end when the process is to. */
async function inForeground(
  { context }: Call,
  host: RunHost,
  name: string,
  act: (signal: AbortSignal) => Promise<RunResult>,
): Promise<RunResult> {
  using stopped = new StopSignals(host);
  using _ = new Turning(context, name);
  return await act(AbortSignal.any([context.signal, stopped.signal]));
}

/** `rota cancel`: asks the scheduler that runs a job to cancel it. */
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import { awaitJob, reportJobEnd } from "../fleet/await-job.js";
import { type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJob, JOB } from "../fleet/find-job.js";
import { connectToState } from "../fleet/fleet.js";
import { noReplyError, formatRefusal } from "../format/refusal.js";

const WAIT = flag("wait", { short: "w", summary: "Wait until the job has ended." });

export const cancelCommand: Command = {
  name: "cancel",
  summary: "Cancel a running job.",
  details: [
    "A function's AbortSignal aborts. A command gets SIGTERM, and SIGKILL if it has not ended after the grace period.",
  ],
  arguments: [JOB],
  options: [WAIT],
  examples: [
    { command: "rota cancel job-2026-11-15-k3x9qa7f", comment: "cancel it" },
    {
      command: "rota cancel reports/nightly --wait",
      comment: "the latest job of a schedule, and wait for its end",
    },
  ],
  run: cancel,
};

async function cancel(call: Call): Promise<ExitCode> {
  const { args, context, isJson, option, output } = call;
  await using connection = await connectToState(call);
  const { store, clock } = connection;
  const { id, agent, schedule, status } = await findJob(store.jobs, args[0] ?? "");
  if (status !== "running") throw refusedError(`${id} was not cancelled: it has already ended (${status})`);
  const schedulers = await connection.schedulers();
  if (!schedulers.some(({ isAlive }) => isAlive))
    throw refusedError(`${id} was not cancelled: no scheduler runs. The next scheduler marks it interrupted`);
  if (schedule === null)
    throw refusedError(
      `${id} was not cancelled: it has no schedule, so only the program that started it can cancel it`,
    );
  const request = { action: "cancel", job_id: id } as const;
  const answer = await askScheduler(store, { agent, schedule }, request, { clock, signal: context.signal });
  if (answer === undefined) throw noReplyError(schedulers.filter(({ isAlive }) => isAlive));
  if (answer.job_id == null) throw refusedError(`${id} was not cancelled: ${formatRefusal(answer.refusal)}`);
  if (option(WAIT)) {
    reportJobEnd(call, await awaitJob(call, connection, id));
    return EXIT.ok;
  }
  if (isJson) output.json({ job: id, told: true });
  else output.message(`Cancelling ${id}.`);
  return EXIT.ok;
}

/** `rota cancel`: tells a running job to end, through the scheduler that runs it. */
import { askScheduler } from "../../scheduler/control/ask-scheduler.js";
import { awaitJob, tellEnd } from "../fleet/await-job.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJob } from "../fleet/find-job.js";
import { visitState } from "../fleet/fleet.js";
import { noAnswerError, refusalInWords } from "../format/refusal.js";

const JOB: Argument = {
  name: "job",
  isRequired: true,
  summary: "Its id or the end of it; or an agent or agent/schedule, for its latest job.",
  completion: "job",
};
const WAIT = flag("wait", { short: "w", summary: "Wait until the job has ended." });

export const cancelCommand: Command = {
  name: "cancel",
  summary: "Tell a running job to end.",
  details: [
    "Its signal fires: a function hears it, a command gets SIGTERM and, if it does not end, SIGKILL after the grace.",
  ],
  arguments: [JOB],
  options: [WAIT],
  examples: [
    { command: "rota cancel job-2026-11-15-k3x9qa", says: "tell it to end" },
    { command: "rota cancel reports/nightly --wait", says: "the job of a schedule, and wait for its end" },
  ],
  run: cancel,
};

async function cancel(call: Call): Promise<ExitCode> {
  const { args, context, isJson, option, output } = call;
  await using guest = await visitState(call);
  const { store, clock } = guest;
  const { id, agent, schedule, status } = await findJob(store.jobs, args[0] ?? "");
  if (status !== "running") throw refusedError(`${id} was not cancelled: it has ended already (${status})`);
  const schedulers = await guest.schedulers();
  if (!schedulers.some(({ isAlive }) => isAlive))
    throw refusedError(`${id} was not cancelled: no scheduler runs it. The next one marks it interrupted`);
  if (schedule === null)
    throw refusedError(`${id} was not cancelled: it belongs to no schedule, so only its host can cancel it`);
  const request = { action: "cancel", job_id: id } as const;
  const answer = await askScheduler(store, { agent, schedule }, request, { clock, signal: context.signal });
  if (answer === undefined) throw noAnswerError(schedulers.filter(({ isAlive }) => isAlive));
  if (answer.job_id == null) throw refusedError(`${id} was not cancelled: ${refusalInWords(answer.refusal)}`);
  if (option(WAIT)) {
    tellEnd(call, await awaitJob(call, guest, id));
    return EXIT.ok;
  }
  if (isJson) output.json({ job: id, told: true });
  else output.talk(`Told ${id} to end.`);
  return EXIT.ok;
}

/** `rota logs`: what a job printed, and with `-f` what it prints until it has ended. */
import type { JobRecord } from "../../state/job-log/job-log.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJob } from "../fleet/find-job.js";
import { visitState } from "../fleet/fleet.js";
import { OutputTail } from "../fleet/output-tail.js";
import type { Guest } from "../location/state-location.js";
import { oneLine } from "../format/text-width.js";
import { JOB_STYLES, tookText } from "./jobs.js";

const JOB: Argument = {
  name: "job",
  isRequired: true,
  summary: "Its id or the end of it; or an agent or agent/schedule, for its latest job.",
  completion: "job",
};
const FOLLOW = flag("follow", { short: "f", summary: "Go on until the job has ended." });
const LOOK_EVERY_MS = 500;
/** A cut is written and then the rest taken away: what is read in between is neither. */
const SETTLED_AFTER_MS = 50;

export const logsCommand: Command = {
  name: "logs",
  summary: "Print what a job printed, also while it runs.",
  arguments: [JOB],
  options: [FOLLOW],
  examples: [
    { command: "rota logs job-2026-11-15-k3x9qa", says: "the output of a job" },
    { command: "rota logs k3x9qa", says: "the same, by the end of its id" },
    { command: "rota logs reports/nightly -f", says: "follow the latest job of a schedule" },
  ],
  run: logs,
};

async function logs(call: Call): Promise<ExitCode> {
  const { args, isJson, option, output } = call;
  await using guest = await visitState(call);
  const record = await findJob(guest.store.jobs, args[0] ?? "");
  if (option(FOLLOW)) return await follow(call, guest, record);
  const bytes = await guest.output(record.id);
  const now = guest.clock.now();
  if (isJson) output.json({ job: record, output: bytes?.toString("utf8") ?? null });
  else if (bytes === undefined) output.talk(`${record.id} has no output. ${endOf(record, now, call)}`);
  else output.raw(bytes);
  return EXIT.ok;
}

async function follow(call: Call, guest: Guest, found: JobRecord): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const tail = new OutputTail();
  const decoder = new TextDecoder();
  const { id } = found;
  while (!context.signal.aborted) {
    // The record first: what is written before a job ends is there when its end is.
    const record = (await guest.store.jobs.get(id)) ?? found;
    const isOver = record.status !== "running";
    const isAbandoned = !isOver && (await guest.isAbandoned(id));
    const news = tail.news(await settledOutput(call, { tail, guest, id }));
    const text = isJson ? decoder.decode(news, { stream: !isOver }) : "";
    if (text !== "") output.jsonLine({ type: "output", job: id, text });
    else if (!isJson && news.length > 0) output.raw(news);
    if (isOver) {
      if (isJson) output.jsonLine({ type: "end", job: record });
      else output.talk(endOf(record, guest.clock.now(), call));
      return EXIT.ok;
    }
    if (isAbandoned) {
      output.talk(
        `${id} was left by a process that is gone: it will not end. The next scheduler marks it interrupted.`,
      );
      return EXIT.failure;
    }
    await rest(call, LOOK_EVERY_MS);
  }
  return EXIT.ok;
}

async function settledOutput(
  call: Call,
  { tail, guest, id }: { readonly tail: OutputTail; readonly guest: Guest; readonly id: string },
): Promise<Buffer> {
  const bytes = (await guest.output(id)) ?? Buffer.alloc(0);
  if (tail.isContinuedBy(bytes)) return bytes;
  await rest(call, SETTLED_AFTER_MS);
  return (await guest.output(id)) ?? Buffer.alloc(0);
}

/** Ends early when nobody reads any more. */
async function rest({ context }: Call, ms: number): Promise<void> {
  try {
    await context.clock.sleep(ms, context.signal);
  } catch (error) {
    if (!context.signal.aborted) throw error;
  }
}

/** "job-… failed after 3s: no such file". */
function endOf(record: JobRecord, now: Date, { output }: Call): string {
  const { id, status, error } = record;
  const took = tookText(record, now);
  const how = output.paintTalk(JOB_STYLES[status], status);
  const why = error === null ? "" : `: ${oneLine(error)}`;
  if (status === "running") return `${id} is ${how}, since ${took.replace("…", "")}.`;
  return took === "-" ? `${id} ${how}${why}` : `${id} ${how} after ${took}${why}`;
}

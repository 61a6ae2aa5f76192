/** `rota logs`: prints the output of a job, and with `-f` follows it until the job ends. */
import type { JobRecord } from "../../state/job-log/job-log.js";
import { type Call, type Command, flag } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJob, JOB } from "../fleet/find-job.js";
import { connectToState } from "../fleet/fleet.js";
import { OutputTail } from "../fleet/output-tail.js";
import type { StateConnection } from "../location/state-location.js";
import { oneLine } from "../format/text-width.js";
import { JOB_STYLES, tookText } from "../format/job.js";

const FOLLOW = flag("follow", { short: "f", summary: "Follow the output until the job has ended." });
const POLL_MS = 500;
/** Cutting output takes two writes; a read between them is inconsistent, so it is repeated after this time. */
const SETTLED_AFTER_MS = 50;

export const logsCommand: Command = {
  name: "logs",
  summary: "Print the output of a job, also while it runs.",
  arguments: [JOB],
  options: [FOLLOW],
  examples: [
    { command: "rota logs job-2026-11-15-k3x9qa", comment: "the output of a job" },
    { command: "rota logs k3x9qa", comment: "the same, by the end of its id" },
    { command: "rota logs reports/nightly -f", comment: "follow the latest job of a schedule" },
  ],
  run: logs,
};

async function logs(call: Call): Promise<ExitCode> {
  const { args, isJson, option, output } = call;
  await using connection = await connectToState(call);
  const record = await findJob(connection.store.jobs, args[0] ?? "");
  if (option(FOLLOW)) return await follow(call, connection, record);
  const bytes = await connection.output(record.id);
  const now = connection.clock.now();
  if (isJson) output.json({ job: record, output: bytes?.toString("utf8") ?? null });
  else if (bytes === undefined) output.message(`${record.id} has no output. ${endOf(record, now, call)}`);
  else output.raw(bytes);
  return EXIT.ok;
}

async function follow(call: Call, connection: StateConnection, found: JobRecord): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const tail = new OutputTail();
  const decoder = new TextDecoder();
  const { id } = found;
  while (!context.signal.aborted) {
    // Reads the record before the output, because all output is written before the job's end is recorded.
    const record = (await connection.store.jobs.get(id)) ?? found;
    const isOver = record.status !== "running";
    const isAbandoned = !isOver && (await connection.isAbandoned(id));
    const newBytes = tail.nextBytes(await settledOutput(call, { tail, connection, id }));
    const text = isJson ? decoder.decode(newBytes, { stream: !isOver }) : "";
    if (text !== "") output.jsonLine({ type: "output", job: id, text });
    else if (!isJson && newBytes.length > 0) output.raw(newBytes);
    if (isOver) {
      if (isJson) output.jsonLine({ type: "end", job: record });
      else output.message(endOf(record, connection.clock.now(), call));
      return EXIT.ok;
    }
    if (isAbandoned) {
      output.message(
        `${id} will never end: the process that ran it is gone. The next scheduler marks it interrupted.`,
      );
      return EXIT.failure;
    }
    await sleep(call, POLL_MS);
  }
  return EXIT.ok;
}

async function settledOutput(
  call: Call,
  {
    tail,
    connection,
    id,
  }: { readonly tail: OutputTail; readonly connection: StateConnection; readonly id: string },
): Promise<Buffer> {
  const bytes = (await connection.output(id)) ?? Buffer.alloc(0);
  if (tail.isContinuedBy(bytes)) return bytes;
  await sleep(call, SETTLED_AFTER_MS);
  return (await connection.output(id)) ?? Buffer.alloc(0);
}

/** Returns early when the reader of the output is gone. */
async function sleep({ context }: Call, ms: number): Promise<void> {
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
  const how = output.paintMessage(JOB_STYLES[status], status);
  const why = error === null ? "" : `: ${oneLine(error)}`;
  if (status === "running") return `${id} has been ${how} for ${took.replace("…", "")}.`;
  return took === "-" ? `${id} ${how}${why}` : `${id} ${how} after ${took}${why}`;
}

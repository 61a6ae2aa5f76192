/** Waits for the end of a job that runs in another process, and reports how it ended. */
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { Call } from "../command.js";
import { JOB_STYLES, tookText } from "../format/job.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import type { StateConnection } from "../location/state-location.js";
import { OutputTail } from "./output-tail.js";
import { Progress } from "../progress.js";
import { oneLine } from "../format/text-width.js";
import { shortDuration } from "../format/when.js";

const POLL_MS = 250;

/** Prints what a job has written since the last call. With --json nothing: the record alone is the result. */
export class OutputStream {
  readonly #call: Call;
  readonly #read: (jobId: string) => Promise<Buffer | undefined>;
  readonly #id: string;
  readonly #tail = new OutputTail();

  constructor(call: Call, connection: Pick<StateConnection, "output">, id: string) {
    this.#call = call;
    this.#read = (jobId) => connection.output(jobId);
    this.#id = id;
  }

  /** `isLast`: the job has ended. `before` is called if there is something to print. */
  async print(isLast: boolean, before: () => void = () => {}): Promise<void> {
    const { isJson, output } = this.#call;
    if (isJson) return;
    const now = (await this.#read(this.#id)) ?? Buffer.alloc(0);
    // A read while the middle is cut is inconsistent: the next one shows it.
    if (!isLast && !this.#tail.isContinuedBy(now)) return;
    const bytes = this.#tail.nextBytes(now);
    if (bytes.length === 0) return;
    before();
    output.raw(bytes);
  }
}

/** Returns the job's final record; `prints`: and its output while it runs. Rejects when no process will end the job, or when the reader of the output is gone. */
export async function awaitJob(
  call: Call,
  connection: StateConnection,
  id: string,
  { prints = false }: { readonly prints?: boolean } = {},
): Promise<JobRecord> {
  const { clock, signal } = call.context;
  const progress = new Progress(call.context);
  const startedMs = clock.monotonic();
  const stream = new OutputStream(call, connection, id);
  try {
    for (;;) {
      const record = await connection.store.jobs.get(id);
      if (prints)
        await stream.print(record !== undefined && record.status !== "running", () => progress.end());
      if (record !== undefined && record.status !== "running") return record;
      if (record !== undefined && (await connection.isAbandoned(id)))
        throw refusedError(`${id} will never end: the process that ran it is gone`);
      progress.show(`${id} running, ${shortDuration(clock.monotonic() - startedMs)}`);
      await clock.sleep(POLL_MS, signal);
    }
  } finally {
    progress.end();
  }
}

/** Prints how a job ended, and returns the exit code for it. */
export function reportJobEnd(call: Call, record: JobRecord): ExitCode {
  const { context, isJson, output } = call;
  const { id, status, error, summary } = record;
  if (isJson) output.json(record);
  else {
    const how = output.paintMessage(JOB_STYLES[status], status);
    const said = error ?? summary;
    const took = tookText(record, context.clock.now());
    output.message(`${id} ${how} after ${took}${said === null ? "" : `: ${oneLine(said)}`}`);
  }
  return status === "completed" ? EXIT.ok : EXIT.jobFailed;
}

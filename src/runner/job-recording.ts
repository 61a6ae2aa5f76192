/**
 * A job's record in a store that may fail or hang: opened before the job runs or not at all, closed when it has ended,
 * and read afterwards by who wants its output. Nobody waits for a store for ever.
 */
import type { Clock } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { JobRecord, NewJob } from "../state/job-log/job-log.js";
import type { StateStore } from "../state/store.js";
import { RunnerError } from "./errors.js";
import type { RunnerResult } from "./result.js";
import { inTime } from "./time-limit.js";

/** What is needed of a store. */
export type JobStore = Pick<StateStore, "jobs">;

/** How often the end of a job is tried to be recorded, and how long is waited in between. */
const TRIES = 3;
const RETRY_MS = 1_000;
/** The most characters of an output that a result has. */
const LONGEST_OUTPUT = 100 * 1024;

export interface RecordingOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a call to the store may take, in milliseconds. */
  readonly storeTimeoutMs: number;
}

export class JobRecording {
  readonly #options: RecordingOptions;

  constructor(options: RecordingOptions) {
    this.#options = options;
  }

  /** Rejects when it could not be opened, or not in time; one that is opened too late is handed to `onLate`. */
  async open(store: JobStore, job: NewJob, onLate: (record: JobRecord) => void): Promise<JobRecord> {
    const { clock, storeTimeoutMs } = this.#options;
    const opening = store.jobs.start(job);
    try {
      const failure = "The job was not run: the store did not open its record";
      return await inTime(clock, storeTimeoutMs, opening, failure);
    } catch (error) {
      if (isTimeout(error)) opening.then(onLate, () => {});
      throw error;
    }
  }

  /** Never rejects. One that hangs is not tried again: it may still come, and another would wait behind it. */
  async close(store: JobStore, result: RunnerResult): Promise<void> {
    const { clock, logger, storeTimeoutMs } = this.#options;
    const { jobId, status, summary, error, durationMs, exitCode, responseBody } = result;
    for (let triesLeft = TRIES; ;) {
      try {
        const closing = store.jobs.finish(jobId, {
          status,
          summary,
          error,
          duration_ms: durationMs,
          exit_code: exitCode,
          response_body: responseBody,
        });
        await inTime(clock, storeTimeoutMs, closing, "the store gave no answer");
        return;
      } catch (cause) {
        triesLeft--;
        logger.error(`Could not record the end of ${jobId}: ${messageOf(cause)}`);
        if (triesLeft === 0 || isTimeout(cause)) return;
        await clock.sleep(RETRY_MS);
      }
    }
  }

  /** The end of what the job wrote; `undefined` where it wrote nothing, or where that cannot be read. */
  async outputOf(store: JobStore, jobId: string): Promise<string | undefined> {
    const { clock, logger, storeTimeoutMs } = this.#options;
    try {
      const reading = store.jobs.readOutput(jobId);
      const output = await inTime(clock, storeTimeoutMs, reading, "the store gave no answer");
      return output === undefined ? undefined : endOf(output);
    } catch (error) {
      logger.warn(`Could not read the output of ${jobId}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof RunnerError && error.code === "STORE_TIMEOUT";
}

function endOf(output: string): string {
  if (output.length <= LONGEST_OUTPUT) return output;
  // Half a character at its beginning is none.
  return `…${output.slice(-LONGEST_OUTPUT).replace(/^[\uDC00-\uDFFF]/, "")}`;
}

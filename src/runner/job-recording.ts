/**
 * Writes a job's record to a store that may fail or hang: opens it before the job runs, or not at all, and closes it
 * when the job has ended. Every call to the store has a time limit.
 */
import { type Clock, withTimeout } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { JobRecord, NewJob } from "../state/job-log/job-log.js";
import type { StateStore } from "../state/store.js";
import { RunnerError } from "./errors.js";
import type { RunnerResult } from "./result.js";

/** The part of a store that an executor needs. */
export type JobStore = Pick<StateStore, "jobs">;

/** How often to try to close a record, and the pause between two tries. */
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

  /** Rejects when the store refuses the record or takes too long; then `onLate` gets a record that opens later. */
  async open(store: JobStore, job: NewJob, onLate: (record: JobRecord) => void): Promise<JobRecord> {
    const opening = store.jobs.start(job);
    try {
      return await this.#inTime(opening, "The job was not run: the store did not open its record");
    } catch (error) {
      if (isTimeout(error)) opening.then(onLate, () => {});
      throw error;
    }
  }

  /** Never rejects. Does not repeat a call that hangs: it may still succeed, and a second call would wait behind it. */
  async close(store: JobStore, result: RunnerResult): Promise<void> {
    const { clock, logger } = this.#options;
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
        await this.#inTime(closing, "the store did not reply");
        return;
      } catch (cause) {
        triesLeft--;
        logger.error(`Could not record the end of ${jobId}: ${messageOf(cause)}`);
        if (triesLeft === 0 || isTimeout(cause)) return;
        await clock.sleep(RETRY_MS);
      }
    }
  }

  /** The end of what the job wrote; `undefined` when the job wrote nothing, or the store cannot read it. */
  async outputOf(store: JobStore, jobId: string): Promise<string | undefined> {
    try {
      const output = await this.#inTime(store.jobs.readOutput(jobId), "the store did not reply");
      return output === undefined ? undefined : endOf(output);
    } catch (error) {
      this.#options.logger.warn(`Could not read the output of ${jobId}: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Rejects with STORE_TIMEOUT when the call takes too long. */
  #inTime<Value>(call: PromiseLike<Value>, failure: string): Promise<Value> {
    const { clock, storeTimeoutMs } = this.#options;
    return withTimeout(clock, storeTimeoutMs, call, () => {
      throw new RunnerError(`${failure} in ${storeTimeoutMs} ms.`, { code: "STORE_TIMEOUT" });
    });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof RunnerError && error.code === "STORE_TIMEOUT";
}

function endOf(output: string): string {
  if (output.length <= LONGEST_OUTPUT) return output;
  // The cut may have split a surrogate pair.
  return `…${output.slice(-LONGEST_OUTPUT).replace(/^[\uDC00-\uDFFF]/, "")}`;
}

/**
 * Runs a job and writes its record: opens it before the job runs, and closes it once when the job has ended.
 * job-runner.ts runs the job and makes sure that it ends.
 */
import { systemClock } from "../clock.js";
import { type Duration, readDuration } from "../duration.js";
import { messageOf } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobRecord, JobTrigger, NewJob } from "../state/job-log/job-log.js";
import { invalidArgument } from "./errors.js";
import { SharedStores } from "../state/file/shared-stores.js";
import { JobRecording, type JobStore } from "./job-recording.js";
import { JobRunner, type JobRunnerOptions } from "./job-runner.js";
import { notRun, type RunnerResult } from "./result.js";
import type { RunnableAgent } from "./runtime.js";

export type { JobStore } from "./job-recording.js";

export interface JobExecutorOptions extends Omit<JobRunnerOptions, "openOutput"> {
  /** Where jobs are recorded. */
  readonly store?: JobStore | undefined;
  /** In place of a store: its directory. A scheduler may run on it meanwhile. */
  readonly stateDir?: string | undefined;
  /**
   * How long the store may take to open or to close a record: milliseconds, or text such as "30s". When a record does
   * not open in time, the job does not run. When it does not close in time, the executor logs an error and returns the
   * job's result.
   * @default 30_000
   */
  readonly storeTimeoutMs?: Duration | undefined;
}

export interface ExecuteOptions {
  readonly agent: RunnableAgent;
  readonly prompt: string;
  /** @default the executor's */
  readonly store?: JobStore | undefined;
  /** @default the executor's */
  readonly stateDir?: string | undefined;
  /** @default "manual" */
  readonly triggerType?: JobTrigger | undefined;
  /** The schedule's name. */
  readonly schedule?: string | undefined;
  /** The due time that the job runs for. */
  readonly slot?: Date | string | undefined;
  /** The job's idempotency key. @default made of agent, schedule and slot */
  readonly key?: string | null | undefined;
  /** Why the job was planned for that time. */
  readonly source?: NewJob["source"];
  /** Counts from 1. @default 1 */
  readonly attempt?: number | undefined;
  readonly workItem?: unknown;
  /** What the job was triggered with: any JSON value. */
  readonly data?: unknown;
  /** For an executor that needs only the item's name. */
  readonly workItemId?: string | undefined;
  readonly workItemTitle?: string | undefined;
  /** Milliseconds, or text such as "5m". @default the agent's */
  readonly timeout?: unknown;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
  /** A record that the caller has opened, and will close. */
  readonly job?: JobRecord | undefined;
  /** Whether the result has the job's `output`, read from the log when the job has ended. @default false */
  readonly withOutput?: boolean | undefined;
}

const DEFAULT_STORE_TIMEOUT_MS = 30_000;

export class JobExecutor {
  readonly #options: JobExecutorOptions;
  readonly #logger: Logger;
  readonly #recording: JobRecording;
  readonly #sharedStores: SharedStores;
  /** The store of each running job, by job id. */
  readonly #stores = new Map<string, JobStore>();
  readonly #runner: JobRunner;

  constructor(options: JobExecutorOptions = {}) {
    this.#options = options;
    const { clock = systemClock } = options;
    const storeTimeoutMs = readDuration(
      options.storeTimeoutMs ?? DEFAULT_STORE_TIMEOUT_MS,
      "storeTimeoutMs",
      { error: invalidArgument },
    );
    const logger = guarded(options.logger ?? processLogger);
    this.#logger = logger;
    this.#recording = new JobRecording({ clock, logger, storeTimeoutMs });
    this.#sharedStores = new SharedStores({ clock, closeTimeoutMs: storeTimeoutMs });
    this.#runner = new JobRunner({ ...options, openOutput: async (jobId) => this.#openOutput(jobId) });
  }

  /** How many jobs are running, not counting abandoned ones. */
  get runningCount(): number {
    return this.#stores.size;
  }

  /** How many jobs were abandoned because they did not end, since this executor was made. */
  get abandonedCount(): number {
    return this.#runner.abandonedCount;
  }

  /** Never rejects: when the job cannot run or its record cannot be opened, the result has the error. */
  async execute(options: ExecuteOptions): Promise<RunnerResult> {
    try {
      return await this.#withStore(options, (store) => this.#run(options, store));
    } catch (error) {
      return notRun(options.job?.id ?? "", "failed", messageOf(error));
    }
  }

  #withStore<Result>(
    { store, stateDir }: ExecuteOptions,
    act: (store: JobStore) => Promise<Result>,
  ): Promise<Result> {
    if (store !== undefined) return act(store);
    const ownStore = stateDir === undefined ? this.#options.store : undefined;
    if (ownStore !== undefined) return act(ownStore);
    const directory = stateDir ?? this.#options.stateDir;
    if (directory !== undefined) return this.#sharedStores.use({ stateDir: directory }, this.#logger, act);
    throw invalidArgument("No store configured: pass `store` or `stateDir`.");
  }

  async #run(options: ExecuteOptions, store: JobStore): Promise<RunnerResult> {
    const record = options.job ?? (await this.#open(options, store));
    this.#stores.set(record.id, store);
    try {
      const result = await this.#resultOf(options, record);
      if (options.job === undefined) await this.#recording.close(store, result);
      if (options.withOutput !== true) return result;
      const output = await this.#recording.outputOf(store, record.id);
      return output === undefined ? result : { ...result, output };
    } finally {
      this.#stores.delete(record.id);
    }
  }

  async #resultOf(options: ExecuteOptions, job: JobRecord): Promise<RunnerResult> {
    const { agent, prompt, schedule: scheduleName, key, workItem, timeout, signal } = options;
    const { id, attempt } = job;
    if (signal?.aborted === true)
      return notRun(id, "cancelled", `Cancelled before it started: ${messageOf(signal.reason)}`);
    const request = { id, agent, scheduleName, attempt, job, key, timeout, signal };
    return this.#runner.run(request, prompt, workItem);
  }

  #open(options: ExecuteOptions, store: JobStore): Promise<JobRecord> {
    return this.#recording.open(
      store,
      startOf(options),
      (record) => void this.#closeLate(options, record.id),
    );
  }

  /** Closes the record of a job that does not run because its record opened too late. */
  async #closeLate(options: ExecuteOptions, jobId: string): Promise<void> {
    const error = "The job was not run: the store opened its record too late.";
    this.#logger.warn(`${jobId} of ${options.agent.name}: ${error}`);
    try {
      // The store of a state directory may have been closed by now.
      await this.#withStore(options, (store) => this.#recording.close(store, notRun(jobId, "failed", error)));
    } catch (cause) {
      this.#logger.error(`Could not record the end of ${jobId}: ${messageOf(cause)}`);
    }
  }

  #openOutput(jobId: string): ReturnType<JobStore["jobs"]["openOutput"]> {
    const store = this.#stores.get(jobId);
    if (store !== undefined) return store.jobs.openOutput(jobId);
    throw invalidArgument(`The job ${jobId} has ended: its output is closed.`);
  }
}

function startOf(options: ExecuteOptions): NewJob {
  const { agent, prompt, triggerType = "manual", schedule, slot, source, attempt, workItem, data } = options;
  return {
    agent: agent.name,
    schedule,
    trigger: triggerType,
    slot: slot instanceof Date ? slot.toISOString() : slot,
    source,
    attempt,
    prompt,
    work_item: workItem,
    data,
  };
}

/**
 * Runs a job and keeps its record: opened before anything runs, closed once when it has ended, whatever happened.
 * How it runs, and that it ends, is job-runner.ts's business.
 */
import { systemClock } from "../clock.js";
import { messageOf } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobRecord, JobTrigger, NewJob } from "../state/job-log/job-log.js";
import { RunnerError } from "./errors.js";
import { GuestStores } from "../state/file/shared-stores.js";
import { JobRecording, type JobStore } from "./job-recording.js";
import { JobRunner, type JobRunnerOptions } from "./job-runner.js";
import { notRun, type RunnerResult } from "./result.js";
import type { RunnableAgent } from "./runtime.js";

export type { JobStore } from "./job-recording.js";

export interface JobExecutorOptions extends Omit<JobRunnerOptions, "openOutput"> {
  /** Where jobs are recorded. */
  readonly store?: JobStore | undefined;
  /** In place of a store: the directory of one, which may be another's. */
  readonly stateDir?: string | undefined;
  /**
   * How long the store may take to open or to close a record, in milliseconds. A job whose record is not opened by then
   * is not run; one whose record is not closed by then has its result all the same, and an error is logged.
   * @default 30_000
   */
  readonly storeTimeoutMs?: number | undefined;
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
  /** The due time it runs for. */
  readonly slot?: Date | string | undefined;
  /** Why it was planned for that time. */
  readonly source?: NewJob["source"];
  /** Counts from 1. @default 1 */
  readonly attempt?: number | undefined;
  readonly workItem?: unknown;
  /** For an executor that only needs to name it. */
  readonly workItemId?: string | undefined;
  readonly workItemTitle?: string | undefined;
  /** Milliseconds, or text such as "5m". @default the agent's */
  readonly timeout?: unknown;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
  /** The record of a job that the caller has opened, and will close. */
  readonly job?: JobRecord | undefined;
  /** Whether the result has the job's `output`, which is read from the log when the job has ended. @default false */
  readonly withOutput?: boolean | undefined;
}

const DEFAULT_STORE_TIMEOUT_MS = 30_000;

export class JobExecutor {
  readonly #options: JobExecutorOptions;
  readonly #logger: Logger;
  readonly #recording: JobRecording;
  readonly #guests: GuestStores;
  /** Where the outputs of the jobs under way go. */
  readonly #stores = new Map<string, JobStore>();
  readonly #runner: JobRunner;

  constructor(options: JobExecutorOptions = {}) {
    this.#options = options;
    const { clock = systemClock, storeTimeoutMs = DEFAULT_STORE_TIMEOUT_MS } = options;
    const logger = guarded(options.logger ?? processLogger);
    this.#logger = logger;
    this.#recording = new JobRecording({ clock, logger, storeTimeoutMs });
    this.#guests = new GuestStores(clock, logger, storeTimeoutMs);
    this.#runner = new JobRunner({ ...options, openOutput: async (jobId) => this.#openOutput(jobId) });
  }

  /** How many jobs are under way, without those that were given up. */
  get runningCount(): number {
    return this.#stores.size;
  }

  /** How many jobs were ever given up because they did not end. */
  get abandonedCount(): number {
    return this.#runner.abandonedCount;
  }

  /** Never rejects: what keeps a job from being run or recorded is its error. */
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
    if (directory !== undefined) return this.#guests.use(directory, act);
    throw new RunnerError("A job cannot be recorded nowhere: give a store or a stateDir.", {
      code: "INVALID_ARGUMENT",
    });
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
    const { agent, prompt, schedule: scheduleName, workItem, timeout, signal } = options;
    const { id, attempt } = job;
    if (signal?.aborted === true)
      return notRun(id, "cancelled", `Cancelled before it started: ${messageOf(signal.reason)}`);
    const request = { id, agent, scheduleName, attempt, job, timeout, signal };
    return this.#runner.run(request, prompt, workItem);
  }

  #open(options: ExecuteOptions, store: JobStore): Promise<JobRecord> {
    return this.#recording.open(
      store,
      startOf(options),
      (record) => void this.#closeLate(options, record.id),
    );
  }

  /** Nobody runs this job: its record is not left open. */
  async #closeLate(options: ExecuteOptions, jobId: string): Promise<void> {
    const error = "The job was not run: the store opened its record too late.";
    this.#logger.warn(`${jobId} of ${options.agent.name}: ${error}`);
    try {
      // A guest may have left by now, and comes back for it.
      await this.#withStore(options, (store) => this.#recording.close(store, notRun(jobId, "failed", error)));
    } catch (cause) {
      this.#logger.error(`Could not record the end of ${jobId}: ${messageOf(cause)}`);
    }
  }

  #openOutput(jobId: string): ReturnType<JobStore["jobs"]["openOutput"]> {
    const store = this.#stores.get(jobId);
    if (store !== undefined) return store.jobs.openOutput(jobId);
    throw new RunnerError(`The job ${jobId} has ended: it has no output any more.`, {
      code: "INVALID_ARGUMENT",
    });
  }
}

function startOf(options: ExecuteOptions): NewJob {
  const { agent, prompt, triggerType = "manual", schedule, slot, source, attempt, workItem } = options;
  return {
    agent: agent.name,
    schedule,
    trigger: triggerType,
    slot: slot instanceof Date ? slot.toISOString() : slot,
    source,
    attempt,
    prompt,
    work_item: workItem,
  };
}

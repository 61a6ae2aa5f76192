/**
 * Runs a job and keeps its record: opened before anything runs, closed once when it has ended, whatever happened.
 * How it runs, and that it ends, is job-runner.ts's business.
 */
import { type Clock, systemClock } from "../clock.js";
import { messageOf } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobRecord, JobTrigger, NewJob } from "../state/jobs/job-log.js";
import type { StateStore } from "../state/state-store.js";
import { RunnerError } from "./errors.js";
import { GuestStores } from "./guest-stores.js";
import { JobRunner, type JobRunnerOptions } from "./job-runner.js";
import type { RunnerResult } from "./runner-result.js";
import type { RunnableAgent } from "./runtime.js";

/** What is needed of a store. */
export type JobStore = Pick<StateStore, "jobs">;

export interface JobExecutorOptions extends Omit<JobRunnerOptions, "openOutput"> {
  /** Where jobs are recorded. */
  readonly store?: JobStore | undefined;
  /** In place of a store: the directory of one, which may be another's. */
  readonly stateDir?: string | undefined;
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
}

/** How often the end of a job is tried to be recorded, and how long is waited in between. */
const TRIES = 3;
const RETRY_MS = 1_000;

export class JobExecutor {
  readonly #options: JobExecutorOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #guests: GuestStores;
  /** Where the outputs of the jobs under way go. */
  readonly #stores = new Map<string, JobStore>();
  readonly #runner: JobRunner;

  constructor(options: JobExecutorOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = guarded(options.logger ?? processLogger);
    this.#guests = new GuestStores(this.#clock, this.#logger);
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
      return {
        success: false,
        jobId: options.job?.id ?? "",
        status: "failed",
        error: messageOf(error),
        durationMs: 0,
      };
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
    const record = options.job ?? (await store.jobs.start(startOf(options)));
    this.#stores.set(record.id, store);
    try {
      const result = await this.#resultOf(options, record);
      if (options.job === undefined) await this.#close(store, result);
      return result;
    } finally {
      this.#stores.delete(record.id);
    }
  }

  async #resultOf(options: ExecuteOptions, job: JobRecord): Promise<RunnerResult> {
    const { agent, prompt, schedule: scheduleName, workItem, timeout, signal } = options;
    const { id, attempt } = job;
    if (signal?.aborted === true)
      return {
        success: false,
        jobId: id,
        status: "cancelled",
        error: `Cancelled before it started: ${messageOf(signal.reason)}`,
        durationMs: 0,
      };
    const startedMs = this.#clock.monotonic();
    const request = { id, agent, scheduleName, attempt, job, timeout, signal, startedMs };
    const result = await this.#runner.run(request, prompt, workItem);
    if (result !== undefined) return result;
    const durationMs = Math.round(this.#clock.monotonic() - startedMs);
    return { success: true, jobId: id, status: "completed", durationMs };
  }

  async #close(store: JobStore, result: RunnerResult): Promise<void> {
    const { jobId, status, summary, error, durationMs, exitCode, responseBody } = result;
    for (let triesLeft = TRIES; ;) {
      try {
        await store.jobs.finish(jobId, {
          status,
          summary,
          error,
          duration_ms: durationMs,
          exit_code: exitCode,
          response_body: responseBody,
        });
        return;
      } catch (cause) {
        triesLeft--;
        this.#logger.error(`Could not record the end of ${jobId}: ${messageOf(cause)}`);
        if (triesLeft === 0) return;
        await this.#clock.sleep(RETRY_MS);
      }
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

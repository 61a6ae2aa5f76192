/**
 * Runs one job to its end, whatever its runtime does, and never throws or rejects.
 * job-executor.ts or the scheduler writes the job's record.
 */
import { type Clock, systemClock } from "../clock.js";
import { type Duration, readDuration } from "../duration.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobOutput } from "../state/job-log/job-log.js";
import { timeoutMs } from "./configuration.js";
import { invalidArgument } from "./errors.js";
import { JobContext, type JobRequest } from "./job-context.js";
import { type JobLimits, type LimitedRun, runWithin } from "./job-limits.js";
import type { OutputOptions } from "./output/output-writer.js";
import { isPromiseLike } from "../fields.js";
import { RuntimeRegistry } from "./registry.js";
import { checkedResult, type RunnerResult, runnerResult, thrownResult, timeoutStop } from "./result.js";
import type { RunnableAgent, Runtime, RuntimeContext, SdkQuery } from "./runtime.js";

export interface JobRunnerOptions {
  /** @default systemClock */
  readonly clock?: Clock | undefined;
  /** @default Node's process warnings */
  readonly logger?: Logger | undefined;
  /** @default a registry of function, command, http and messages */
  readonly runtimes?: RuntimeRegistry | undefined;
  readonly sdkQuery?: SdkQuery | undefined;
  /**
   * How long a job may take to end after the runner told it to: milliseconds, or text such as "30s". Then the runner
   * abandons the job. `Infinity`: the runner waits without end.
   * @default 10_000
   */
  readonly graceMs?: Duration | undefined;
  /** The same for a cancelled job. @default graceMs */
  readonly cancelGraceMs?: Duration | undefined;
  /**
   * How long writing the output may keep a job from ending: milliseconds, or text such as "30s".
   * @default 5_000
   */
  readonly outputTimeoutMs?: Duration | undefined;
  /** Opens a job's output, when the job first writes to it. */
  openOutput(jobId: string): Promise<JobOutput>;
}

export const DEFAULT_GRACE_MS = 10_000;
export const DEFAULT_OUTPUT_TIMEOUT_MS = 5_000;

export class JobRunner {
  readonly #runtimes: RuntimeRegistry;
  readonly #context: RuntimeContext;
  readonly #cancelGraceMs: number;
  readonly #output: OutputOptions;
  /** One for each agent, so that an agent's configuration is checked once. */
  readonly #made = new WeakMap<object, Runtime>();
  #runningCount = 0;
  #abandonedCount = 0;

  constructor(options: JobRunnerOptions) {
    const { clock = systemClock, sdkQuery } = options;
    const graceMs = optionMs(options.graceMs ?? DEFAULT_GRACE_MS, "graceMs");
    this.#cancelGraceMs = optionMs(options.cancelGraceMs ?? graceMs, "cancelGraceMs");
    const logger = guarded(options.logger ?? processLogger);
    const outputTimeoutMs = optionMs(options.outputTimeoutMs ?? DEFAULT_OUTPUT_TIMEOUT_MS, "outputTimeoutMs");
    this.#runtimes = options.runtimes ?? new RuntimeRegistry();
    this.#context = { clock, logger, graceMs, sdkQuery };
    const openOutput = async (jobId: string): Promise<JobOutput> => options.openOutput(jobId);
    this.#output = { clock, logger, outputTimeoutMs, openOutput };
  }

  /** How many jobs are running, not counting abandoned ones. */
  get runningCount(): number {
    return this.#runningCount;
  }

  /** How many jobs were abandoned because they did not end, since this runner was made. */
  get abandonedCount(): number {
    return this.#abandonedCount;
  }

  /** Calls the job's runtime before it returns. Resolves when the job has ended and its output is written. */
  async run(request: JobRequest, prompt: string, workItem?: unknown): Promise<RunnerResult> {
    const { clock } = this.#context;
    const { agent } = request;
    // The request counts from before its work item was fetched, the timeout from after.
    const startedMs = (workItem === undefined ? request.startedMs : undefined) ?? clock.monotonic();
    let limitMs: number | undefined;
    let runtime: Runtime | undefined;
    let job: JobContext | undefined;
    let run: LimitedRun;
    this.#runningCount++;
    try {
      const limit = request.timeout ?? agent.timeout;
      if (limit !== undefined) limitMs = timeoutMs(limit, `agent ${agent.name}`);
      runtime = this.#runtimeOf(agent);
      const options = { output: this.#output, runtime, hasTimeout: limitMs !== undefined };
      job = new JobContext(request, options, prompt, workItem);
      const returned = runtime.run(job);
      // A job that has ended needs neither a timer nor a signal.
      run = isPromiseLike(returned)
        ? await runWithin(returned, this.#limitsOf(job, runtime, startedMs, limitMs))
        : { said: checkedResult(returned), stop: undefined };
    } catch (error) {
      run = { said: thrownResult(error), stop: undefined };
    }
    const durationMs = Math.round(clock.monotonic() - startedMs);
    if (run.stop?.abandonedAfterMs !== undefined) this.#countAbandoned(request);
    // A job that blocked the event loop kept its timer from firing.
    const overdue = limitMs === undefined || durationMs < limitMs ? undefined : timeoutStop(limitMs);
    const result = runnerResult(request.id, run.said, run.stop ?? overdue, durationMs, runtime?.secrets);
    const closing = job?.close();
    if (closing !== undefined) await closing;
    this.#runningCount--;
    return result;
  }

  #limitsOf(
    job: JobContext,
    { lingerMs = 0 }: Runtime,
    startedMs: number,
    limitMs: number | undefined,
  ): JobLimits {
    const { clock, graceMs, logger } = this.#context;
    return {
      clock,
      timeoutMs: limitMs,
      leftMs: limitMs === undefined ? Infinity : limitMs - (clock.monotonic() - startedMs),
      graceMs: graceMs + lingerMs,
      cancelGraceMs: this.#cancelGraceMs + lingerMs,
      signal: job.cancelSignal,
      abort: (reason) => job.abort(reason),
      onLate: (lateMs) => {
        const name = `${job.jobId} of ${job.agent.name}`;
        logger.info(`${name} ended ${lateMs} ms after it was abandoned: its result is ignored.`);
      },
    };
  }

  #countAbandoned({ id, agent }: JobRequest): void {
    this.#abandonedCount++;
    this.#context.logger.warn(
      `${id} of ${agent.name} did not end within the grace after it was told to: it is abandoned.`,
    );
  }

  #runtimeOf(agent: RunnableAgent): Runtime {
    const made = this.#made.get(agent);
    if (made !== undefined) return made;
    const runtime = this.#runtimes.runtimeOf(agent, this.#context);
    this.#made.set(agent, runtime);
    return runtime;
  }
}

function optionMs(given: Duration, name: string): number {
  return readDuration(given, name, { error: invalidArgument });
}

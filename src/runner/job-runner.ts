/**
 * Runs one job to its end, whatever its runtime does, and never throws or rejects.
 * What is recorded of it, and where, is job-executor.ts's business, or the scheduler's.
 */
import { type Clock, systemClock } from "../clock.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobOutput } from "../state/job-log/job-log.js";
import { timeoutMs } from "./configuration.js";
import { functionRuntime } from "./runtimes/function-runtime.js";
import { endingOf } from "./job-limits.js";
import { isPromiseLike } from "./promise-like.js";
import { type Ending, resultOf, type RunnerResult, SUCCESS, type StopCause } from "./result.js";
import { type JobRequest, type JobSetting, RunningJob } from "./job-context.js";
import type { RunnableAgent, Runtime, RuntimeContext, SdkQuery } from "./runtime.js";
import { RuntimeRegistry } from "./registry.js";

export interface JobRunnerOptions {
  /** @default the system's */
  readonly clock?: Clock | undefined;
  /** @default Node's process warnings */
  readonly logger?: Logger | undefined;
  /** @default a registry of the four that Rota has */
  readonly runtimes?: RuntimeRegistry | undefined;
  readonly sdkQuery?: SdkQuery | undefined;
  /**
   * How long a job has to end after it was told to, in milliseconds; then it is given up. `Infinity`: never.
   * @default 10_000
   */
  readonly graceMs?: number | undefined;
  /** The same, for one that was cancelled. @default graceMs */
  readonly cancelGraceMs?: number | undefined;
  /**
   * How long its output may keep a job from ending, in milliseconds.
   * @default 5_000
   */
  readonly outputTimeoutMs?: number | undefined;
  /** Opens a job's output, when the job first writes to it. */
  openOutput(jobId: string): Promise<JobOutput>;
}

export const DEFAULT_GRACE_MS = 10_000;
export const DEFAULT_OUTPUT_TIMEOUT_MS = 5_000;

export class JobRunner {
  readonly #runtimes: RuntimeRegistry;
  readonly #context: RuntimeContext;
  readonly #cancelGraceMs: number;
  /** Of all jobs that run by a function and may take for ever. */
  readonly #plain: JobSetting;
  /** Made once for each agent: its configuration is checked then. */
  readonly #made = new WeakMap<object, Runtime>();
  #runningCount = 0;
  #abandonedCount = 0;

  constructor(options: JobRunnerOptions) {
    const { clock = systemClock, graceMs = DEFAULT_GRACE_MS, sdkQuery } = options;
    this.#cancelGraceMs = options.cancelGraceMs ?? graceMs;
    const logger = guarded(options.logger ?? processLogger);
    const { outputTimeoutMs = DEFAULT_OUTPUT_TIMEOUT_MS } = options;
    this.#runtimes = options.runtimes ?? new RuntimeRegistry();
    this.#context = { clock, logger, graceMs, sdkQuery };
    const openOutput = async (jobId: string): Promise<JobOutput> => options.openOutput(jobId);
    const place = { clock, logger, outputTimeoutMs, openOutput };
    this.#plain = { place, runtime: functionRuntime, isLimited: false };
  }

  /** How many jobs are under way, without those that were given up. */
  get runningCount(): number {
    return this.#runningCount;
  }

  /** How many jobs were ever given up because they did not end. */
  get abandonedCount(): number {
    return this.#abandonedCount;
  }

  /**
   * Answers at once where the job ends at once and writes nothing: that costs no promise. Answers nothing where it
   * also succeeds and has nothing to say: a burst has thousands of those.
   */
  run(
    request: JobRequest,
    prompt: string,
    workItem?: unknown,
  ): RunnerResult | Promise<RunnerResult> | undefined {
    const { clock } = this.#context;
    const { agent } = request;
    // A work item has taken its time before.
    const calledMs = workItem === undefined ? request.startedMs : undefined;
    const startedMs = calledMs ?? clock.monotonic();
    let job: RunningJob | undefined;
    let limitMs: number | undefined;
    let ending: Ending;
    let runtime: Runtime | undefined;
    try {
      const limit = request.timeout ?? agent.timeout;
      if (limit !== undefined) limitMs = timeoutMs(limit, `agent ${agent.name}`);
      // The way of most needs no looking up.
      runtime = agent.runtime == null && agent.run !== undefined ? functionRuntime : this.#runtimeOf(agent);
      const isPlain = limitMs === undefined && runtime === functionRuntime;
      const setting = isPlain ? this.#plain : { ...this.#plain, runtime, isLimited: limitMs !== undefined };
      job = new RunningJob(request, setting, prompt, workItem);
      const answer = runtime.run(job);
      if (answer === SUCCESS && limitMs === undefined && job.end() === undefined) return undefined;
      if (isPromiseLike(answer)) return this.#runOn(job, runtime, answer, startedMs, limitMs);
      ending = { how: "answered", answer };
    } catch (error) {
      ending = { how: "threw", error };
    }
    const tookMs = Math.round(clock.monotonic() - startedMs);
    const result = resultOf(request.id, tookMs, ending, overdue(limitMs, tookMs), runtime?.secrets);
    const closing = job?.end();
    return closing === undefined ? result : closed(closing, result);
  }

  async #runOn(
    job: RunningJob,
    runtime: Runtime,
    answer: PromiseLike<unknown>,
    startedMs: number,
    limitMs: number | undefined,
  ): Promise<RunnerResult> {
    const { clock, graceMs, logger } = this.#context;
    const { jobId, agent } = job;
    this.#runningCount++;
    let abandonedMs = 0;
    const { ending, stop } = await endingOf(answer, {
      clock,
      timeoutMs: limitMs,
      leftMs: limitMs === undefined ? undefined : limitMs - (clock.monotonic() - startedMs),
      graceMs: graceMs + (runtime.lingerMs ?? 0),
      cancelGraceMs: this.#cancelGraceMs + (runtime.lingerMs ?? 0),
      signal: job.outerSignal,
      abort: (reason) => job.abort(reason),
      onLate: () => {
        const lateMs = Math.round(clock.monotonic() - abandonedMs);
        logger.info(
          `${jobId} of ${agent.name} ended ${lateMs} ms after it was given up: its result is dropped.`,
        );
      },
    });
    const endedMs = clock.monotonic();
    const tookMs = Math.round(endedMs - startedMs);
    if (ending.how === "abandoned") {
      abandonedMs = endedMs;
      this.#abandonedCount++;
      logger.warn(`${jobId} of ${agent.name} did not end when it was told to: it is given up.`);
    }
    const cause = stop ?? overdue(limitMs, tookMs);
    const result = resultOf(jobId, tookMs, ending, cause, runtime.secrets);
    await job.end();
    this.#runningCount--;
    return result;
  }

  #runtimeOf(agent: RunnableAgent): Runtime {
    const made = this.#made.get(agent);
    if (made !== undefined) return made;
    const runtime = this.#runtimes.runtimeOf(agent, this.#context);
    this.#made.set(agent, runtime);
    return runtime;
  }
}

/** A job that kept everybody from looking at the clock has timed out too. */
function overdue(limitMs: number | undefined, tookMs: number): StopCause | undefined {
  return limitMs === undefined || tookMs < limitMs ? undefined : { status: "timeout", timeoutMs: limitMs };
}

async function closed(closing: Promise<void>, result: RunnerResult): Promise<RunnerResult> {
  await closing;
  return result;
}

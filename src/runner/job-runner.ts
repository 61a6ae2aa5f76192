/**
 * Runs one job to its end, whatever its runtime does, and never throws or rejects.
 * What is recorded of it, and where, is job-executor.ts's business, or the scheduler's.
 */
import { type Clock, systemClock } from "../clock.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobOutput } from "../state/jobs/job-log.js";
import { timeoutMs } from "./configuration.js";
import { functionRuntime } from "./function-runtime.js";
import { endingOf } from "./job-ending.js";
import type { OutputPlace } from "./output-writer.js";
import { isPromiseLike } from "./promise-like.js";
import { type Ending, resultOf, type RunnerResult, SUCCESS, type StopCause } from "./runner-result.js";
import { type JobRequest, type JobSetting, RunningJob } from "./running-job.js";
import type { Runtime, RuntimeContext, SdkQuery } from "./runtime.js";
import { RuntimeRegistry } from "./runtime-registry.js";

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
  readonly #place: OutputPlace;
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
    this.#place = { clock, logger, outputTimeoutMs, openOutput };
    this.#plain = { place: this.#place, runtime: functionRuntime, isLimited: false };
  }

  /** How many jobs are under way, without those that were given up. */
  get runningCount(): number {
    return this.#runningCount;
  }

  /** How many jobs were ever given up because they did not end. */
  get abandonedCount(): number {
    return this.#abandonedCount;
  }

  /** Answers at once where the job ends at once, has no time limit and writes nothing: that costs no promise. */
  run(request: JobRequest): RunnerResult | Promise<RunnerResult> {
    const { clock } = this.#context;
    const startedMs = request.startedMs ?? clock.monotonic();
    let job: RunningJob | undefined;
    let limitMs: number | undefined;
    let ending: Ending;
    let runtime: Runtime | undefined;
    try {
      limitMs = limitOf(request);
      runtime = this.#runtimeOf(request);
      job = new RunningJob(request, this.#settingOf(runtime, limitMs !== undefined));
      const answer = runtime.run(job);
      // A burst has thousands of them: as little as can be is made for each.
      if (answer === SUCCESS && limitMs === undefined && job.end() === undefined) {
        const durationMs = Math.round(clock.monotonic() - startedMs);
        return { success: true, jobId: job.jobId, status: "completed", durationMs };
      }
      if (isPromiseLike(answer)) return this.#runOn(job, runtime, answer, startedMs, limitMs);
      ending = { how: "answered", answer };
    } catch (error) {
      ending = { how: "threw", error };
    }
    const tookMs = Math.round(clock.monotonic() - startedMs);
    const result = resultOf(request.jobId, tookMs, ending, overdue(limitMs, tookMs), runtime?.secrets);
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

  /** One for all jobs that run by a function and may take for ever. */
  #settingOf(runtime: Runtime, isLimited: boolean): JobSetting {
    const isPlain = !isLimited && runtime === functionRuntime;
    return isPlain ? this.#plain : { place: this.#place, runtime, isLimited };
  }

  #runtimeOf({ agent }: JobRequest): Runtime {
    // The way of most, which needs no looking up.
    if (agent.runtime == null && agent.run !== undefined) return functionRuntime;
    const made = this.#made.get(agent);
    if (made !== undefined) return made;
    const runtime = this.#runtimes.runtimeOf(agent, this.#context);
    this.#made.set(agent, runtime);
    return runtime;
  }
}

function limitOf({ timeout, agent }: JobRequest): number | undefined {
  const given = timeout ?? agent.timeout;
  return given === undefined ? undefined : timeoutMs(given, `agent ${agent.name}`);
}

/** A job that kept everybody from looking at the clock has timed out too. */
function overdue(limitMs: number | undefined, tookMs: number): StopCause | undefined {
  return limitMs === undefined || tookMs < limitMs ? undefined : { status: "timeout", timeoutMs: limitMs };
}

async function closed(closing: Promise<void>, result: RunnerResult): Promise<RunnerResult> {
  await closing;
  return result;
}

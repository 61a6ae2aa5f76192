/**
 * Runs one job to its end, whatever its runtime does, and never throws or rejects.
 * job-executor.ts or the scheduler writes the job's record.
 */
import { type Clock, systemClock, wakeAfter } from "../clock.js";
import { type Duration, readDuration } from "../duration.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import type { JobOutput } from "../state/job-log/job-log.js";
import { timeoutMs } from "./configuration.js";
import { invalidArgument } from "./errors.js";
import { JobContext, type JobRequest } from "./job-context.js";
import type { OutputOptions } from "./output/output-writer.js";
import { isPromiseLike } from "../fields.js";
import { RuntimeRegistry } from "./registry.js";
import {
  cancelStop,
  checkedResult,
  type JobStop,
  type RunnerResult,
  runnerResult,
  thrownResult,
  timeoutStop,
} from "./result.js";
import type { RunnableAgent, Runtime, RuntimeContext, RuntimeResult, SdkQuery } from "./runtime.js";

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

  /**
   * Calls the job's runtime before it returns. Resolves when the job has ended and its output is written. A job that ends
   * at once, as thousands in a burst do, costs one promise, and neither a timer nor a signal.
   */
  run(request: JobRequest, prompt: string, workItem?: unknown): Promise<RunnerResult> {
    this.#runningCount++;
    // The request counts from before its work item was fetched, the timeout from after.
    const requestedMs = workItem === undefined ? request.startedMs : undefined;
    const startedMs = requestedMs ?? this.#context.clock.monotonic();
    const run: RunUnderWay = { request, startedMs, limitMs: undefined, runtime: undefined, job: undefined };
    let said: RuntimeResult | PromiseLike<unknown>;
    try {
      said = this.#call(run, prompt, workItem);
    } catch (error) {
      said = thrownResult(error);
      run.job?.logStacks(error);
    }
    if (!isPromiseLike(said)) return this.#end(run, { said, stop: undefined });
    return runWithin(said, this.#limitsOf(run)).then((ended) => this.#end(run, ended));
  }

  /** Calls the runtime. What it returns at once is checked, a promise is not. */
  #call(run: RunUnderWay, prompt: string, workItem: unknown): RuntimeResult | PromiseLike<unknown> {
    const { request } = run;
    const { agent } = request;
    const limit = request.timeout ?? agent.timeout;
    if (limit !== undefined) run.limitMs = timeoutMs(limit, `agent ${agent.name}`);
    run.runtime = this.#runtimeOf(agent);
    const options = { output: this.#output, runtime: run.runtime, hasTimeout: run.limitMs !== undefined };
    run.job = new JobContext(request, options, prompt, workItem);
    const returned = run.runtime.run(run.job);
    return isPromiseLike(returned) ? returned : checkedResult(returned);
  }

  #end(
    { request, startedMs, limitMs, runtime, job }: RunUnderWay,
    { said, stop }: LimitedRun,
  ): Promise<RunnerResult> {
    const durationMs = Math.round(this.#context.clock.monotonic() - startedMs);
    if (stop?.abandonedAfterMs !== undefined) this.#countAbandoned(request);
    // A job that blocked the event loop kept its timer from firing.
    const overdue = limitMs === undefined || durationMs < limitMs ? undefined : timeoutStop(limitMs);
    const result = runnerResult(request.id, said, stop ?? overdue, durationMs, runtime?.secrets);
    const closing = job?.close();
    if (closing === undefined) {
      this.#runningCount--;
      return Promise.resolve(result);
    }
    return closing.then(() => {
      this.#runningCount--;
      return result;
    });
  }

  #limitsOf({ request, startedMs, limitMs, runtime, job }: RunUnderWay): JobLimits {
    const { clock, graceMs, logger } = this.#context;
    const lingerMs = runtime?.lingerMs ?? 0;
    return {
      clock,
      timeoutMs: limitMs,
      leftMs: limitMs === undefined ? Infinity : limitMs - (clock.monotonic() - startedMs),
      graceMs: graceMs + lingerMs,
      cancelGraceMs: this.#cancelGraceMs + lingerMs,
      signal: job?.cancelSignal,
      abort: (reason) => job?.abort(reason),
      onThrown: (error) => job?.logStacks(error),
      onLate: (lateMs) => {
        const name = `${request.id} of ${request.agent.name}`;
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

interface RunUnderWay {
  readonly request: JobRequest;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** How long the job may take. */
  limitMs: number | undefined;
  /** Absent when the agent has none that can run it. */
  runtime: Runtime | undefined;
  job: JobContext | undefined;
}

function optionMs(given: Duration, name: string): number {
  return readDuration(given, name, { error: invalidArgument });
}

interface JobLimits {
  readonly clock: Clock;
  /** How long the job may take. */
  readonly timeoutMs: number | undefined;
  /** How much of that is left. */
  readonly leftMs: number;
  /** How long the job may take to end after its timeout. `Infinity`: the runner never abandons it. */
  readonly graceMs: number;
  /** How long the job may take to end after it was cancelled. Its timeout still holds. */
  readonly cancelGraceMs: number;
  /** Cancels the job. */
  readonly signal: AbortSignal | undefined;
  /** Tells the job to end. */
  abort(reason: unknown): void;
  /** Called when the job throws, and was not told to end. */
  onThrown(error: unknown): void;
  /** Called when an abandoned job ends after all. */
  onLate(lateMs: number): void;
}

/** What the runtime said, or nothing when the runner abandoned the job; and why the runner stopped it, if it did. */
interface LimitedRun {
  readonly said: RuntimeResult | undefined;
  readonly stop: JobStop | undefined;
}

/**
 * Waits for a running job: stops it at its timeout or when it is cancelled, and abandons it after the grace. Never
 * rejects, and removes its listener and its timer before it resolves.
 */
function runWithin(running: PromiseLike<unknown>, limits: JobLimits): Promise<LimitedRun> {
  const { clock, timeoutMs: limitMs, signal } = limits;
  return new Promise((resolve) => {
    let stop: JobStop | undefined;
    let endedMs: number | undefined;
    let cancelTimer: (() => void) | undefined;
    const end = (run: LimitedRun): void => {
      endedMs = clock.monotonic();
      cancelTimer?.();
      signal?.removeEventListener("abort", cancel);
      resolve(run);
    };
    const settle = (said: RuntimeResult): void => {
      if (endedMs === undefined) end({ said, stop });
      else limits.onLate(Math.round(clock.monotonic() - endedMs));
    };
    const tellToEnd = (cause: JobStop, graceMs: number, reason: unknown): void => {
      const first = stop ?? cause;
      if (graceMs < Infinity) {
        cancelTimer?.();
        const abandon = (): void => end({ said: undefined, stop: { ...first, abandonedAfterMs: graceMs } });
        cancelTimer = wakeAfter(clock, graceMs, abandon);
      }
      if (stop !== undefined) return;
      stop = cause;
      limits.abort(reason);
    };
    const cancel = (): void => {
      const { reason }: { readonly reason?: unknown } = signal ?? {};
      tellToEnd(cancelStop(reason), limits.cancelGraceMs, reason);
    };
    if (limitMs !== undefined)
      cancelTimer = wakeAfter(clock, limits.leftMs, () => {
        const cause = timeoutStop(limitMs);
        tellToEnd(cause, limits.graceMs, new DOMException(cause.message, "TimeoutError"));
      });
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener("abort", cancel);
    // Promise.resolve settles once, also for a thenable that calls back twice or throws.
    Promise.resolve(running)
      .then((returned) => checkedResult(returned))
      .then(settle, (error: unknown) => {
        // A job that was told to end throws what its signal has.
        if (stop === undefined) limits.onThrown(error);
        settle(thrownResult(error));
      });
  });
}

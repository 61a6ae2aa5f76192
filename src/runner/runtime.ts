/**
 * What a runtime is: a way in which a job does its work. It is told the job and answers how that went.
 * How long it may take, and what becomes of one that never answers, is decided by job-runner.ts.
 */
import type { Clock } from "../clock.js";
import type { Logger } from "../logger.js";
import type { JobRecord } from "../state/job-log/job-log.js";

/** As a method, so that an agent may know its job by a narrower type. */
interface JobMethod {
  run(job: RuntimeJob): unknown;
}

/** An agent, as far as running its jobs has to know it. */
export interface RunnableAgent {
  readonly name: string;
  /** Runs a job in this process; it fails when this throws or rejects. */
  readonly run?: JobMethod["run"] | undefined;
  /** Another way to run its jobs. */
  readonly runtime?: unknown;
  /** How long a job may take: milliseconds, or text such as "5m". @default for ever */
  readonly timeout?: unknown;
}

/** What a job is told when it starts. */
export interface RuntimeJob {
  readonly jobId: string;
  readonly agent: RunnableAgent;
  /** The schedule's name, where the job belongs to one. */
  readonly schedule: string | undefined;
  readonly prompt: string;
  /** What was taken from the work source, where there is one. */
  readonly workItem: unknown;
  /** Counts from 1: how many times in a row it has been tried. */
  readonly attempt: number;
  /** Fires when the job is to end: it took too long, or nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Why and for when it was started, where that is recorded. */
  readonly record: JobRecord | undefined;
  /** Adds a line to the job's output. */
  readonly log: (line: string) => void;
  /** Adds to the job's output. Resolves when more should be written, and never rejects. */
  readonly write: (chunk: string | Uint8Array) => Promise<void>;
}

/** How a job went, as its runtime says. */
export interface RuntimeResult {
  readonly success: boolean;
  readonly summary?: string | undefined;
  /** Why it failed. */
  readonly error?: string | undefined;
  /** A process's exit code, or an HTTP status. */
  readonly exitCode?: number | undefined;
  /** Any JSON value. */
  readonly responseBody?: unknown;
  /** Whether it failed because of a time limit of the runtime's own. */
  readonly timedOut?: boolean | undefined;
}

export interface Runtime {
  /**
   * How long it may need, beyond the grace, to end what would not end by itself, in milliseconds.
   * @default 0
   */
  readonly lingerMs?: number | undefined;
  /** What must not be seen in output, summary, error or response. */
  readonly secrets?: readonly string[] | undefined;
  /** Throwing is failing; to answer nothing is success. */
  run(job: RuntimeJob): RuntimeResult | void | PromiseLike<RuntimeResult | void>;
}

/** The `runtime` of an agent: its type, and what a runtime of that type needs. */
export interface RuntimeConfiguration {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** What a runtime may use. */
export interface RuntimeContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a job has between being told to end and being given up. */
  readonly graceMs: number;
  /** What the `messages` runtime asks, where the host has given one. */
  readonly sdkQuery: SdkQuery | undefined;
}

/** Makes a runtime, once for each agent. Throws a RunnerError for a configuration that cannot be. */
export type RuntimeFactory = (configuration: RuntimeConfiguration, context: RuntimeContext) => Runtime;

/** Asks an agent SDK, and answers its messages as they come. */
export type SdkQuery = (question: {
  readonly prompt: string;
  readonly abortController: AbortController;
  readonly options: Readonly<Record<string, unknown>>;
}) => AsyncIterable<unknown> | PromiseLike<AsyncIterable<unknown>>;

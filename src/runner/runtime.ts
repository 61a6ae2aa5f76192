/**
 * The contract of a runtime: it runs a job and returns how that went.
 * job-runner.ts limits how long a job may take, and abandons one that never ends.
 */
import type { Clock } from "../clock.js";
import type { Logger } from "../logger.js";
import type { JobRecord } from "../state/job-log/job-log.js";

/** A method, so that an agent may declare a narrower type for its job. */
interface JobMethod {
  run(job: RuntimeJob): unknown;
}

/** The part of an agent that the runner needs. */
export interface RunnableAgent {
  readonly name: string;
  /** Runs a job in this process. The job fails when this throws or rejects. */
  readonly run?: JobMethod["run"] | undefined;
  /** Runs the agent's jobs in place of `run`: a RuntimeConfiguration. */
  readonly runtime?: unknown;
  /** How long a job may take: milliseconds, or text such as "5m". @default no limit */
  readonly timeout?: unknown;
}

/** A job as its runtime sees it. */
export interface RuntimeJob {
  readonly jobId: string;
  readonly agent: RunnableAgent;
  /** The name of the schedule that the job belongs to, if any. */
  readonly schedule: string | undefined;
  readonly prompt: string;
  /** The work item that the job works on, if any. */
  readonly workItem: unknown;
  /** What the job was triggered with: any JSON value; `null` for a job without data. */
  readonly data: unknown;
  /** The due time that the job runs for, the same in every attempt; `null` for a job without one. */
  readonly slot: Date | null;
  /** "agent/schedule@2026-11-17T03:00:00.000Z": an idempotency key, the same in every attempt; `null` without a slot. */
  readonly key: string | null;
  /** Counts from 1: which try of this job it is, after failures in a row. */
  readonly attempt: number;
  /** Fires when the job should end: at its timeout, or when it was cancelled. */
  readonly signal: AbortSignal;
  /** The job's record as it was at the start, if it has one. */
  readonly record: JobRecord | undefined;
  /** Adds a line to the job's output. */
  readonly log: (line: string) => void;
  /** Adds to the job's output. Resolves when the job may write more, and never rejects. */
  readonly write: (chunk: string | Uint8Array) => Promise<void>;
}

/** What a runtime returns: how the job went. */
export interface RuntimeResult {
  readonly success: boolean;
  readonly summary?: string | undefined;
  /** Why the job failed. */
  readonly error?: string | undefined;
  /** A process's exit code, or an HTTP status. */
  readonly exitCode?: number | undefined;
  /** Any JSON value. */
  readonly responseBody?: unknown;
  /** Whether the job failed because of the runtime's own time limit. */
  readonly timedOut?: boolean | undefined;
}

export interface Runtime {
  /**
   * How long the runtime may need, after the grace, to end a job by force, in milliseconds.
   * @default 0
   */
  readonly lingerMs?: number | undefined;
  /** Texts to hide in output, summary, error and response. */
  readonly secrets?: readonly string[] | undefined;
  /** A job that throws has failed; one that returns nothing has succeeded. */
  run(job: RuntimeJob): RuntimeResult | void | PromiseLike<RuntimeResult | void>;
}

/** The `runtime` of an agent: its type and the keys of that type. */
export interface RuntimeConfiguration {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** What the runner gives to every runtime. */
export interface RuntimeContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a job may take to end after its signal fired, in milliseconds; then the runner abandons it. */
  readonly graceMs: number;
  /** The host's agent SDK, for the `messages` runtime. */
  readonly sdkQuery: SdkQuery | undefined;
}

/** Makes a runtime, once for each agent. Throws a RunnerError for a wrong configuration. */
export type RuntimeFactory = (configuration: RuntimeConfiguration, context: RuntimeContext) => Runtime;

/** Sends a prompt to an agent SDK and returns its messages as they come. The `query` of an SDK is one. */
export type SdkQuery = (question: {
  readonly prompt: string;
  /** Aborted when the job is to end. */
  readonly abortController: AbortController;
  /** The configured options, and the same `abortController`: SDKs read it here. */
  readonly options: Readonly<Record<string, unknown>> & { readonly abortController: AbortController };
}) => AsyncIterable<unknown> | PromiseLike<AsyncIterable<unknown>>;

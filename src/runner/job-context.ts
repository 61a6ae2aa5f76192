/**
 * A job as its runtime sees it. Most jobs of a large fleet use little of it, so the signal and the output are made on
 * first use.
 */
import type { JobRecord } from "../state/job-log/job-log.js";
import { RunnerError } from "./errors.js";
import { stacksOf } from "./output/error-stack.js";
import { type OutputOptions, OutputWriter } from "./output/output-writer.js";
import type { RunnableAgent, Runtime, RuntimeJob } from "./runtime.js";

/** The job to run. `attempt`, `job` and `signal` may be getters: the runner reads them only when it needs them. */
export interface JobRequest {
  readonly id: string;
  readonly agent: RunnableAgent;
  readonly scheduleName?: string | undefined;
  readonly attempt: number;
  /** The job's record, where it has one. */
  readonly job?: JobRecord | undefined;
  /** @default made from the record's slot */
  readonly key?: string | null | undefined;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
  /** When the job started, on the monotonic clock. @default now */
  readonly startedMs?: number | undefined;
  /** How long the job may take: milliseconds, or text such as "5m". @default the agent's */
  readonly timeout?: unknown;
}

export interface JobContextOptions {
  readonly output: OutputOptions;
  readonly runtime: Runtime;
  /** Whether the job has a timeout, so that it needs a signal besides that of the request. */
  readonly hasTimeout: boolean;
}

export class JobContext implements RuntimeJob {
  readonly jobId: string;
  readonly agent: RunnableAgent;
  readonly schedule: string | undefined;
  readonly prompt: string;
  readonly workItem: unknown;
  readonly #request: JobRequest;
  readonly #options: JobContextOptions;
  #output: OutputWriter | undefined = undefined;
  #isClosed = false;
  #controller: AbortController | undefined = undefined;

  constructor(request: JobRequest, options: JobContextOptions, prompt: string, workItem: unknown) {
    this.jobId = request.id;
    this.agent = request.agent;
    this.schedule = request.scheduleName;
    this.prompt = prompt;
    this.workItem = workItem;
    this.#request = request;
    this.#options = options;
  }

  /** A new Date for each caller, who may change it. */
  get slot(): Date | null {
    const slot = this.#request.job?.slot;
    return slot == null ? null : new Date(slot);
  }

  get key(): string | null {
    const { key, job } = this.#request;
    return key ?? (job === undefined ? null : jobKey(job));
  }

  get attempt(): number {
    return this.#request.attempt;
  }

  get data(): unknown {
    return this.#request.job?.data ?? null;
  }

  get record(): JobRecord | undefined {
    return this.#request.job;
  }

  get signal(): AbortSignal {
    const signal = this.cancelSignal;
    return signal !== undefined && !this.#options.hasTimeout ? signal : this.#own(signal).signal;
  }

  /** A function, not a method: a job may take `log` and `write` out of its context and call them alone. */
  get log(): (line: string) => void {
    return (line) => void this.#write(`${line}\n`);
  }

  get write(): (chunk: string | Uint8Array) => Promise<void> {
    return (chunk) => this.#write(chunk);
  }

  /** Drops later writes, and resolves when the output has been written; `undefined` when the job wrote nothing. */
  close(): Promise<void> | undefined {
    this.#isClosed = true;
    return this.#output?.close();
  }

  /** Adds the stack of an error, and of its causes, to the output. An error of Rota has no stack that helps its reader. */
  logStacks(error: unknown): void {
    const stacks = error instanceof RunnerError ? undefined : stacksOf(error);
    if (stacks !== undefined) this.log(stacks);
  }

  /** The request's, which cancels the job. */
  get cancelSignal(): AbortSignal | undefined {
    return this.#request.signal;
  }

  /** Tells the job to end. Without a timeout only the request's own signal can, which has fired by itself. */
  abort(reason: unknown): void {
    if (this.#options.hasTimeout) this.#own(undefined).abort(reason);
  }

  #own(outer: AbortSignal | undefined): AbortController {
    this.#controller ??= new AbortController();
    // The runner passes later aborts on with `abort`.
    if (outer?.aborted === true) this.#controller.abort(outer.reason);
    return this.#controller;
  }

  #write(chunk: string | Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#output ??= new OutputWriter(this.jobId, this.#options.output, this.#options.runtime.secrets);
    return this.#output.write(chunk);
  }
}

/** The key of all jobs of one slot, however often it is tried; `null` for a job without a slot. */
export function jobKey({
  agent,
  schedule,
  slot,
}: Pick<JobRecord, "agent" | "schedule" | "slot">): string | null {
  return schedule === null || slot === null ? null : `${agent}/${schedule}@${slot}`;
}

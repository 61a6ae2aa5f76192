/**
 * A job as its runtime sees it. Most jobs of a herd look at little of it, so what has to be made is made when it is
 * asked for.
 */
import type { JobRecord } from "../state/job-log/job-log.js";
import { type OutputPlace, OutputWriter } from "./output/output-writer.js";
import type { RunnableAgent, Runtime, RuntimeJob } from "./runtime.js";

/** What is to be run. `attempt`, `job` and `signal` may be getters that make them: they are read when needed. */
export interface JobRequest {
  readonly id: string;
  readonly agent: RunnableAgent;
  readonly scheduleName?: string | undefined;
  readonly attempt: number;
  /** Its record, where it has one. */
  readonly job?: JobRecord | undefined;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
  /** When it was called for, on the monotonic clock, where the caller has just looked. */
  readonly startedMs?: number | undefined;
  /** How long it may take: milliseconds, or text such as "5m". @default the agent's */
  readonly timeout?: unknown;
}

/** What many jobs have in common. */
export interface JobSetting {
  readonly place: OutputPlace;
  readonly runtime: Runtime;
  /** Whether it may be told to end by others than who gives its signal. */
  readonly isLimited: boolean;
}

export class RunningJob implements RuntimeJob {
  readonly jobId: string;
  readonly agent: RunnableAgent;
  readonly schedule: string | undefined;
  readonly prompt: string;
  readonly workItem: unknown;
  readonly #request: JobRequest;
  readonly #setting: JobSetting;
  #output: OutputWriter | undefined = undefined;
  #isOver = false;
  #controller: AbortController | undefined = undefined;

  constructor(request: JobRequest, setting: JobSetting, prompt: string, workItem: unknown) {
    this.jobId = request.id;
    this.agent = request.agent;
    this.schedule = request.scheduleName;
    this.prompt = prompt;
    this.workItem = workItem;
    this.#request = request;
    this.#setting = setting;
  }

  get attempt(): number {
    return this.#request.attempt;
  }

  get record(): JobRecord | undefined {
    return this.#request.job;
  }

  get signal(): AbortSignal {
    const outer = this.outerSignal;
    return outer !== undefined && !this.#setting.isLimited ? outer : this.#own(outer).signal;
  }

  /** Not a method, so that it may be taken out of the job and called alone. */
  get log(): (line: string) => void {
    return (line) => void this.#write(`${line}\n`);
  }

  /** As `log`. */
  get write(): (chunk: string | Uint8Array) => Promise<void> {
    return (chunk) => this.#write(chunk);
  }

  /** Nothing is written any more. Answers what has to be waited for, if it wrote anything. */
  end(): Promise<void> | undefined {
    this.#isOver = true;
    return this.#output?.close();
  }

  /** Who cancels the job; asking may make it. */
  get outerSignal(): AbortSignal | undefined {
    return this.#request.signal;
  }

  /** Tells the job to end. */
  abort(reason: unknown): void {
    if (this.#setting.isLimited) this.#own(undefined).abort(reason);
  }

  #own(outer: AbortSignal | undefined): AbortController {
    this.#controller ??= new AbortController();
    // One that has been cancelled is so at once for who looks; what comes later is told by `abort`.
    if (outer?.aborted === true) this.#controller.abort(outer.reason);
    return this.#controller;
  }

  #write(chunk: string | Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#output ??= new OutputWriter(this.jobId, this.#setting.place, this.#setting.runtime.secrets);
    return this.#output.write(chunk);
  }
}

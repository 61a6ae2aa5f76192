/** An executor on a store in memory and a clock that stands still, and all that was logged. */
import { expect } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type { Logger } from "../../src/logger.js";
import { type ExecuteOptions, JobExecutor, type JobExecutorOptions } from "../../src/runner/job-executor.js";
import type { RunnerResult } from "../../src/runner/result.js";
import type { RunnableAgent } from "../../src/runner/runtime.js";
import type { JobRecord } from "../../src/state/job-log/job-log.js";
import { MemoryStore } from "../../src/state/memory/memory-store.js";

export interface Ended {
  readonly result: RunnerResult;
  readonly record: JobRecord | undefined;
  readonly output: string | undefined;
}

export class Scene {
  readonly clock: FakeClock = new FakeClock();
  readonly store: MemoryStore;
  readonly lines: string[] = [];
  readonly logger: Logger = loggerInto(this.lines);
  readonly executor: JobExecutor;

  constructor(options: JobExecutorOptions = {}) {
    const { clock = this.clock } = options;
    this.store = new MemoryStore({ clock });
    this.executor = new JobExecutor({ clock, store: this.store, logger: this.logger, ...options });
  }

  /** Runs a job until its end, while so much time passes. */
  async run(
    agent: Partial<RunnableAgent>,
    options: Partial<ExecuteOptions> = {},
    passing: string | number = 0,
  ): Promise<Ended> {
    const running = this.executor.execute({
      agent: { name: "worker", ...agent },
      prompt: "Do it",
      ...options,
    });
    await this.clock.advance(passing);
    return this.ended(await running);
  }

  async ended(result: RunnerResult): Promise<Ended> {
    const { jobs } = this.store;
    return { result, record: await jobs.get(result.jobId), output: await jobs.readOutput(result.jobId) };
  }
}

/** After every ending. */
export function expectOver({ executor }: Scene): void {
  expect(executor.runningCount).toBe(0);
}

export function loggerInto(lines: string[]): Logger {
  const add = (line: string): void => void lines.push(line);
  return { debug: add, info: add, warn: add, error: add };
}

/** A promise that can be settled from outside. */
export interface Settleable<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export function settleable<Value>(): Settleable<Value> {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<Value>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

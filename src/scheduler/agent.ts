/** What an agent is to the scheduler: a name, schedules, a capacity, and how its jobs run. */
import type { RunnerResult } from "../runner/result.js";
import type { AgentRuntime } from "../runner/agent-runtime.js";
import type { RuntimeJob } from "../runner/runtime.js";
import type { JobRecord } from "../state/job-log/job-log.js";
import type { ScheduleWorkSource, WorkItem } from "../work-sources/work-source.js";
import type { RetryOptions } from "./timing/retries.js";
import type { Schedule } from "./timing/schedule.js";

/** A worker. A key that is not listed here is a typing mistake, and `start` rejects it. */
export interface Agent {
  readonly name: string;
  /** What the agent is for. */
  readonly description?: string | undefined;
  readonly schedules?: Readonly<Record<string, AgentSchedule>> | undefined;
  readonly instances?: AgentInstances | undefined;
  /** Runs a job in this process; it fails when this throws or rejects. */
  readonly run?: ((job: AgentJob) => unknown) | undefined;
  /** How its jobs run where it has no `run`: a command, a web server, an agent SDK. */
  readonly runtime?: AgentRuntime | undefined;
  /** How long a job may take: milliseconds, or text such as "5m". @default for ever */
  readonly timeout?: number | string | undefined;
  /** How often a failed job of a schedule without `retries` is tried again. @default 0 */
  readonly retries?: number | RetryOptions | undefined;
  /** Whatever the host wants to keep with the agent. Rota does not read it. */
  readonly data?: unknown;
}

export interface AgentInstances {
  /**
   * How many jobs the agent may have at a time, over all its schedules.
   * @default 1
   */
  readonly max_concurrent?: number | undefined;
}

/** The schedules of an agent, and how many of its jobs run and may run. */
export interface AgentScheduleInfo {
  readonly agent: Agent;
  readonly schedules: Readonly<Record<string, AgentSchedule>>;
  readonly runningCount: number;
  readonly maxConcurrent: number;
}

/** When a job of the agent is due, and what it is to do. */
export type AgentSchedule = Schedule & {
  readonly prompt?: string | undefined;
  /** Where its work comes from: a job runs only when there is an item. */
  readonly work_source?: ScheduleWorkSource | undefined;
  /** How long a job may take. @default the agent's */
  readonly timeout?: number | string | undefined;
  /** `false` leaves the schedule out. @default true */
  readonly enabled?: boolean | undefined;
};

/** What an agent's `run` function knows of its job. */
export interface AgentJob extends RuntimeJob {
  readonly agent: Agent;
  /** The schedule's name. */
  readonly schedule: string;
  /** What was taken from the work source, where there is one. */
  readonly workItem: WorkItem | undefined;
  /** Why and for when it was started. */
  readonly record: JobRecord;
}

/** How a job ended, as its executor says: at least whether it succeeded. */
export type ExecutorResult = Omit<CheckedResult, "error"> & { readonly error?: string | Error | undefined };

/** The same with the error as text. */
type CheckedResult = Pick<RunnerResult, "success"> & Partial<RunnerResult>;

/** What came of a run of a schedule. */
export type RunResult = CheckedResult & {
  /** What was taken from the work source, where there is one. */
  readonly workItem?: WorkItem | undefined;
  readonly processedWorkItem?: boolean | undefined;
  /** Nothing was run: there was nothing to do. */
  readonly skipped?: boolean | undefined;
  readonly skipReason?: "no_work" | undefined;
};

/** At capacity, how many jobs an agent may have. */
export function capacityOf(agent: Agent): number {
  return agent.instances?.max_concurrent ?? 1;
}

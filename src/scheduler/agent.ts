/** What an agent is to the scheduler: a name, schedules, a capacity, and how its jobs run. */
import type { JobRecord } from "../state/jobs/job-log.js";
import type { Schedule } from "./schedule.js";

/** A worker. Keys that are not named here are left to whoever runs its jobs. */
export interface Agent {
  readonly name: string;
  readonly schedules?: Readonly<Record<string, AgentSchedule>> | undefined;
  readonly instances?: AgentInstances | undefined;
  /** Runs a job in this process; it fails when this throws or rejects. */
  readonly run?: ((job: Job) => unknown) | undefined;
  readonly [key: string]: unknown;
}

export interface AgentInstances {
  /**
   * How many jobs the agent may have at a time, over all its schedules.
   * @default 1
   */
  readonly max_concurrent?: number | undefined;
}

/** When a job of the agent is due, and what it is to do. */
export type AgentSchedule = Schedule & {
  readonly prompt?: string | undefined;
  /** Where its work comes from; `workSourceManager` reads it. */
  readonly work_source?: unknown;
};

/** What a job is told when it starts. */
export interface Job {
  readonly jobId: string;
  readonly agent: Agent;
  /** The schedule's name. */
  readonly schedule: string;
  readonly prompt: string;
  /** What was taken from the work source, where there is one. */
  readonly workItem?: unknown;
  /** Counts from 1: how many times in a row it has been tried. */
  readonly attempt: number;
  /** Fires when the job is cancelled, or the scheduler no longer waits for it. */
  readonly signal: AbortSignal;
  /** Adds a line to the job's output. */
  readonly log: (line: string) => void;
  /** Why and for when it was started. */
  readonly record: JobRecord;
}

/** How a job ended, as whoever ran it says. */
export interface RunnerResult {
  readonly success: boolean;
  readonly error?: string | undefined;
  readonly summary?: string | undefined;
  /** Nothing was run: there was nothing to do. */
  readonly skipped?: boolean | undefined;
  readonly skipReason?: "no_work" | undefined;
}

/** At capacity, how many jobs an agent may have. */
export function capacityOf(agent: Agent): number {
  return agent.instances?.max_concurrent ?? 1;
}

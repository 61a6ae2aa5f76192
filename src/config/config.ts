/** A checked configuration. */
import type { Agent } from "../scheduler/agent.js";
import type { JobLimits } from "../state/job-log/job-log.js";
import type { ScheduleKey } from "../state/store.js";

/** The options of a `PostgresStore`: `new PostgresStore({ connectionString: url, schema })`. */
export interface DatabaseConfig {
  /** The address with its password. */
  readonly url: string;
  readonly schema: string | undefined;
}

/**
 * A fleet: `new Scheduler(config).start(config.agents)` runs it.
 * Its paths are absolute, its variables are replaced, and defaults and files are merged.
 */
export interface Config {
  readonly version: 1;
  /** The directory of the state and the jobs. */
  readonly stateDir: string;
  /** The PostgreSQL database that has them instead; `undefined`: the directory. */
  readonly database: DatabaseConfig | undefined;
  /** How much is kept of jobs; `undefined`: the defaults. */
  readonly jobs?: JobLimits | undefined;
  /** The time zone of cron schedules without one; `undefined`: the system's. */
  readonly timezone: string | undefined;
  /** The jitter of intervals without one. */
  readonly jitterPercent: number | undefined;
  /** How many jobs may run at a time, over all agents; `undefined`: as many as the agents allow. */
  readonly maxConcurrent: number | undefined;
  /** The longest time between two checks, in milliseconds. */
  readonly checkInterval: number | undefined;
  /** The keys of agents that the host reads, as it listed them. */
  readonly agentKeys?: readonly string[] | undefined;
  readonly agents: readonly Agent[];
  /** Schedules with `enabled: false`, which the agents do not have. */
  readonly disabled: readonly ScheduleKey[];
  /** The absolute paths of all files that were read, the fleet's file first; empty for a text without a file. */
  readonly files: readonly string[];
}

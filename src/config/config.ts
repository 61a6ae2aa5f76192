/** What a configuration says, once it is known to be right. */
import type { Agent } from "../scheduler/agent.js";
import type { ScheduleKey } from "../state/store.js";

/**
 * A fleet: `new Scheduler(config).start(config.agents)` runs it.
 * Paths are absolute, variables are put in, defaults and files are merged.
 */
export interface Config {
  readonly version: 1;
  /** Where state and jobs are kept. */
  readonly stateDir: string;
  /** The time zone of cron schedules that name none; `undefined`: the system's. */
  readonly timezone: string | undefined;
  /** The jitter of intervals that name none. */
  readonly jitterPercent: number | undefined;
  /** How many jobs may run at a time, over all agents; `undefined`: as many as the agents allow. */
  readonly maxConcurrent: number | undefined;
  /** The longest time between two checks, in milliseconds. */
  readonly checkInterval: number | undefined;
  readonly agents: readonly Agent[];
  /** Schedules with `enabled: false`. The agents do not have them. */
  readonly disabled: readonly ScheduleKey[];
  /** The absolute paths of all files it was read from, the file itself first; none for a text without a file. */
  readonly files: readonly string[];
}

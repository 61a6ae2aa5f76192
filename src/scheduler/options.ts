/** What a scheduler is made with and what it answers; options are checked once, when it is made. */
import type { Clock } from "../clock.js";
import { type Duration, readDuration } from "../duration.js";
import { quote } from "../errors.js";
import type { Logger } from "../logger.js";
import type { Random } from "../random.js";
import type { SdkQuery } from "../runner/runtime.js";
import type { RuntimeRegistry } from "../runner/registry.js";
import type { StateStore } from "../state/store.js";
import { SchedulerError, type SchedulerErrorCode } from "./errors.js";
import { isJitterPercent } from "./timing/interval.js";
import type { JobExecution } from "./jobs/execute-job.js";
import type { TriggerInfo } from "./jobs/job.js";
import type { ScheduleSkipReason } from "./control/schedule-check.js";
import type { WorkSources } from "./jobs/work-item-run.js";
import { timeZone } from "./timing/time-zone.js";

export interface SchedulerOptions {
  /**
   * Where state and jobs are kept, when no store is given.
   * @default ".rota"
   */
  readonly stateDir?: string | undefined;
  /** Opened by `start` and closed by `stop`. @default a FileStore on `stateDir` */
  readonly store?: StateStore | undefined;
  /**
   * The longest time between two passes: milliseconds, or text such as "1s".
   * @default 1000
   */
  readonly checkInterval?: Duration | undefined;
  /** @default the console, without what is for debugging */
  readonly logger?: Logger | undefined;
  /** Runs the job instead of the agent's own runtime. The job fails when it throws or rejects. */
  readonly onTrigger?: ((info: TriggerInfo) => unknown) | undefined;
  /** Called after each pass. */
  readonly onTick?: ((state: SchedulerState) => unknown) | undefined;
  /** Runs all jobs, instead of each agent's own runtime. */
  readonly jobExecutor?: JobExecution | undefined;
  /** Where work items come from. @default a WorkSourceManager */
  readonly workSourceManager?: WorkSources | undefined;
  /** Asks an agent SDK: runs the jobs of agents that have neither `run` nor a `runtime`. */
  readonly sdkQuery?: SdkQuery | undefined;
  /** Which runtimes there are. @default function, command, http and messages */
  readonly runtimes?: RuntimeRegistry | undefined;
  /** The jitter of intervals that name none, 0 to 10 percent. @default 0 */
  readonly jitterPercent?: number | undefined;
  /** How many jobs may run at a time, over all agents. @default no limit */
  readonly maxConcurrent?: number | undefined;
  /** The time zone of cron schedules that name none. @default the system's */
  readonly timezone?: string | undefined;
  /** @default systemClock */
  readonly clock?: Clock | undefined;
  /** Draws jitter. @default Math.random */
  readonly random?: Random | undefined;
  /** Lets the process end although the scheduler runs. @default false */
  readonly unref?: boolean | undefined;
}

export interface StopOptions {
  /** @default true */
  readonly waitForJobs?: boolean | undefined;
  /**
   * How long to wait: milliseconds, or text such as "30s".
   * @default 30_000
   */
  readonly timeout?: Duration | undefined;
}

export type SchedulerStatus = "stopped" | "running" | "stopping";

export interface SchedulerState {
  readonly status: SchedulerStatus;
  readonly startedAt: Date | undefined;
  /** Passes since the start. */
  readonly checkCount: number;
  /** Jobs started since the start. */
  readonly triggerCount: number;
  readonly lastCheckAt: Date | undefined;
  /** Jobs that have ended, and whose end is still to be recorded or, after a stop, could not be. */
  readonly unrecordedJobCount: number;
}

export interface TriggerResult {
  readonly success: boolean;
  readonly jobId?: string | undefined;
  /** What was wrong with the call, in words. */
  readonly error?: string | undefined;
  /** The same for programs: the code of the error. */
  readonly code?: SchedulerErrorCode | undefined;
  readonly skipped?: boolean | undefined;
  readonly skipReason?: ScheduleSkipReason | undefined;
}

/** Throws a SchedulerError for an option that no scheduler can work with. */
export function checkOptions({ jitterPercent, maxConcurrent, timezone }: SchedulerOptions): void {
  if (jitterPercent !== undefined && !isJitterPercent(jitterPercent))
    throw invalidOption("jitterPercent", jitterPercent, "0 to 10 percent");
  if (
    maxConcurrent !== undefined &&
    maxConcurrent !== Infinity &&
    !(Number.isSafeInteger(maxConcurrent) && maxConcurrent >= 1)
  )
    throw invalidOption("maxConcurrent", maxConcurrent, "a whole number from 1");
  if (timezone !== undefined) timeZone(timezone);
}

const DEFAULT_CHECK_INTERVAL_MS = 1_000;

export function checkIntervalMs(given: Duration = DEFAULT_CHECK_INTERVAL_MS): number {
  return readDuration(given, "checkInterval", { atLeastMs: 1, mayBeInfinite: false, error: invalidArgument });
}

const DEFAULT_STOP_TIMEOUT_MS = 30_000;

export function stopTimeoutMs(given: Duration = DEFAULT_STOP_TIMEOUT_MS): number {
  return readDuration(given, "timeout", { error: invalidArgument });
}

function invalidOption(name: string, value: unknown, expected: string): SchedulerError {
  return invalidArgument(`Invalid ${name} ${quote(value)}: expected ${expected}`);
}

function invalidArgument(message: string): SchedulerError {
  return new SchedulerError(message, { code: "INVALID_ARGUMENT" });
}

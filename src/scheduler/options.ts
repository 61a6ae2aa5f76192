/** What a scheduler is made with and what it answers; options are checked once, when it is made. */
import type { Clock } from "../clock.js";
import { type Duration, readDuration } from "../duration.js";
import { messageOf } from "../errors.js";
import { isFields } from "../fields.js";
import type { Logger } from "../logger.js";
import type { Random } from "../random.js";
import type { SdkQuery } from "../runner/runtime.js";
import type { RuntimeRegistry } from "../runner/registry.js";
import type { JobLimits, JobLog } from "../state/job-log/job-log.js";
import type { JobOrder } from "../state/mailbox.js";
import type { StateStore } from "../state/store.js";
import { invalidArgument, invalidOption, requireFunction, requireMap } from "./arguments.js";
import type { SchedulerErrorCode } from "./errors.js";
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
  /** How much is kept of jobs, when no store is given. */
  readonly jobs?: JobLimits | undefined;
  /** Opened by `start` and closed by `stop`. @default a FileStore on `stateDir` */
  readonly store?: StateStore | undefined;
  /**
   * The longest time between two passes: milliseconds, or text such as "1s".
   * @default 1000
   */
  readonly checkInterval?: Duration | undefined;
  /** @default the console, without what is for debugging */
  readonly logger?: Logger | undefined;
  /** Logs every failed job with its error. Set it to `false` if you report failures yourself. @default true */
  readonly logFailures?: boolean | undefined;
  /** Runs the job instead of the agent's own runtime. The job fails when it throws or rejects. */
  readonly onTrigger?: SchedulerTriggerCallback | undefined;
  /** Called after each pass. */
  readonly onTick?: ((state: SchedulerState) => unknown) | undefined;
  /** Called when a different process asks this scheduler to stop (`rota stop`). @default calls `stop()` */
  readonly onStopRequest?: (() => unknown) | undefined;
  /** Runs all jobs, instead of each agent's own runtime. */
  readonly jobExecutor?: JobExecution | undefined;
  /** Where work items come from. @default a WorkSourceManager */
  readonly workSourceManager?: WorkSources | undefined;
  /** Asks an agent SDK: runs the jobs of agents that have neither `run` nor a `runtime`. */
  readonly sdkQuery?: SdkQuery | undefined;
  /** Which runtimes there are. @default function, command, http and messages */
  readonly runtimes?: RuntimeRegistry | undefined;
  /**
   * What `start` and `setAgents` do with agents that can never run: reject them all with one error, or leave the wrong
   * schedules out and report each, for fleets that come from users.
   * @default "reject"
   */
  readonly onInvalid?: "reject" | "skip" | undefined;
  /** Keys of agents, beside `data`, that the host reads itself. @default none */
  readonly agentKeys?: readonly string[] | undefined;
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

export type SchedulerTriggerCallback = (info: TriggerInfo) => unknown;

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

/** Jobs that run and jobs that have ended, also before `start` and after `stop` as far as the store allows it. */
export type SchedulerJobs = Pick<JobLog, "get" | "list" | "readOutput">;

/** What a job is triggered with. */
export interface TriggerOptions {
  /** Replaces the schedule's prompt. `{{path}}` in either is filled in from `data`. */
  readonly prompt?: string | undefined;
  /** Any JSON value: `job.data`, ROTA_DATA, `{data}`, and kept in the job's record. Together with the prompt at most 1 MB. */
  readonly data?: unknown;
  /**
   * Names the trigger, in up to 256 characters. Within 24 hours the same key of the same schedule returns the same job, and
   * is refused with KEY_REUSED if prompt or data differ.
   */
  readonly key?: string | undefined;
  /** Why; kept in the job's record. */
  readonly cause?: string | undefined;
  /** Who; kept in the job's record, before the cause. */
  readonly author?: string | undefined;
  /** What starts the job, for its record: "webhook" for a webhook's delivery. @default "manual" */
  readonly trigger?: "manual" | "webhook" | "chat" | undefined;
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
export function checkOptions(options: SchedulerOptions): void {
  requireMap("options", options, '{ stateDir: ".rota" }');
  checkParts(options);
  const { jitterPercent, maxConcurrent, onInvalid = "reject", timezone } = options;
  if (onInvalid !== "reject" && onInvalid !== "skip")
    throw invalidOption("onInvalid", onInvalid, '"reject" or "skip"');
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

/** Checks the parts that a host may replace, by the functions that a scheduler calls. */
function checkParts({ stateDir, ...options }: SchedulerOptions): void {
  if (stateDir !== undefined && (typeof stateDir !== "string" || stateDir === ""))
    throw invalidOption("stateDir", stateDir, "the path of a directory");
  const { onTrigger, onTick, onStopRequest, sdkQuery, random } = options;
  for (const [name, given] of Object.entries({ onTrigger, onTick, onStopRequest, sdkQuery, random }))
    if (given !== undefined) requireFunction(name, given);
  const { clock, jobExecutor, store, workSourceManager } = options;
  requirePart("clock", clock, ["now", "monotonic", "sleep"]);
  requirePart("jobExecutor", jobExecutor, ["execute"]);
  requirePart("store", store, ["open", "claimDue"]);
  requirePart("workSourceManager", workSourceManager, ["getNextWorkItem"]);
}

function requirePart(name: string, part: unknown, methods: readonly string[]): void {
  if (part === undefined || methods.every((method) => hasFunction(part, method))) return;
  throw invalidOption(name, part, `an object with ${methods.join(", ")}`);
}

function hasFunction(part: unknown, name: string): boolean {
  return isFields(part) && typeof part[name] === "function";
}

const MOST_ORDER_BYTES = 1_000_000;
const LONGEST_KEY = 256;

/** The options as they are kept: `data` is what its JSON says. Throws a SchedulerError for a wrong one. */
export function readOrder(options: TriggerOptions): JobOrder {
  requireMap("options", options, '{ prompt: "Write the report" }');
  const { prompt, key, cause, author, trigger } = options;
  for (const [name, value] of Object.entries({ prompt, key, cause, author }))
    if (value !== undefined && typeof value !== "string") throw invalidOption(name, value, "text");
  if (trigger !== undefined && !["manual", "webhook", "chat"].includes(trigger))
    throw invalidOption("trigger", trigger, "manual, webhook or chat");
  if (key !== undefined && (key === "" || key.length > LONGEST_KEY))
    throw invalidOption("key", key, `text of 1 to ${LONGEST_KEY} characters`);
  let json: string | undefined;
  try {
    json = options.data === undefined ? undefined : JSON.stringify(options.data);
  } catch (error) {
    throw invalidArgument(`Invalid data: not a JSON value (${messageOf(error)})`);
  }
  if (options.data !== undefined && json === undefined)
    throw invalidArgument("Invalid data: not a JSON value");
  if (Buffer.byteLength(prompt ?? "") + Buffer.byteLength(json ?? "") > MOST_ORDER_BYTES)
    throw invalidArgument("Prompt and data are too long: together they may have 1 MB");
  const data: unknown = json === undefined ? undefined : JSON.parse(json);
  return { prompt, data, key, cause, author, trigger };
}

const DEFAULT_CHECK_INTERVAL_MS = 1_000;

export function checkIntervalMs(given: Duration = DEFAULT_CHECK_INTERVAL_MS): number {
  return readDuration(given, "checkInterval", { atLeastMs: 1, mayBeInfinite: false, error: invalidArgument });
}

const DEFAULT_STOP_TIMEOUT_MS = 30_000;

export function stopTimeoutMs(given: Duration = DEFAULT_STOP_TIMEOUT_MS): number {
  return readDuration(given, "timeout", { error: invalidArgument });
}

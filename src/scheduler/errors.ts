/** The errors of the scheduler layer, one class per decision a caller can make. */
import { RotaError } from "../errors.js";
import type { CronFieldName } from "./timing/cron-expression.js";

export type SchedulerErrorCode =
  | "AGENT_PAUSED"
  | "ALREADY_RUNNING"
  | "CRON_PARSE_ERROR"
  | "INTERVAL_PARSE_ERROR"
  | "INVALID_ARGUMENT"
  | "INVALID_SCHEDULE"
  | "INVALID_STATE"
  | "KEY_REUSED"
  | "NOT_RUNNING"
  | "SCHEDULER_ERROR"
  | "SCHEDULE_TRIGGER_ERROR"
  | "SHUTDOWN_TIMEOUT"
  | "UNKNOWN_SCHEDULE"
  | "UNKNOWN_TIMEZONE";

export interface SchedulerErrorOptions {
  /** @default "SCHEDULER_ERROR" */
  readonly code?: SchedulerErrorCode | undefined;
  readonly cause?: unknown;
}

export class SchedulerError extends RotaError<SchedulerErrorCode> {
  /** An Error in place of the options is the cause. */
  constructor(message: string, options: SchedulerErrorOptions | Error = {}) {
    const { code = "SCHEDULER_ERROR", cause }: SchedulerErrorOptions =
      options instanceof Error ? { cause: options } : options;
    super(message, { code, cause });
  }
}
SchedulerError.prototype.name = "SchedulerError";

/** The text is not `{positive integer}{s|m|h|d}`. */
export class IntervalParseError extends SchedulerError {
  readonly interval: string;

  constructor(message: string, interval: string) {
    super(message, { code: "INTERVAL_PARSE_ERROR" });
    this.interval = interval;
  }
}
IntervalParseError.prototype.name = "IntervalParseError";

/** The text is not a cron expression, or one that never matches. */
export class CronParseError extends SchedulerError {
  readonly expression: string;
  /** The field at fault; `undefined` when it is the expression as a whole. */
  readonly field: CronFieldName | undefined;
  /** A correct expression close to what was probably meant. */
  readonly example: string;

  constructor(
    message: string,
    fault: { expression: string; field?: CronFieldName | undefined; example: string },
  ) {
    super(message, { code: "CRON_PARSE_ERROR" });
    this.expression = fault.expression;
    this.field = fault.field;
    this.example = fault.example;
  }
}
CronParseError.prototype.name = "CronParseError";

/** The name is not a time zone this Node knows. */
export class TimezoneError extends SchedulerError {
  readonly timezone: string;

  constructor(message: string, timezone: string, cause: unknown) {
    super(message, { code: "UNKNOWN_TIMEZONE", cause });
    this.timezone = timezone;
  }
}
TimezoneError.prototype.name = "TimezoneError";

/** A schedule that contradicts itself or has a value out of range, refused when it is defined. */
export class ScheduleDefinitionError extends SchedulerError {
  /** The key at fault, as the configuration spells it. */
  readonly key: string;

  constructor(message: string, key: string) {
    super(message, { code: "INVALID_SCHEDULE" });
    this.key = key;
  }
}
ScheduleDefinitionError.prototype.name = "ScheduleDefinitionError";

export interface TriggerErrorContext {
  readonly agent: string;
  readonly schedule: string;
  readonly cause?: unknown;
}

/** A failure that concerns one schedule only. */
export class ScheduleTriggerError extends SchedulerError {
  readonly agent: string;
  readonly schedule: string;
  readonly context: TriggerErrorContext;

  constructor(message: string, context: TriggerErrorContext) {
    super(message, { code: "SCHEDULE_TRIGGER_ERROR", cause: context.cause });
    this.context = context;
    this.agent = context.agent;
    this.schedule = context.schedule;
  }
}
ScheduleTriggerError.prototype.name = "ScheduleTriggerError";

export interface ShutdownErrorContext {
  readonly timedOut: boolean;
  readonly runningJobCount: number;
}

/** Jobs were still running when `stop` had waited long enough. They are being cancelled, and their results still count. */
export class SchedulerShutdownError extends SchedulerError {
  readonly timedOut: boolean;
  readonly runningJobCount: number;
  readonly context: ShutdownErrorContext;

  constructor(message: string, context: ShutdownErrorContext) {
    super(message, { code: "SHUTDOWN_TIMEOUT" });
    this.context = context;
    this.timedOut = context.timedOut;
    this.runningJobCount = context.runningJobCount;
  }
}
SchedulerShutdownError.prototype.name = "SchedulerShutdownError";

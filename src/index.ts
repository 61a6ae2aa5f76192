/** Rota's public surface, name by name. */
export { type Clock, type Duration, FakeClock, type Instant, systemClock } from "./clock.js";
export { RotaError, type RotaErrorOptions } from "./errors.js";
export { type Random, seededRandom, systemRandom } from "./random.js";
export {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
} from "./scheduler/cron.js";
export type { CronExpression, CronFieldName } from "./scheduler/cron-expression.js";
export {
  CronParseError,
  IntervalParseError,
  ScheduleDefinitionError,
  SchedulerError,
  type SchedulerErrorCode,
  TimezoneError,
} from "./scheduler/errors.js";
export { type Plan, type PlanInput, planNextRun } from "./scheduler/governor.js";
export {
  calculateNextTrigger,
  isScheduleDue,
  type NextTriggerOptions,
  parseInterval,
} from "./scheduler/interval.js";
export { judgeSlot, type SlotInput, type SlotVerdict } from "./scheduler/late-slot.js";
export { type JobOutcome, recordOutcome } from "./scheduler/job-outcome.js";
export {
  type ChatSchedule,
  type CronSchedule,
  type IntervalSchedule,
  type OnceSchedule,
  type RecurringSchedule,
  type Schedule,
  validateSchedule,
  type WebhookSchedule,
} from "./scheduler/schedule.js";
export type { PlanSource, ScheduleHint, ScheduleState, ScheduleStatePatch } from "./state/schedule-state.js";

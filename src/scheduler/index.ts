/** The scheduler's public surface, name by name. */
export {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
} from "./timing/cron.js";
export type { CronExpression, CronFieldName } from "./timing/cron-expression.js";
export {
  CronParseError,
  IntervalParseError,
  ScheduleDefinitionError,
  SchedulerError,
  type SchedulerErrorCode,
  SchedulerShutdownError,
  ScheduleTriggerError,
  TimezoneError,
} from "./errors.js";
export { type Plan, type PlanInput, planNextRun } from "./planning/governor.js";
export {
  calculateNextTrigger,
  isScheduleDue,
  type NextTriggerOptions,
  parseInterval,
} from "./timing/interval.js";
export { judgeSlot, type SlotInput, type SlotVerdict } from "./planning/late-slot.js";
export { type JobOutcome, recordOutcome } from "../state/claim-rules.js";
export {
  type ChatSchedule,
  type CronSchedule,
  type IntervalSchedule,
  type OnceSchedule,
  type RecurringSchedule,
  type Schedule,
  validateSchedule,
  type WebhookSchedule,
} from "./timing/schedule.js";
export type { PlanSource, ScheduleHint, ScheduleState, ScheduleStatePatch } from "../state/schedule-state.js";
export type {
  Agent,
  AgentInstances,
  AgentJob as Job,
  AgentSchedule,
  ExecutorResult,
  RunResult,
} from "./agent.js";
export type { SchedulerEvent, SchedulerEvents, SchedulerListener } from "./events.js";
export type { TriggerInfo } from "./jobs/job.js";
export {
  checkSchedule,
  type ScheduleCheckResult,
  type ScheduleQuestion,
  type ScheduleSkipReason,
} from "./control/schedule-check.js";
export type { HintOptions } from "./control/state-changes.js";
export type { JobExecution } from "./jobs/execute-job.js";
export { buildSchedulePrompt } from "./jobs/execute-job.js";
export { runSchedule, type RunScheduleOptions } from "./jobs/run-schedule.js";
export type { ItemHolder, NextItem, WorkSources } from "./jobs/work-item-run.js";
export type { ScheduleStatus } from "./control/schedule-status.js";
export { Scheduler } from "./scheduler.js";
export type {
  SchedulerOptions,
  SchedulerState,
  SchedulerStatus,
  StopOptions,
  TriggerResult,
} from "./options.js";

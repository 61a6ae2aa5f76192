/** The scheduler's public surface, name by name. */
export {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
} from "./cron.js";
export type { CronExpression, CronFieldName } from "./cron-expression.js";
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
export { type Plan, type PlanInput, planNextRun } from "./governor.js";
export { calculateNextTrigger, isScheduleDue, type NextTriggerOptions, parseInterval } from "./interval.js";
export { judgeSlot, type SlotInput, type SlotVerdict } from "./late-slot.js";
export { type JobOutcome, recordOutcome } from "./job-outcome.js";
export {
  type ChatSchedule,
  type CronSchedule,
  type IntervalSchedule,
  type OnceSchedule,
  type RecurringSchedule,
  type Schedule,
  validateSchedule,
  type WebhookSchedule,
} from "./schedule.js";
export type { PlanSource, ScheduleHint, ScheduleState, ScheduleStatePatch } from "../state/schedule-state.js";
export type { Agent, AgentInstances, AgentSchedule, ExecutorResult, Job, RunResult } from "./agent.js";
export type { SchedulerEvent, SchedulerEvents, SchedulerListener } from "./events.js";
export type { TriggerInfo } from "./running-job.js";
export {
  checkSchedule,
  type ScheduleCheckResult,
  type ScheduleQuestion,
  type ScheduleSkipReason,
} from "./schedule-check.js";
export type { HintOptions } from "./schedule-changes.js";
export type { JobExecution } from "./job-execution.js";
export { buildSchedulePrompt } from "./schedule-prompt.js";
export { runSchedule, type RunScheduleOptions } from "./schedule-runner.js";
export type { ItemHolder, NextItem, WorkSources } from "./schedule-work.js";
export type { ScheduleStatus } from "./schedule-status.js";
export { Scheduler } from "./scheduler.js";
export type {
  SchedulerOptions,
  SchedulerState,
  SchedulerStatus,
  StopOptions,
  TriggerResult,
} from "./scheduler-options.js";

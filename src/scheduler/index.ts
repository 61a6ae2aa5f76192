/**
 * The scheduler's public surface, name by name. A type with two names is one type: the second name is for programs that
 * know it by that.
 */
export type {
  Logger as ScheduleRunnerLogger,
  Logger as SchedulerLogger,
  Logger as ScheduleStateLogger,
} from "../logger.js";
export type {
  AgentRuntime,
  CommandRuntimeConfiguration,
  FunctionRuntimeConfiguration,
  HttpRuntimeConfiguration,
  MessagesRuntimeConfiguration,
  RegisteredRuntimes,
} from "../runner/agent-runtime.js";
export type {
  DirectorySourceConfig,
  GitHubSourceConfig,
  MemorySourceConfig,
  NewWork,
  RegisteredWorkSources,
  ScheduleWorkSource,
} from "../work-sources/work-source.js";
export {
  getAgentScheduleStates,
  getScheduleState,
  type StateFunctionOptions as ScheduleStateOptions,
  updateScheduleState,
} from "../state/file/state-functions.js";
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
  type SchedulerErrorOptions,
  SchedulerShutdownError,
  ScheduleTriggerError,
  type ShutdownErrorContext,
  TimezoneError,
  type TriggerErrorContext,
} from "./errors.js";
export { type Plan, type PlanInput, planNextRun } from "./planning/governor.js";
export { type ExplainedPlan, explainNextRun, type PlanRule, type PlanStep } from "./planning/explain.js";
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
export type {
  PlanSource,
  ScheduleHint,
  ScheduleState,
  ScheduleState as PersistedScheduleState,
  ScheduleStatePatch,
  ScheduleStatePatch as ScheduleStateUpdates,
} from "../state/schedule-state.js";
export type {
  Agent,
  AgentInstances,
  AgentJob as Job,
  AgentSchedule,
  AgentScheduleInfo,
  ExecutorResult,
  RunResult,
  RunResult as ScheduleRunResult,
} from "./agent.js";
export type { SchedulerEvent, SchedulerEvents, SchedulerListener } from "./events.js";
export type { TriggerInfo } from "./jobs/job.js";
export {
  checkSchedule,
  type ScheduleCheckResult,
  type ScheduleQuestion,
  type ScheduleSkipReason,
} from "./control/schedule-check.js";
export type { Backfill, BackfillOptions, BackfillProgress } from "./control/backfill.js";
export type { HintOptions } from "./control/state-changes.js";
export type { JobExecution, TriggerMetadata } from "./jobs/execute-job.js";
export { buildSchedulePrompt } from "./jobs/execute-job.js";
export { runSchedule, type RunScheduleOptions } from "./jobs/run-schedule.js";
export type { ItemHolder, NextItem, WorkSources } from "./jobs/work-item-run.js";
export type { ScheduleStatus } from "./control/schedule-status.js";
export { Scheduler } from "./scheduler.js";
export type {
  SchedulerJobs,
  SchedulerOptions,
  SchedulerState,
  SchedulerStatus,
  SchedulerTriggerCallback,
  StopOptions,
  TriggerOptions,
  TriggerResult,
} from "./options.js";

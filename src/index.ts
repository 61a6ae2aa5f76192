/** Rota's public surface, name by name. */
export { type Clock, FakeClock, type Instant, systemClock } from "./clock.js";
export type { Duration } from "./duration.js";
export { RotaError, type RotaErrorOptions } from "./errors.js";
export type { Logger } from "./logger.js";
export { type Random, seededRandom, systemRandom } from "./random.js";
export {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
} from "./scheduler/timing/cron.js";
export type { CronExpression, CronFieldName } from "./scheduler/timing/cron-expression.js";
export {
  CronParseError,
  IntervalParseError,
  ScheduleDefinitionError,
  SchedulerError,
  type SchedulerErrorCode,
  SchedulerShutdownError,
  ScheduleTriggerError,
  TimezoneError,
} from "./scheduler/errors.js";
export { type Plan, type PlanInput, planNextRun } from "./scheduler/planning/governor.js";
export {
  calculateNextTrigger,
  isScheduleDue,
  type NextTriggerOptions,
  parseInterval,
} from "./scheduler/timing/interval.js";
export { judgeSlot, type SlotInput, type SlotVerdict } from "./scheduler/planning/late-slot.js";
export { type JobOutcome, recordOutcome } from "./scheduler/planning/job-outcome.js";
export {
  type ChatSchedule,
  type CronSchedule,
  type IntervalSchedule,
  type OnceSchedule,
  type RecurringSchedule,
  type Schedule,
  validateSchedule,
  type WebhookSchedule,
} from "./scheduler/timing/schedule.js";
export type {
  Agent,
  AgentInstances,
  AgentSchedule,
  ExecutorResult,
  Job,
  RunResult,
} from "./scheduler/agent.js";
export type { SchedulerEvent, SchedulerEvents, SchedulerListener } from "./scheduler/events.js";
export type { TriggerInfo } from "./scheduler/jobs/job.js";
export {
  checkSchedule,
  type ScheduleCheckResult,
  type ScheduleQuestion,
  type ScheduleSkipReason,
} from "./scheduler/control/schedule-check.js";
export { askScheduler, type AskOptions } from "./scheduler/control/ask-scheduler.js";
export type { HintOptions } from "./scheduler/control/state-changes.js";
export type { JobExecution } from "./scheduler/jobs/execute-job.js";
export { buildSchedulePrompt } from "./scheduler/jobs/prompt.js";
export { runSchedule, type RunScheduleOptions } from "./scheduler/jobs/run-schedule.js";
export type { ItemHolder, NextItem, WorkSources } from "./scheduler/jobs/work-item-run.js";
export type { ScheduleStatus } from "./scheduler/control/schedule-status.js";
export { Scheduler } from "./scheduler/scheduler.js";
export { RunnerError, type RunnerErrorCode } from "./runner/errors.js";
export {
  type ExecuteOptions,
  JobExecutor,
  type JobExecutorOptions,
  type JobStore,
} from "./runner/job-executor.js";
export type { RunnerResult } from "./runner/result.js";
export type {
  RunnableAgent,
  Runtime,
  RuntimeConfiguration,
  RuntimeContext,
  RuntimeFactory,
  RuntimeJob,
  RuntimeResult,
  SdkQuery,
} from "./runner/runtime.js";
export { RuntimeRegistry } from "./runner/registry.js";
export { WorkSourceError, type WorkSourceErrorCode } from "./work-sources/errors.js";
export {
  type HolderOptions,
  type NextWork,
  type NextWorkOptions,
  WorkSourceManager,
  type WorkSourceManagerOptions,
  type WorkingAgent,
} from "./work-sources/manager.js";
export {
  MemoryWork,
  type MemoryWorkOptions,
  type NewWork,
  type WorkStanding,
} from "./work-sources/memory-source.js";
export {
  registerWorkSource,
  type WorkSourceContext,
  type WorkSourceFactory,
  WorkSourceRegistry,
} from "./work-sources/registry.js";
export type {
  FetchOptions,
  ReleaseOptions,
  WorkClaim,
  WorkItem,
  WorkOutcome,
  WorkPriority,
  WorkSourceAdapter,
  WorkSourceConfig,
} from "./work-sources/work-source.js";
export type {
  SchedulerOptions,
  SchedulerState,
  SchedulerStatus,
  StopOptions,
  TriggerResult,
} from "./scheduler/options.js";
export {
  type FileOperation,
  StateError,
  type StateErrorCode,
  StateFileError,
  StateLockedError,
  type StateOwner,
} from "./state/errors.js";
export { FileStore, type FileStoreOptions } from "./state/file/file-store.js";
export type { AgentState, FleetState } from "./state/fleet-state.js";
export type {
  JobEndStatus,
  JobFilter,
  JobLog,
  JobOutcomeRecord,
  JobOutput,
  JobRecord,
  JobStatus,
  JobTrigger,
  NamedJob,
  NamedOutcome,
  NewJob,
} from "./state/job-log/job-log.js";
export { MemoryStore, type MemoryStoreOptions } from "./state/memory/memory-store.js";
export type {
  PlanSource,
  RequestAnswer,
  ScheduleHint,
  ScheduleRequest,
  ScheduleState,
  ScheduleStatePatch,
  StoredClaim,
} from "./state/schedule-state.js";
export {
  getAgentScheduleStates,
  getScheduleState,
  readFleetState,
  type StateFunctionOptions,
  updateScheduleState,
  writeFleetState,
} from "./state/state-functions.js";
export type {
  Claim,
  ClaimEnd,
  ClaimRefusal,
  ClaimToken,
  DueSlots,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleKey,
  SkippedSlot,
  StateStore,
} from "./state/store.js";

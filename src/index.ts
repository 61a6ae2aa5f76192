/**
 * Rota's public surface, name by name. Each `// ##` heading is a section of the API reference (site/api-sections.js).
 */

// ## Everyday use
export { Scheduler } from "./scheduler/scheduler.js";
export type {
  SchedulerOptions,
  SchedulerState,
  StopOptions,
  TriggerOptions,
  TriggerResult,
} from "./scheduler/options.js";
export type { Agent, AgentJob as Job, AgentSchedule, RunResult } from "./scheduler/agent.js";
export {
  type CronSchedule,
  type IntervalSchedule,
  type OnceSchedule,
  type Schedule,
  validateSchedule,
} from "./scheduler/timing/schedule.js";
export type { SchedulerEvents } from "./scheduler/events.js";
export type { HintOptions } from "./scheduler/control/state-changes.js";
export type { ScheduleStatus } from "./scheduler/control/schedule-status.js";
export type { TriggerInfo } from "./scheduler/jobs/job.js";
export { FileStore } from "./state/file/file-store.js";
export { MemoryStore } from "./state/memory/memory-store.js";
export type { JobRecord, JobStatus } from "./state/job-log/job-log.js";
export { RotaError } from "./errors.js";
export { ConfigError } from "./scheduler/definition/errors.js";
export { SchedulerError } from "./scheduler/errors.js";
export { StateLockedError } from "./state/errors.js";
export { FakeClock } from "./clock.js";
export type { Logger } from "./logger.js";

// ## Types that everyday use refers to
export type { Clock, IdleSleep, Instant } from "./clock.js";
export type { Duration } from "./duration.js";
export type { RotaErrorOptions } from "./errors.js";
export type {
  ConfigErrorCode,
  ConfigErrorOptions,
  ConfigProblem,
  ConfigProblemCode,
} from "./scheduler/definition/errors.js";
export type { AgentInstances, AgentScheduleInfo } from "./scheduler/agent.js";
export type { Backfill, BackfillOptions, BackfillProgress } from "./scheduler/control/backfill.js";
export type { ChatSchedule, RecurringSchedule, WebhookSchedule } from "./scheduler/timing/schedule.js";
export type { SchedulerEvent, SchedulerListener } from "./scheduler/events.js";
export type { SchedulerJobs, SchedulerStatus, SchedulerTriggerCallback } from "./scheduler/options.js";
export {
  CronParseError,
  IntervalParseError,
  ScheduleDefinitionError,
  type SchedulerErrorCode,
  type SchedulerErrorOptions,
  SchedulerShutdownError,
  ScheduleTriggerError,
  type ShutdownErrorContext,
  TimezoneError,
  type TriggerErrorContext,
} from "./scheduler/errors.js";
export {
  type FileOperation,
  StateError,
  type StateErrorCode,
  StateFileError,
  type StateOwner,
} from "./state/errors.js";
export type { FileStoreOptions } from "./state/file/file-store.js";
export type { MemoryStoreOptions } from "./state/memory/memory-store.js";
export type { JobEndStatus, JobFilter, JobLimits, JobTrigger } from "./state/job-log/job-log.js";

export type {
  AgentRuntime,
  CommandRuntimeConfiguration,
  FunctionRuntimeConfiguration,
  HttpRuntimeConfiguration,
  MessagesRuntimeConfiguration,
  RegisteredRuntimes,
} from "./runner/agent-runtime.js";
export type {
  DirectorySourceConfig,
  GitHubSourceConfig,
  MemorySourceConfig,
  NewWork,
  RegisteredWorkSources,
  ScheduleWorkSource,
} from "./work-sources/work-source.js";

// ## Intervals, cron and plans without a scheduler
export {
  calculateNextTrigger,
  isScheduleDue,
  type NextTriggerOptions,
  parseInterval,
} from "./scheduler/timing/interval.js";
export {
  isValidCronExpression,
  nextCronRun,
  nextCronRuns,
  parseCronExpression,
  previousCronRun,
} from "./scheduler/timing/cron.js";
export type { CronExpression, CronFieldName } from "./scheduler/timing/cron-expression.js";
export { type Plan, type PlanInput, planNextRun } from "./scheduler/planning/governor.js";
export {
  type ExplainedPlan,
  explainNextRun,
  type PlanRule,
  type PlanStep,
} from "./scheduler/planning/explain.js";
export { judgeSlot, type SlotInput, type SlotVerdict } from "./scheduler/planning/late-slot.js";
export { type JobOutcome, recordOutcome } from "./state/claim-rules.js";
export {
  checkSchedule,
  type ScheduleCheckResult,
  type ScheduleQuestion,
  type ScheduleSkipReason,
} from "./scheduler/control/schedule-check.js";

// ## Jobs without a scheduler
export { runSchedule, type RunScheduleOptions } from "./scheduler/jobs/run-schedule.js";
export { buildSchedulePrompt } from "./scheduler/jobs/execute-job.js";
export type { ExecutorResult } from "./scheduler/agent.js";
export type { JobExecution, TriggerMetadata } from "./scheduler/jobs/execute-job.js";
export type { ItemHolder, NextItem, WorkSources } from "./scheduler/jobs/work-item-run.js";
export {
  type ExecuteOptions,
  JobExecutor,
  type JobExecutorOptions,
  type JobStore,
} from "./runner/job-executor.js";
export type { RunnerResult } from "./runner/result.js";
export {
  type HolderOptions,
  type NextWork,
  type NextWorkOptions,
  type WorkingAgent,
  WorkSourceManager,
  type WorkSourceManagerOptions,
} from "./work-sources/manager.js";

// ## State from another process
export { askScheduler, type AskOptions } from "./scheduler/control/ask-scheduler.js";
export {
  getAgentScheduleStates,
  getScheduleState,
  readFleetState,
  type StateFunctionOptions,
  updateScheduleState,
  writeFleetState,
} from "./state/file/state-functions.js";
export type { AgentState, FleetState } from "./state/file/fleet-state.js";

// ## Writing a runtime
export { RuntimeRegistry } from "./runner/registry.js";
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
export { RunnerError, type RunnerErrorCode } from "./runner/errors.js";

// ## Writing a work source
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
export { MemoryWork, type MemoryWorkOptions, type WorkStanding } from "./work-sources/memory-source.js";
export { WorkSourceError, type WorkSourceErrorCode } from "./work-sources/errors.js";

// ## Writing a store
export {
  type AgentDefinition,
  type Claim,
  type ClaimRefusal,
  type ClaimSubject,
  type ClaimToken,
  completeClaim,
  type DefinedSchedule,
  type Definitions,
  type DueSlots,
  type FinishResult,
  type JobFinish,
  type OutsideChange,
  releaseClaim,
  type ScheduleChange,
  type ScheduleDecision,
  type ScheduleDefinition,
  type ScheduleKey,
  type SkippedSlot,
  type StateStore,
  type StepKey,
} from "./state/store.js";
export type { AgentPause, PauseDecision } from "./state/agent-pause.js";
export type {
  LastJob,
  PlanSource,
  ScheduleHint,
  ScheduleState,
  ScheduleStatePatch,
  SlotRetry,
  StoredBackfill,
  StoredClaim,
} from "./state/schedule-state.js";
export type {
  JobOrder,
  Mailbox,
  NewRequest,
  PendingRequest,
  PostOptions,
  RequestAnswer,
  ScheduleRequest,
  StartedOrder,
  WaitOptions,
} from "./state/mailbox.js";
export type { EndedJobRecord, JobLog, JobOutcomeRecord, JobOutput, NewJob } from "./state/job-log/job-log.js";
export { systemClock } from "./clock.js";
export { type Random, seededRandom, systemRandom } from "./random.js";

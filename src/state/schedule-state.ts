/** What is remembered of a schedule between its runs, with the keys as the state file spells them. */

export const PLAN_SOURCES = [
  "baseline-interval",
  "baseline-cron",
  "ai-interval",
  "ai-oneshot",
  "clamped-min",
  "clamped-max",
  "paused",
  "first-run",
  "once",
  "catch-up",
  "manual",
] as const;

/** Why a schedule runs when it does. */
export type PlanSource = (typeof PLAN_SOURCES)[number];

export const SCHEDULE_STATUSES = ["idle", "running", "disabled"] as const;

export type StoredStatus = (typeof SCHEDULE_STATUSES)[number];

export const JOB_TRIGGERS = [
  "interval",
  "cron",
  "once",
  "event",
  "webhook",
  "chat",
  "manual",
  "workflow",
] as const;

/** What started a job. */
export type JobTrigger = (typeof JOB_TRIGGERS)[number];

export const JOB_END_STATUSES = ["completed", "failed", "timeout", "cancelled", "interrupted"] as const;

export type JobEndStatus = (typeof JOB_END_STATUSES)[number];

/** The latest job that ended, written with its end: a record that a crash kept from the job log is made from it. */
export interface LastJob {
  readonly id: string;
  /** ISO time at which its slot was due. */
  readonly slot?: string | null | undefined;
  readonly trigger?: JobTrigger | null | undefined;
  readonly attempt?: number | null | undefined;
  readonly status: JobEndStatus;
}

/** The right to run one slot, as it is remembered while the job runs. */
export interface StoredClaim {
  /** Tells this claim from any later one of the same schedule. */
  readonly token: string;
  readonly job_id: string;
  /** ISO time at which the slot was due. */
  readonly slot: string;
  readonly source?: PlanSource | null | undefined;
  /** ISO time at which it was claimed. */
  readonly claimed_at?: string | null | undefined;
}

/** Temporary advice that changes a plan: a different interval, one extra time, or both. */
export interface ScheduleHint {
  /** Interval text that stands in for the schedule's own. */
  readonly interval?: string | null | undefined;
  /** ISO time of one extra run. */
  readonly next_run_at?: string | null | undefined;
  /** ISO time from which the hint no longer counts. */
  readonly expires_at: string;
  readonly reason?: string | null | undefined;
}

export const REQUESTED_ACTIONS = ["run", "cancel"] as const;

/** A request from outside to the scheduler that runs: start a job now, or cancel one. */
export interface ScheduleRequest {
  /** Unique: a request is acted on once, however often it is written. */
  readonly id: string;
  readonly action: (typeof REQUESTED_ACTIONS)[number];
  /** The job to cancel. */
  readonly job_id?: string | null | undefined;
  /** ISO time from which it no longer counts. */
  readonly expires_at: string;
  /** Why a scheduler that saw the request refused it; the answer, unless a scheduler on a second node accepts it. */
  readonly refusal?: string | null | undefined;
}

/** The result of a request. */
export interface RequestAnswer {
  readonly id: string;
  /** The job that was started or told to end. */
  readonly job_id?: string | null | undefined;
  /** Why nothing was done. */
  readonly refusal?: string | null | undefined;
}

/** All times are ISO texts; a key that is `null` counts as absent. */
export interface ScheduleState {
  readonly status: StoredStatus;
  /** The start of the latest run. */
  readonly last_run_at?: string | null | undefined;
  readonly last_started_at?: string | null | undefined;
  readonly last_completed_at?: string | null | undefined;
  readonly next_run_at?: string | null | undefined;
  readonly next_run_source?: PlanSource | null | undefined;
  readonly last_error?: string | null | undefined;
  /** Failures since the last success. */
  readonly failure_count?: number | null | undefined;
  readonly missed_count?: number | null | undefined;
  /** The latest slot that was dropped because no scheduler ran when it was due. */
  readonly last_missed_at?: string | null | undefined;
  readonly paused_until?: string | null | undefined;
  readonly hint?: ScheduleHint | null | undefined;
  readonly request?: ScheduleRequest | null | undefined;
  /** To the latest request. */
  readonly request_answer?: RequestAnswer | null | undefined;
  /** Set by the store. */
  readonly last_job?: LastJob | null | undefined;
  /** The claim under which its job runs; set by the store. */
  readonly claim?: StoredClaim | null | undefined;
  /** How often in a row its job was cut off by the end of the process; set by the store. */
  readonly interrupted_count?: number | null | undefined;
}

/** The keys above, in the order in which the state file has them. */
export const SCHEDULE_KEYS: readonly (keyof ScheduleState)[] = [
  "status",
  "last_run_at",
  "last_started_at",
  "last_completed_at",
  "next_run_at",
  "next_run_source",
  "last_error",
  "failure_count",
  "interrupted_count",
  "missed_count",
  "last_missed_at",
  "paused_until",
  "hint",
  "request",
  "request_answer",
  "last_job",
  "claim",
];

/** What is known of a schedule that never ran. */
export const UNKNOWN_SCHEDULE: ScheduleState = Object.freeze({
  status: "idle",
  last_run_at: null,
  next_run_at: null,
  last_error: null,
});

/** A change to some keys. A key that it does not name stays; a key that it sets to `null` is cleared. */
export type ScheduleStatePatch = Partial<ScheduleState>;

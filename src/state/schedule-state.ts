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
  "retry",
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
  "retry",
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

/** A slot that runs again, after a failure or because its process died; `next_run_at` says when. */
export interface SlotRetry {
  /** ISO time at which the slot was due, the same in every attempt. */
  readonly slot: string;
  /** The number of the next attempt. */
  readonly attempt: number;
  /** What started the first attempt, as far as it is known. */
  readonly trigger?: JobTrigger | null | undefined;
  /** Why the slot was due when it was. */
  readonly source?: PlanSource | null | undefined;
  /** How many attempts have failed; interruptions are not among them. */
  readonly failures?: number | null | undefined;
  /** ISO time of the next attempt after a failure, which a pause may put off. */
  readonly at?: string | null | undefined;
  /** ISO time of the planned slot that came due beside the requested job: it is counted when this slot is over. */
  readonly beside?: string | null | undefined;
  /** The first job of a slot that was requested: its request has the prompt and data for every attempt. */
  readonly job_id?: string | null | undefined;
  /** The id of the work item that the last attempt worked on: the next one asks its source for it. */
  readonly work_item?: string | null | undefined;
}

/** The slots of a past period that are still to run, one at a time, whenever nothing of the schedule's own is due. */
export interface StoredBackfill {
  /** ISO times of the slots that have not run yet, oldest first. */
  readonly slots: readonly string[];
  readonly total: number;
  /** How many of the slots that ran did not complete. */
  readonly failed?: number | null | undefined;
  /** The `next_run_at` that is planned for the first of `slots`. */
  readonly at?: string | null | undefined;
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
  /** What failed, as a short hash: failures of what was changed since do not count. */
  readonly failed_run?: string | null | undefined;
  /** How many slots were not run, for whatever reason. */
  readonly missed_count?: number | null | undefined;
  /** The latest slot that was not run. */
  readonly last_missed_at?: string | null | undefined;
  /** Set while the plan is not a slot (a pause) or is still to be made: cron times after it are not counted yet. */
  readonly accounted_until?: string | null | undefined;
  /** How many slots found no work in the work source, and when the latest did. */
  readonly no_work_count?: number | null | undefined;
  readonly last_no_work_at?: string | null | undefined;
  readonly paused_until?: string | null | undefined;
  readonly hint?: ScheduleHint | null | undefined;
  readonly backfill?: StoredBackfill | null | undefined;
  /** Set by the store. */
  readonly last_job?: LastJob | null | undefined;
  /** The claim under which its job runs; set by the store. */
  readonly claim?: StoredClaim | null | undefined;
  /** The slot that runs next, where that is not its first attempt. */
  readonly retry?: SlotRetry | null | undefined;
  /** How many slots were given up because their processes died again and again. */
  readonly abandoned_count?: number | null | undefined;
  /** How often a job of the slot under way was cut off by the end of its process; set by the store. */
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
  "retry",
  "last_error",
  "failure_count",
  "failed_run",
  "interrupted_count",
  "abandoned_count",
  "missed_count",
  "last_missed_at",
  "accounted_until",
  "no_work_count",
  "last_no_work_at",
  "paused_until",
  "hint",
  "backfill",
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

/** What is remembered of a schedule between its runs, with the keys as the state file spells them. */

/** Why a schedule runs when it does. */
export type PlanSource =
  | "baseline-interval"
  | "baseline-cron"
  | "ai-interval"
  | "ai-oneshot"
  | "clamped-min"
  | "clamped-max"
  | "paused"
  | "first-run"
  | "once"
  | "catch-up"
  | "manual";

/** Temporary advice that changes a plan: another interval, one extra time, or both. */
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
  readonly status: "idle" | "running" | "disabled";
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
  readonly paused_until?: string | null | undefined;
  readonly hint?: ScheduleHint | null | undefined;
}

/** A change to some keys: those not named stay, those set to `null` are cleared. */
export type ScheduleStatePatch = Partial<ScheduleState>;

/**
 * The job log's contract: a record per job, opened when it starts, closed once when it ends, and the job's output.
 * Where they are kept is each log's business; what an outcome means for the schedule is the scheduler's.
 */
import type { JobEndStatus, JobTrigger, PlanSource } from "../schedule-state.js";

export type { JobEndStatus, JobTrigger } from "../schedule-state.js";

export type JobStatus = "running" | JobEndStatus;

/** What is known of a job from its start. All times are ISO texts; what a job does not have is `null`. */
export interface JobStart {
  /** "job-2026-11-15-k3x9qa7f": the UTC day of its start, and eight characters of its own. */
  readonly id: string;
  readonly agent: string;
  readonly schedule: string | null;
  readonly trigger: JobTrigger;
  /** The due time this job runs for. */
  readonly slot: string | null;
  /** Why it was planned for that time. */
  readonly source: PlanSource | null;
  /** Counts from 1. */
  readonly attempt: number;
  readonly prompt: string | null;
  /** Any JSON value. */
  readonly work_item: unknown;
  /** What it was triggered with, any JSON value; absent for a job without data. */
  readonly data?: unknown;
  /** Why it was triggered, and by whom; absent where nothing was said. */
  readonly cause?: string | undefined;
  readonly started_at: string;
}

/** What is known of a job when it has ended. */
export interface JobEnd {
  readonly status: JobEndStatus;
  readonly finished_at: string;
  /** `null` where the end was not seen. */
  readonly duration_ms: number | null;
  readonly error: string | null;
  readonly summary: string | null;
  /** A process's exit code, or an HTTP status. */
  readonly exit_code: number | null;
  /** Any JSON value. */
  readonly response_body: unknown;
  /** Any JSON value: what was taken after the start, or `null` where that said it. */
  readonly work_item: unknown;
}

/** A job as far as it has come: while it runs, all that its end will tell is `null`. */
export interface JobRecord extends JobStart, Omit<JobEnd, "status" | "finished_at"> {
  readonly status: JobStatus;
  readonly finished_at: string | null;
}

export interface NewJob {
  /**
   * For a caller that had to name the job before it started; a job belongs to the day in its id, so `started_at`
   * goes with it.
   * @default one that no job of that day has
   */
  readonly id?: string | undefined;
  readonly agent: string;
  readonly schedule?: string | null | undefined;
  readonly trigger: JobTrigger;
  readonly slot?: string | null | undefined;
  readonly source?: PlanSource | null | undefined;
  /** @default 1 */
  readonly attempt?: number | undefined;
  readonly prompt?: string | null | undefined;
  readonly work_item?: unknown;
  readonly data?: unknown;
  readonly cause?: string | null | undefined;
  /** @default the clock's time */
  readonly started_at?: string | undefined;
}

/** How a job ended, as its record keeps it. */
export interface JobOutcomeRecord {
  readonly status: JobEndStatus;
  readonly error?: string | null | undefined;
  readonly summary?: string | null | undefined;
  readonly exit_code?: number | null | undefined;
  readonly response_body?: unknown;
  /** @default what the start said */
  readonly work_item?: unknown;
  /** @default the clock's time */
  readonly finished_at?: string | undefined;
  /** `null`: unknown. @default the time since the start */
  readonly duration_ms?: number | null | undefined;
}

/** The record of a job that has ended. */
export interface EndedJobRecord extends JobRecord {
  readonly status: JobEndStatus;
  readonly finished_at: string;
}

export interface JobFilter {
  readonly agent?: string | undefined;
  readonly schedule?: string | undefined;
  readonly status?: JobStatus | undefined;
  /** Only jobs started at or after this time. */
  readonly since?: Date | undefined;
  /** @default 100 */
  readonly limit?: number | undefined;
}

/** Where a running job's output goes. Of an output beyond the log's limit, the head and the tail are kept. */
export interface JobOutput {
  /**
   * Writes are kept in the order of their calls. One that rejected may be made again, and is kept once then. The caller
   * frees the chunk when the write has resolved, so a log copies what it keeps longer.
   */
  write(chunk: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Every method rejects a malformed job id with a StateError, code INVALID_STATE. */
export interface JobLog {
  /** Opens a record; durable when it resolves. An id that is taken is refused with INVALID_STATE. */
  start(job: NewJob): Promise<JobRecord>;
  /**
   * Closes a record; durable when it resolves. `false`: it is closed already, or unknown; the first close stays. In a log
   * that several nodes share, the node that ran a job overrides a node that only found its process gone.
   */
  finish(id: string, outcome: JobOutcomeRecord): Promise<boolean>;
  get(id: string): Promise<JobRecord | undefined>;
  /** Newest first, by the time of the start. */
  list(filter?: JobFilter): Promise<readonly JobRecord[]>;
  /** A job's output is opened once; a second time is refused with INVALID_STATE. */
  openOutput(id: string): Promise<JobOutput>;
  /** `undefined` for a job that never had an output. */
  readOutput(id: string): Promise<string | undefined>;
}

/** How much a store keeps of jobs. Infinity stands for no limit. */
export interface JobLimits {
  /**
   * So many of the last jobs of each schedule are kept; a few more may be there for a while.
   * @default 200, or no limit if `maxJobs` is given
   */
  readonly keep?: number | undefined;
  /** How long a record is kept, in days. @default 30 */
  readonly maxAgeDays?: number | undefined;
  /** How many jobs are kept in all. @default no limit */
  readonly maxJobs?: number | undefined;
  /** Of a longer output, the head and the tail are kept. @default 1_000_000 */
  readonly maxOutputBytes?: number | undefined;
  /**
   * Of records and outputs together. Beyond it, fewer jobs of each schedule are kept. Of a FileStore only.
   * @default 1_000_000_000
   */
  readonly maxSizeBytes?: number | undefined;
}

export const DEFAULT_LIST_LIMIT = 100;
export const DEFAULT_MAX_AGE_DAYS = 30;
export const DEFAULT_KEEP = 200;
export const DEFAULT_MAX_SIZE_BYTES = 1_000_000_000;
export const DEFAULT_MAX_OUTPUT_BYTES = 1_000_000;

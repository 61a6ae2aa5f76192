/** What a store with one owner asks of its job log beyond the public contract: many records at a time, and recovery. */
import type { EndedJobRecord, JobLog, JobRecord } from "../job-log/job-log.js";

export interface RecordFailure {
  readonly error: unknown;
}

/** In the order of the records; `undefined` for a record that is durable. */
export type RecordFailures = readonly (RecordFailure | undefined)[];

export interface OwnedJobLog extends JobLog {
  /** Opens records. A record that is there stays as it is. */
  openRecords(jobs: readonly JobRecord[]): Promise<RecordFailures>;
  /** Closes records, also of jobs whose record was never opened. A record that is closed stays as it is. */
  closeRecords(jobs: readonly EndedJobRecord[]): Promise<RecordFailures>;
  /** The records that are closed, by job id. */
  closedRecords(ids: readonly string[]): Promise<ReadonlyMap<string, EndedJobRecord>>;
  /** The jobs without a closed record, apart from jobs so old that the log may have removed it. */
  unrecordedJobs(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

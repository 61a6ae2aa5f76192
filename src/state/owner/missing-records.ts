/** After a crash a job may have a claim, or an end in its schedule's state, and no record: it is made from the state. */
import type { Logger } from "../../logger.js";
import { recordOfLastJob } from "../claim-rules.js";
import { StateError } from "../errors.js";
import { isJobId } from "../job-log/job-id.js";
import type { EndedJobRecord } from "../job-log/job-log.js";
import { interruptedRecord } from "../job-log/interrupted-record.js";
import type { ScheduleState } from "../schedule-state.js";
import type { ScheduleKey } from "../store.js";
import type { OwnedJobLog } from "./owned-job-log.js";

export interface MissingRecordsOptions {
  readonly log: OwnedJobLog;
  readonly now: Date;
  readonly logger: Logger;
}

interface KnownState {
  readonly key: ScheduleKey;
  readonly state: Partial<ScheduleState>;
}

/** Records the last job of each schedule whose record is missing. A record that can never be written is logged. */
export async function recordLastJobs(
  states: readonly KnownState[],
  options: MissingRecordsOptions,
): Promise<void> {
  const last = states.flatMap(({ key, state }) => {
    const { last_job: job } = state;
    return job == null || !isJobId(job.id) ? [] : [{ key, state, job }];
  });
  if (last.length === 0) return;
  const { log, now } = options;
  const unrecorded = await log.unrecordedJobs(last.map(({ job }) => job.id));
  const missing = last.filter(({ job }) => unrecorded.has(job.id));
  await writeRecords(
    missing.map(({ key, state, job }) => recordOfLastJob(key, state, job, now)),
    options,
  );
}

/**
 * Closes, as interrupted, the records of the jobs that were running when the last owner died, and makes the records that it
 * had not opened. `closed`: the final records among them, which stay.
 */
export async function recordInterrupted(
  states: readonly KnownState[],
  closed: ReadonlyMap<string, EndedJobRecord>,
  options: MissingRecordsOptions,
): Promise<void> {
  const { now } = options;
  const error = "interrupted: the process that ran the job ended";
  const records = states.flatMap(({ key, state }) => interruptedRecord(key, state, { now, error }) ?? []);
  await writeRecords(
    records.filter(({ id }) => !closed.has(id)),
    options,
  );
}

async function writeRecords(
  records: readonly EndedJobRecord[],
  { log, logger }: MissingRecordsOptions,
): Promise<void> {
  if (records.length === 0) return;
  const failures = await log.closeRecords(records);
  for (const [index, failure] of failures.entries()) {
    if (failure === undefined) continue;
    if (!(failure.error instanceof StateError && failure.error.code === "INVALID_STATE")) throw failure.error;
    logger.error(`Could not record ${records[index]?.id}: ${failure.error.message}`);
  }
}

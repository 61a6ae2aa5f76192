/** After a crash the state of an ended job may be durable and its record not: such records are made from the states. */
import type { Logger } from "../../logger.js";
import { recordOfLastJob } from "../claim-rules.js";
import { StateError } from "../errors.js";
import { isJobId } from "../job-log/job-id.js";
import type { ScheduleState } from "../schedule-state.js";
import type { ScheduleKey } from "../store.js";
import type { OwnedJobLog } from "./owned-job-log.js";

export interface MissingRecordsOptions {
  readonly log: OwnedJobLog;
  readonly now: Date;
  readonly logger: Logger;
}

/** Records the last job of each schedule whose record is missing. A record that can never be written is logged. */
export async function recordLastJobs(
  states: readonly { readonly key: ScheduleKey; readonly state: Partial<ScheduleState> }[],
  { log, now, logger }: MissingRecordsOptions,
): Promise<void> {
  const last = states.flatMap(({ key, state }) => {
    const { last_job: job } = state;
    return job == null || !isJobId(job.id) ? [] : [{ key, state, job }];
  });
  if (last.length === 0) return;
  const unrecorded = await log.unrecordedJobs(last.map(({ job }) => job.id));
  const missing = last.filter(({ job }) => unrecorded.has(job.id));
  if (missing.length === 0) return;
  const failures = await log.closeRecords(
    missing.map(({ key, state, job }) => recordOfLastJob(key, state, job, now)),
  );
  for (const [index, failure] of failures.entries()) {
    if (failure === undefined) continue;
    if (!(failure.error instanceof StateError && failure.error.code === "INVALID_STATE")) throw failure.error;
    logger.error(`Could not record ${missing[index]?.job.id}: ${failure.error.message}`);
  }
}

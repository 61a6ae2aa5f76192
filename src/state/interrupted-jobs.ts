/** Logs jobs that their process or node left unfinished, so that a restart or a takeover is never silent. */
import type { Logger } from "../logger.js";
import type { ScheduleKey } from "./store.js";

/** More lines would hide what is logged before and after them. */
const MOST_LOGGED = 20;

export interface InterruptedJob extends ScheduleKey {
  readonly jobId: string;
}

/** "reports/nightly was interrupted (job-…): the process of its scheduler ended": a line for each job, up to a limit. */
export function logInterrupted(logger: Logger, jobs: readonly InterruptedJob[], reason: string): void {
  for (const { agent, schedule, jobId } of jobs.slice(0, MOST_LOGGED))
    logger.warn(`${agent}/${schedule} was interrupted (${jobId}): ${reason}`);
  const rest = jobs.length - MOST_LOGGED;
  if (rest > 0) logger.warn(`${rest} more jobs were interrupted: ${reason}`);
}

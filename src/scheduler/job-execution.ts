/** How a scheduler runs its jobs: in the host's own way, or through `runSchedule`. */
import type { JobOutput } from "../state/jobs/job-log.js";
import type { ExecuteJob } from "./job-desk.js";
import { runSchedule } from "./schedule-runner.js";
import type { SchedulerContext } from "./scheduler-context.js";
import type { SchedulerOptions } from "./scheduler-options.js";

export function jobExecution(
  { onTrigger, jobExecutor, workSourceManager, sdkQuery }: SchedulerOptions,
  { log: logger, store }: SchedulerContext,
): ExecuteJob {
  if (onTrigger !== undefined)
    return async (info) => {
      await onTrigger(info);
    };
  const openOutput = (jobId: string): Promise<JobOutput> => store.jobs.openOutput(jobId);
  const options = { jobExecutor, workSourceManager, sdkQuery, logger, openOutput };
  return (info) => runSchedule(info, options);
}

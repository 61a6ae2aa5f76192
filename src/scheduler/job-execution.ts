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
  return (info) => {
    const openOutput = (): Promise<JobOutput> => store.jobs.openOutput(info.job.id);
    return runSchedule({ info, jobExecutor, workSourceManager, sdkQuery, logger, openOutput });
  };
}

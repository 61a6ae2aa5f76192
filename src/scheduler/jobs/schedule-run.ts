/** One run of a schedule: its work item, its prompt, its execution, the report to where the work came from. */
import type { WorkItem } from "../../work-sources/work-source.js";
import type { AgentSchedule, ExecutorResult, RunResult } from "../agent.js";
import { buildSchedulePrompt } from "./prompt.js";
import { runOnWork, type WorkParts, type WorkRun } from "./work-item-run.js";

export interface ScheduleRun extends WorkRun {
  readonly schedule: AgentSchedule;
}

/** Runs a job in whatever way; throwing is failing, to answer nothing is success. */
export type RunJob<Run, Result = ExecutorResult | undefined> = (
  run: Run,
  prompt: string,
  workItem: WorkItem | undefined,
) => Promise<Result> | Result;

/** Answers at once where the job does: throwing is failing, then as later. */
export function performRun<Run extends ScheduleRun, Result extends ExecutorResult | undefined>(
  run: Run,
  parts: WorkParts,
  execute: RunJob<Run, Result>,
): Promise<RunResult | Result> | RunResult | Result {
  const { schedule } = run;
  if (schedule.work_source === undefined) return execute(run, buildSchedulePrompt(schedule), undefined);
  return runOnWork(run, schedule.work_source, parts, (item) =>
    execute(run, buildSchedulePrompt(schedule, item), item),
  );
}

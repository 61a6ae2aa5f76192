/** How a scheduler runs its jobs: in the host's own way, by the host's executor, or by each agent's own runtime. */
import { withTimeout } from "../../clock.js";
import { messageOf, RotaError } from "../../errors.js";
import type { ExecuteOptions } from "../../runner/job-executor.js";
import { jobKey } from "../../runner/job-context.js";
import { DEFAULT_OUTPUT_TIMEOUT_MS, JobRunner } from "../../runner/job-runner.js";
import { stacksOf } from "../../runner/output/error-stack.js";
import { WorkSourceManager } from "../../work-sources/manager.js";
import type { WorkItem } from "../../work-sources/work-source.js";
import { checkedExecution, type JobResult } from "../../runner/result.js";
import type { ExecutorResult, RunResult } from "../agent.js";
import type { ExecuteJob } from "./job-starter.js";
import { type Job, resultOf, triggerInfo } from "./job.js";
import { runOnWork, type WorkParts, type WorkRun } from "./work-item-run.js";
import type { SchedulerContext } from "../context.js";
import type { SchedulerOptions } from "../options.js";

/** Runs jobs in whatever way it likes; throwing is failing. A JobExecutor is one. */
export interface JobExecution {
  execute(options: ExecuteOptions): Promise<ExecutorResult> | ExecutorResult;
}

/** What an executor is told about why it runs a job. */
export type TriggerMetadata = Pick<
  ExecuteOptions,
  "triggerType" | "schedule" | "slot" | "key" | "source" | "attempt" | "workItemId" | "workItemTitle"
>;

export function jobExecution(options: SchedulerOptions, context: SchedulerContext): ExecuteJob {
  const { onTrigger, workSourceManager } = options;
  const { clock, log: logger } = context;
  if (onTrigger !== undefined)
    return (job) =>
      runByHost(job, context, async () => {
        await onTrigger(triggerInfo(job));
      });
  const parts = { sources: workSourceManager ?? new WorkSourceManager({ clock, logger }), clock, logger };
  if (options.jobExecutor !== undefined) {
    const execute = by(options.jobExecutor, context);
    return (job) => runByHost(job, context, () => runSlot(job, parts, execute));
  }
  const runner = runnerOf(options, context);
  const run: RunJob<Job> = (job, prompt, workItem) => runner.run(job, prompt, workItem);
  return (job) =>
    job.schedule.work_source === undefined
      ? runner.run(job, buildSchedulePrompt(job.schedule))
      : Promise.resolve(runSlot(job, parts, run)).then(resultOf);
}

/** Runs a job by code of the host. The job's output keeps the stack of what it throws. */
async function runByHost(
  job: Job,
  context: SchedulerContext,
  run: () => Promise<RunResult | void> | RunResult | undefined,
): Promise<JobResult> {
  try {
    return resultOf(await run());
  } catch (error) {
    const stacks = job.isStopped || error instanceof RotaError ? undefined : stacksOf(error);
    if (stacks !== undefined) await keepOutput(job, `${stacks}\n`, context);
    throw error;
  }
}

/** Tries once: the host may have opened the output itself. Never rejects. */
async function keepOutput({ id }: Job, text: string, { clock, log, store }: SchedulerContext): Promise<void> {
  const write = async (): Promise<void> => {
    const output = await store.jobs.openOutput(id);
    await output.write(text);
    await output.close();
  };
  try {
    await withTimeout(clock, DEFAULT_OUTPUT_TIMEOUT_MS, write(), () => {});
  } catch (error) {
    log.warn(`Could not keep the output of ${id}: ${messageOf(error)}`);
  }
}

function runnerOf({ sdkQuery, runtimes }: SchedulerOptions, context: SchedulerContext): JobRunner {
  const { clock, log: logger, store } = context;
  return new JobRunner({
    clock,
    logger,
    sdkQuery,
    runtimes,
    // A job that was cancelled is waited for: its result is not to be lost.
    cancelGraceMs: Infinity,
    openOutput: (jobId) => store.jobs.openOutput(jobId),
  });
}

function by(executor: JobExecution, { store }: SchedulerContext): RunJob<Job> {
  return async (running, prompt, workItem) => {
    const { agent, scheduleName: schedule, job, signal } = running;
    const returned = await executor.execute({
      agent,
      prompt,
      store,
      triggerType: job.trigger,
      schedule,
      slot: job.slot === null ? undefined : new Date(job.slot),
      key: jobKey(job),
      source: job.source,
      attempt: job.attempt,
      data: job.data,
      workItem,
      workItemId: workItem?.id,
      workItemTitle: workItem?.title,
      timeout: running.schedule.timeout,
      signal,
      job,
    });
    return checkedExecution(returned);
  };
}

/** Runs a job in whatever way; throwing is failing, returning nothing is success. */
type RunJob<Run> = (
  run: Run,
  prompt: string,
  workItem: WorkItem | undefined,
) => Promise<RunResult | undefined> | RunResult | undefined;

/** Runs a schedule's job with its prompt, on a work item where the schedule has a work source. */
export function runSlot<Run extends WorkRun>(
  run: Run,
  parts: WorkParts,
  execute: RunJob<Run>,
): Promise<RunResult | undefined> | RunResult | undefined {
  const { schedule } = run;
  if (schedule.work_source === undefined) return execute(run, buildSchedulePrompt(schedule), undefined);
  return runOnWork(run, schedule.work_source, parts, (item) =>
    execute(run, buildSchedulePrompt(schedule, item), item),
  );
}

const DEFAULT_PROMPT = "Execute scheduled task";

/** What a job is asked to do: its schedule's prompt, then the work item that it is about. */
export function buildSchedulePrompt(
  schedule: { readonly prompt?: string | undefined },
  workItem?: WorkItem,
): string {
  const prompt = schedule.prompt ?? DEFAULT_PROMPT;
  return workItem === undefined ? prompt : `${prompt}\n\n${aboutItem(workItem)}`;
}

/** A host's own manager may return items that have less than a WorkItem. */
function aboutItem(item: Partial<WorkItem>): string {
  const { title, description = "", source, id, priority, labels = [], url } = item;
  const facts = [
    ["Source", source],
    ["Id", id],
    ["Priority", priority],
    ["Labels", labels.join(", ")],
    ["URL", url],
  ];
  const lines = facts.filter(([, value = ""]) => value !== "").map(([name, value]) => `${name}: ${value}`);
  return [`# ${title}`, description, lines.join("\n")].filter((part) => part !== "").join("\n\n");
}

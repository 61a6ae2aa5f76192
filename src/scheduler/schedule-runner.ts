/**
 * One run of a schedule: its work item, its prompt, its execution, the report to where the work came from.
 * The state around the run, and when the next one is, are the scheduler's business.
 */
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { JobOutput } from "../state/jobs/job-log.js";
import type { Agent, Job, RunnerResult } from "./agent.js";
import { SchedulerError } from "./errors.js";
import { isPromiseLike } from "../runner/promise-like.js";
import type { RunningJob, TriggerInfo } from "./running-job.js";

/** Runs jobs in whatever way it likes; throwing is failing. */
export interface JobExecutor {
  execute(options: ExecuteOptions): Promise<RunnerResult> | RunnerResult;
}

export interface ExecuteOptions {
  readonly agent: Agent;
  readonly prompt: string;
  readonly triggerType: TriggerInfo["job"]["trigger"];
  /** The schedule's name. */
  readonly schedule: string;
  readonly job: TriggerInfo["job"];
  readonly workItem?: WorkItem | undefined;
  readonly signal: AbortSignal;
  readonly sdkQuery?: unknown;
}

/** A unit of outside work, as far as a run has to know it. */
export interface WorkItem {
  readonly id: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly url?: string | undefined;
}

export interface WorkSourceManager {
  getNextWorkItem(
    agent: Agent,
    options: { readonly workSource: unknown },
  ): Promise<{ item: WorkItem | null }>;
  reportOutcome(
    id: string,
    outcome: { outcome: "success" | "failure"; summary: string; error?: string | undefined },
    context: { readonly agent: Agent },
  ): Promise<void>;
}

export interface RunScheduleOptions {
  readonly jobExecutor?: JobExecutor | undefined;
  readonly workSourceManager?: WorkSourceManager | undefined;
  readonly sdkQuery?: unknown;
  readonly logger: Logger;
  /** Opens a job's output, when the job first writes to it. */
  openOutput(jobId: string): Promise<JobOutput>;
}

const DEFAULT_PROMPT = "Execute scheduled task";

/** Answers at once where the job does: throwing is failing, then as later. */
export function runSchedule(
  info: RunningJob,
  options: RunScheduleOptions,
): Promise<RunnerResult> | RunnerResult {
  const { workSourceManager } = options;
  const { work_source: workSource } = info.schedule;
  return workSource === undefined || workSourceManager === undefined
    ? execute(info, options, undefined)
    : runWorkItem(info, options, workSourceManager, workSource);
}

async function runWorkItem(
  info: RunningJob,
  options: RunScheduleOptions,
  workSourceManager: WorkSourceManager,
  workSource: unknown,
): Promise<RunnerResult> {
  const { logger } = options;
  const { agent } = info;
  const { item } = await workSourceManager.getNextWorkItem(agent, { workSource });
  if (item === null) return { success: true, skipped: true, skipReason: "no_work", summary: "no work" };
  const result = await executed(info, options, item);
  const { success, summary = "Job completed", error } = result;
  try {
    await workSourceManager.reportOutcome(
      item.id,
      { outcome: success ? "success" : "failure", summary, error },
      { agent },
    );
  } catch (cause) {
    logger.warn(`Could not report the outcome of ${item.id}: ${messageOf(cause)}`);
  }
  return result;
}

/** What the job is asked to do: the schedule's prompt, then the work item's details. */
export function buildSchedulePrompt(
  schedule: { readonly prompt?: string | undefined },
  workItem?: WorkItem,
): string {
  const prompt = schedule.prompt ?? DEFAULT_PROMPT;
  if (workItem === undefined) return prompt;
  const { title, description, url } = workItem;
  return [prompt, title, description, url].filter((part) => part !== undefined && part !== "").join("\n\n");
}

async function executed(
  info: RunningJob,
  options: RunScheduleOptions,
  workItem: WorkItem,
): Promise<RunnerResult> {
  try {
    return await execute(info, options, workItem);
  } catch (error) {
    return { success: false, error: messageOf(error) };
  }
}

function execute(
  info: RunningJob,
  options: RunScheduleOptions,
  workItem: WorkItem | undefined,
): Promise<RunnerResult> | RunnerResult {
  const { jobExecutor, sdkQuery } = options;
  const { agent, scheduleName: schedule } = info;
  const prompt = buildSchedulePrompt(info.schedule, workItem);
  if (jobExecutor !== undefined) {
    const { job, signal } = info;
    const triggerType = job.trigger;
    return jobExecutor.execute({ agent, prompt, triggerType, schedule, job, workItem, signal, sdkQuery });
  }
  if (agent.run === undefined)
    throw new SchedulerError(
      `Agent ${agent.name} cannot run jobs: give it a run function, or the scheduler a jobExecutor or onTrigger`,
      { code: "INVALID_ARGUMENT" },
    );
  const about = new AgentJob(info, options, prompt, workItem);
  try {
    const answer = agent.run(about);
    // What has ended and written nothing leaves nothing to wait for.
    return isPromiseLike(answer) || about.output !== undefined ? endOf(about, answer) : successOf(answer);
  } catch (error) {
    if (about.output === undefined) throw error;
    return endOf(about, Promise.reject(error));
  }
}

const SUCCESS: RunnerResult = { success: true };

/** A text that the agent answers is the job's summary. */
function successOf(answer: unknown): RunnerResult {
  return typeof answer === "string" ? { success: true, summary: answer } : SUCCESS;
}

async function endOf(about: AgentJob, answer: unknown): Promise<RunnerResult> {
  try {
    return successOf(await answer);
  } finally {
    if (about.output !== undefined) await about.output.close();
  }
}

/** Most jobs of a herd look at little of this, so what has to be made is made when it is asked for. */
class AgentJob implements Job {
  readonly jobId: string;
  readonly agent: Agent;
  readonly schedule: string;
  readonly prompt: string;
  readonly workItem: WorkItem | undefined;
  readonly #info: RunningJob;
  readonly #options: RunScheduleOptions;
  #output: LazyOutput | undefined;

  constructor(info: RunningJob, options: RunScheduleOptions, prompt: string, workItem: WorkItem | undefined) {
    this.jobId = info.id;
    this.agent = info.agent;
    this.schedule = info.scheduleName;
    this.prompt = prompt;
    this.workItem = workItem;
    this.#info = info;
    this.#options = options;
  }

  get attempt(): number {
    return this.record.attempt;
  }

  get record(): TriggerInfo["job"] {
    return this.#info.job;
  }

  get signal(): AbortSignal {
    return this.#info.signal;
  }

  /** Not a method, so that it may be taken out of the job and called alone. */
  get log(): (line: string) => void {
    return (line) => {
      this.#output ??= new LazyOutput(this.jobId, this.#options);
      this.#output.add(line);
    };
  }

  get output(): LazyOutput | undefined {
    return this.#output;
  }
}

/** An output that is opened by its first line, and whose failing fails no job. */
class LazyOutput {
  readonly #jobId: string;
  readonly #options: RunScheduleOptions;
  #output: Promise<JobOutput> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(jobId: string, options: RunScheduleOptions) {
    this.#jobId = jobId;
    this.#options = options;
  }

  add(line: string): void {
    this.#output ??= this.#options.openOutput(this.#jobId);
    const opened = this.#output;
    this.#last = this.#last
      .then(async () => (await opened).write(`${line}\n`))
      .catch((error: unknown) => {
        this.#options.logger.warn(`Could not keep the output of ${this.#jobId}: ${messageOf(error)}`);
      });
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#output?.then((output) => output.close()).catch(() => {});
  }
}

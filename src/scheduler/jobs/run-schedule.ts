/**
 * Runs a schedule once without a scheduler: it marks the state, runs the job, and plans the next run.
 * What happens in between is the same as in a scheduler (execute-job.ts).
 */
import { type Clock, systemClock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import { guarded, type Logger, processLogger } from "../../logger.js";
import { systemRandom } from "../../random.js";
import { JobExecutor, type JobExecutorOptions } from "../../runner/job-executor.js";
import { checkedExecution } from "../../runner/result.js";
import type { SdkQuery } from "../../runner/runtime.js";
import { FileStore } from "../../state/file/file-store.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { WorkSourceManager } from "../../work-sources/manager.js";
import type { Agent, AgentSchedule, RunResult } from "../agent.js";
import { stateAfterJob } from "../planning/state-after-job.js";
import { type JobExecution, runSlot } from "./execute-job.js";
import { resultOf } from "./job.js";
import type { WorkSources } from "./work-item-run.js";
import { nameOf } from "../context.js";

export interface RunScheduleOptions {
  readonly agent: Agent;
  readonly scheduleName: string;
  readonly schedule: AgentSchedule;
  /** What is known of the schedule. @default what the state directory says */
  readonly scheduleState?: Partial<ScheduleState> | undefined;
  /** Where state and jobs are kept. A scheduler may run on it at the same time. */
  readonly stateDir: string;
  /** @default one of its own */
  readonly workSourceManager?: WorkSources | undefined;
  /** @default one that runs the agent's own runtime */
  readonly jobExecutor?: JobExecution | undefined;
  readonly sdkQuery?: SdkQuery | undefined;
  /** For the executor, if none is given. */
  readonly executorOptions?: Omit<JobExecutorOptions, "stateDir" | "store"> | undefined;
  /** @default Node's process warnings */
  readonly logger?: Logger | undefined;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
  /** @default systemClock */
  readonly clock?: Clock | undefined;
}

interface Surroundings {
  readonly store: FileStore;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Runs a schedule now, whether it is due or not. Does not reject for a job that fails, only when the state cannot be
 * read or written.
 */
export async function runSchedule(options: RunScheduleOptions): Promise<RunResult> {
  const { agent, scheduleName, schedule, stateDir, clock = systemClock } = options;
  const logger = guarded(options.logger ?? processLogger);
  const key = { agent: agent.name, schedule: scheduleName };
  const store = new FileStore({ stateDir, clock, logger });
  try {
    const startedAt = clock.now();
    logger.info(`Running ${nameOf(key)}`);
    const known = options.scheduleState ?? (await store.read(key));
    await store.update(key, { status: "running", last_run_at: startedAt.toISOString() });
    const dueMs = isoTimeMs(known.next_run_at) ?? Infinity;
    const slot = dueMs <= startedAt.getTime() ? new Date(dueMs) : startedAt;
    const attempt = (known.failure_count ?? 0) + 1;
    const result = await runJob(options, { slot, attempt }, { store, logger, clock });
    await store.update(key, (state) => stateAfter(result, { state, schedule, startedAt, now: clock.now() }));
    logger.info(`Completed ${nameOf(key)}: ${result.success ? "success" : "failed"}`);
    return { processedWorkItem: false, ...result };
  } finally {
    await store.close();
  }
}

async function runJob(
  options: RunScheduleOptions,
  { slot, attempt }: { readonly slot: Date; readonly attempt: number },
  { store, logger, clock }: Surroundings,
): Promise<RunResult> {
  const { agent, scheduleName, schedule, sdkQuery, executorOptions } = options;
  const { jobExecutor = new JobExecutor({ clock, logger, sdkQuery, ...executorOptions, store }) } = options;
  const { workSourceManager: sources = new WorkSourceManager({ clock, logger }) } = options;
  const canceller = new AbortController();
  const signal = AbortSignal.any([
    canceller.signal,
    ...(options.signal === undefined ? [] : [options.signal]),
  ]);
  const stop = (_: "cancelled", reason: string): void =>
    canceller.abort(new DOMException(reason, "AbortError"));
  try {
    return (
      (await runSlot(
        { agent, scheduleName, schedule, signal, stop },
        { sources, clock, logger },
        async (_, prompt, workItem) => {
          const returned = await jobExecutor.execute({
            agent,
            prompt,
            store,
            triggerType: schedule.type,
            schedule: scheduleName,
            slot,
            attempt,
            workItem,
            workItemId: workItem?.id,
            workItemTitle: workItem?.title,
            timeout: schedule.timeout,
            signal,
          });
          return checkedExecution(returned);
        },
      )) ?? { success: true }
    );
  } catch (error) {
    return { success: false, status: signal.aborted ? "cancelled" : "failed", error: messageOf(error) };
  }
}

function stateAfter(
  returned: RunResult,
  about: { state: ScheduleState; schedule: AgentSchedule; startedAt: Date; now: Date },
): ScheduleStatePatch {
  const { state, schedule, startedAt, now } = about;
  const run = { result: resultOf(returned), startedAt, finishedAt: now };
  const { patch } = stateAfterJob({ now, schedule, state, random: systemRandom }, run);
  return { ...patch, status: state.status === "disabled" ? "disabled" : "idle" };
}

/**
 * How the ends of jobs are written: those that come while one write is under way go together into the next. When that
 * cannot be written, each is tried alone until it can, and each of its two parts only until it has worked. Where others
 * share the store, another may have the slot, which only the store knows: it writes the record too, or that comes second.
 */
import { GroupCommit } from "../../group-commit.js";
import type { EndedJobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { ClaimEnd } from "../../state/store.js";
import type { ClaimKeeper } from "../claims/held-claims.js";
import { concludeJob, type PlanNews } from "../planning/state-after-job.js";
import { nextCronRun } from "../timing/cron.js";
import type { JobRecords } from "./job-records.js";
import type { Planner } from "../planning/planner.js";
import type { EndedJob } from "./ended-job.js";
import type { RunningJob } from "./job.js";
import { cronExpression } from "../timing/schedule.js";
import { nameOf, type SchedulerContext } from "../context.js";

export interface EndedJobsOptions {
  readonly claims: ClaimKeeper;
  readonly records: JobRecords;
  /** Hears of a job whose place the store gives to others from now on; more than once of the same. */
  readonly onCompleted: (job: RunningJob) => void;
  /** Hears when places may have become free. */
  readonly onFreed: () => void;
}

export class EndedJobs {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #options: EndedJobsOptions;
  // Apart: a log that hangs must not keep the schedules waiting.
  readonly #completions = new GroupCommit<EndedJob>((jobs) => this.#try(jobs, this.#completeAll(jobs)));
  readonly #closings = new GroupCommit<EndedJob>((jobs) =>
    this.#try(jobs, this.#options.records.closeAll(jobs)),
  );

  constructor(context: SchedulerContext, planner: Planner, options: EndedJobsOptions) {
    this.#context = context;
    this.#planner = planner;
    this.#options = options;
  }

  /** Does not wait: `job:finished` tells when the end is recorded. */
  addAll(jobs: readonly EndedJob[]): void {
    if (this.#isShared) void this.#try(jobs, this.#completeAll(jobs));
    else
      for (const job of jobs) {
        void this.#completions.add(job);
        void this.#closings.add(job);
      }
  }

  get #isShared(): boolean {
    return this.#context.store.isShared === true;
  }

  /** One part of the ends of these jobs, whatever becomes of it. */
  async #try(jobs: readonly EndedJob[], writing: Promise<void>): Promise<void> {
    // What went wrong is told when a job is tried alone.
    await writing.catch(() => {});
    for (const job of jobs) {
      if (--job.untriedParts > 0 && this.#isFollowed(job)) continue;
      if (job.isCompleted && job.isRecorded) this.#finish(job);
      else void this.#writeAlone(job);
    }
    this.#options.onFreed();
  }

  /** Whether the other part of its end is under way. */
  #isFollowed(job: EndedJob): boolean {
    if (!this.#isShared) return true;
    if (!job.isCompleted || job.isRecorded) return false;
    void this.#closings.add(job);
    return true;
  }

  async #writeAlone(job: EndedJob): Promise<void> {
    await this.#options.claims.settle(job.running, () => this.#writeRest(job));
    this.#finish(job);
    this.#options.onFreed();
  }

  /** Each part is tried until it has worked, and then never again. */
  async #writeRest(job: EndedJob): Promise<void> {
    const completing = job.isCompleted ? undefined : this.#completeAll([job]);
    if (this.#isShared) await completing;
    const closing = job.isRecorded ? undefined : this.#options.records.closeAll([job]);
    const results = await Promise.allSettled([completing, closing]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  #finish(job: EndedJob): void {
    const { log, events } = this.#context;
    const { record } = job;
    this.#options.claims.remove(job.running);
    // Also one whose end had to be given up.
    this.#options.onCompleted(job.running);
    log.debug?.(`Finished ${record.id} of ${nameOf(job.claim)}: ${record.status}`);
    events.emit("job:finished", { job: record });
  }

  async #completeAll(jobs: readonly EndedJob[]): Promise<void> {
    for (const job of jobs) job.running.isCompleting = true;
    const ends = jobs.map((job) => new JobCompletion(job, this.#planner));
    const areHeld = await this.#context.store.completeAll(ends).catch((error: unknown) => {
      for (const job of jobs) job.running.isCompleting = false;
      throw error;
    });
    const isShared = this.#isShared;
    jobs.forEach((job, index) => {
      if (isShared && areHeld[index] !== true) job.supersede();
      else if (ends[index]?.isRecorded === true) job.running.isOpened = job.isRecorded = true;
      job.isCompleted = true;
      this.#options.onCompleted(job.running);
    });
    this.#options.onFreed();
    ends.forEach((end, index) => this.#tell(end, areHeld[index] === true));
  }

  #tell(end: JobCompletion, isHeld: boolean): void {
    const { claim, job } = end;
    if (isHeld) this.#planner.tell(claim, end);
    else
      this.#context.log.warn(
        `${job.running.id} of ${nameOf(claim)} lost its claim before it ended: its result changes nothing.`,
      );
    this.#tellOverlapped(job);
  }

  /** The next time of a cron schedule may have passed while its job ran. */
  #tellOverlapped({ claim, running, finishedAt }: EndedJob): void {
    if (running.schedule.type !== "cron") return;
    const schedule = this.#context.roster.find(claim)?.schedule;
    if (schedule?.type !== "cron") return;
    const slot = nextCronRun(cronExpression(schedule), claim.claimedAt, schedule.timezone);
    if (slot <= finishedAt) this.#planner.skip(claim, "already_running", slot);
  }
}

/**
 * The end of a job's claim, decided on the state as it is when it is written, with its record if that was never opened.
 * Keeps only what is to be told of it.
 */
class JobCompletion implements ClaimEnd, PlanNews {
  readonly job: EndedJob;
  readonly #planner: Planner;
  plan: PlanNews["plan"] = undefined;
  problem: PlanNews["problem"] = undefined;
  /** Whether its record was written as well. */
  isRecorded = false;

  constructor(job: EndedJob, planner: Planner) {
    this.job = job;
    this.#planner = planner;
  }

  get claim(): EndedJob["claim"] {
    return this.job.claim;
  }

  /** Made when it is asked for: thousands wait to be written, and each would keep its own. */
  get change(): (state: ScheduleState) => ScheduleStatePatch {
    return (state) => this.#conclude(state);
  }

  #conclude(state: ScheduleState): ScheduleStatePatch {
    const { claim, running, finishedAt, outcome } = this.job;
    const { patch, plan, problem } = concludeJob(this.#planner.input(claim, state), {
      startedAt: running.startedAt,
      completedAt: finishedAt,
      error: outcome.error,
      isCancelled: outcome.status === "cancelled",
      isInterrupted: outcome.status === "interrupted",
    });
    this.plan = plan;
    this.problem = problem;
    return patch;
  }

  get record(): EndedJobRecord | undefined {
    const { isOpened, opening } = this.job.running;
    return isOpened === undefined && opening === undefined ? this.job.record : undefined;
  }

  noteRecorded(): void {
    this.isRecorded = true;
  }
}

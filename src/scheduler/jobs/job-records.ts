/**
 * What the job log is told of jobs: the starts of a burst in one write, and ends once their starts are there. What was
 * written stays known of each job, so that it is never written again.
 */
import { StateError } from "../../state/errors.js";
import { idTakenError } from "../../state/job-log/job-id.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { EndedJob } from "./ended-job.js";
import type { RunningJob } from "./job.js";
import { reportTrouble, type SchedulerContext } from "../context.js";

export class JobRecords {
  readonly #context: SchedulerContext;

  constructor(context: SchedulerContext) {
    this.#context = context;
  }

  /** Opens the records of jobs that start together. What cannot be opened is told, and tried again when its job ends. */
  async openAll(started: readonly RunningJob[]): Promise<void> {
    const canRecordWhole = this.#context.store.jobs.recordAll !== undefined;
    const jobs = canRecordWhole ? started.filter(({ hasEnded }) => !hasEnded) : started;
    try {
      if (jobs.length > 0) await this.#open(jobs);
    } catch {
      // One of them may be what the log refuses.
      for (const job of jobs) this.#open([job]).catch((error: unknown) => this.#tell(job, error));
    }
  }

  /** Closes the records of jobs that have ended; rejects, and may be asked again, when that cannot be written. */
  async closeAll(jobs: readonly EndedJob[]): Promise<void> {
    const started = jobs.map(({ running }) => running);
    // More than once, where together has failed and each is tried alone.
    for (let openings = openingsOf(started); openings.size > 0; openings = openingsOf(started))
      await Promise.allSettled(openings);
    const whole = await this.#record(jobs.filter(({ running }) => running.isOpened === undefined));
    const opened = jobs.filter((job) => job.running.isOpened === true && !whole.has(job));
    if (opened.length > 0) await this.#context.store.jobs.finishAll(opened.map(({ record }) => record));
    for (const job of jobs) job.isRecorded = true;
  }

  /** Opens what never was, and closes it at once where the log can: answers what needs nothing more. */
  async #record(jobs: readonly EndedJob[]): Promise<ReadonlySet<EndedJob>> {
    const whole = new Set<EndedJob>();
    if (jobs.length === 0) return whole;
    const areRecorded = await this.#tryRecord(jobs);
    if (areRecorded === undefined) await this.#open(jobs.map(({ running }) => running));
    for (let index = 0; index < jobs.length; index++) {
      const job = jobs[index];
      if (job === undefined) continue;
      if (areRecorded?.[index] === true) {
        job.running.isOpened = true;
        whole.add(job);
      } else if (areRecorded !== undefined) await this.#noteRefused(job.running, undefined);
    }
    return whole;
  }

  /** `undefined` where the log cannot, or refuses one of them: which one, each alone will tell. */
  async #tryRecord(jobs: readonly EndedJob[]): Promise<readonly boolean[] | undefined> {
    try {
      return await this.#context.store.jobs.recordAll?.(jobs.map(({ record }) => record));
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  #open(jobs: readonly RunningJob[]): Promise<void> {
    const opening = this.#tryOpen(jobs).finally(() => {
      for (const job of jobs) job.opening = undefined;
    });
    for (const job of jobs) job.opening = opening;
    return opening;
  }

  async #tryOpen(jobs: readonly RunningJob[]): Promise<void> {
    const areOpened = await this.#context.store.jobs
      .startAll(jobs.map(({ job }) => job))
      .catch((error: unknown) => this.#asRefused(jobs, error));
    for (const [index, running] of jobs.entries()) {
      const refusal = areOpened[index];
      if (refusal === true) running.isOpened = true;
      else await this.#noteRefused(running, refusal === false ? undefined : refusal);
    }
  }

  /** What the log refuses of one job it will always refuse. */
  #asRefused(jobs: readonly RunningJob[], error: unknown): readonly [StateError] {
    if (jobs.length === 1 && isRefusal(error)) return [error];
    throw error;
  }

  async #noteRefused(running: RunningJob, refusal: StateError | undefined): Promise<void> {
    const { job } = running;
    running.isOpened = await this.#isRecorded(job);
    if (!running.isOpened) this.#tell(running, refusal ?? idTakenError(job.id, 1));
  }

  /** A write that failed may have had its effect: the record is there then, and cannot be made again. */
  async #isRecorded({ id, agent, schedule, slot }: JobRecord): Promise<boolean> {
    const known = await this.#context.store.jobs.get(id);
    return known?.agent === agent && known.schedule === schedule && known.slot === slot;
  }

  #tell({ claim }: RunningJob, error: unknown): void {
    reportTrouble(this.#context, claim, "Could not record the start of a job of", error);
  }
}

function isRefusal(error: unknown): error is StateError {
  return error instanceof StateError && error.code === "INVALID_STATE";
}

/** The writes that are under way for their starts: one for all jobs of a burst. */
function openingsOf(jobs: readonly RunningJob[]): ReadonlySet<Promise<void>> {
  const openings = new Set<Promise<void>>();
  for (const { opening } of jobs) if (opening !== undefined) openings.add(opening);
  return openings;
}

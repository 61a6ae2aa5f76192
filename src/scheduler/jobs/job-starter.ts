/**
 * Turns claims into jobs: a claimed slot runs, or is dropped, or given back. A job is started without waiting for it.
 * When a slot is due is the store's knowledge, how a job does its work is in execute-job.ts, its end in job-completer.ts.
 */
import { nextTurn, wakeAfter } from "../../clock.js";
import type { JobResult } from "../../runner/result.js";
import type { JobOrder } from "../../state/mailbox.js";
import { ScheduleMap } from "../../state/schedule-map.js";
import type { Claim, ScheduleKey } from "../../state/store.js";
import type { HeldClaims } from "../claims/held-claims.js";
import { nameOf, reportTrouble, type SchedulerContext } from "../context.js";
import { judgeClaim } from "../planning/due-slot.js";
import type { Planner } from "../planning/planner.js";
import { type ClaimEnd, DroppedSlot, ReleasedSlot, SlotJobEnd } from "./claim-end.js";
import { failureOf, Job } from "./job.js";
import { JobCompleter } from "./job-completer.js";

/** How long a slot waits whose order cannot be read. */
const ORDER_WAIT_MS = 1_000;

/** Runs a job to its end. A rejection is a failure. */
export type ExecuteJob = (job: Job) => Promise<JobResult>;

export interface JobStarterOptions {
  readonly execute: ExecuteJob;
  readonly claims: HeldClaims;
  /** Whether `execute` takes an item from the work source of a schedule. */
  readonly hasWorkSources: boolean;
}

export class JobStarter {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #execute: ExecuteJob;
  readonly #claims: HeldClaims;
  readonly #hasWorkSources: boolean;
  readonly completer: JobCompleter;
  /** The latest job of each schedule, until its claim has ended. */
  readonly #jobs = new ScheduleMap<Job>();
  #size = 0;
  #startCount = 0;

  constructor(
    context: SchedulerContext,
    planner: Planner,
    { execute, claims, hasWorkSources }: JobStarterOptions,
  ) {
    this.#context = context;
    this.#planner = planner;
    this.#execute = execute;
    this.#claims = claims;
    this.#hasWorkSources = hasWorkSources;
    this.completer = new JobCompleter(context, claims);
  }

  /** How many jobs were ever started. */
  get startCount(): number {
    return this.#startCount;
  }

  /** How many jobs hold a claim. */
  get size(): number {
    return this.#size;
  }

  countOf(agent: string): number {
    return this.#jobs.countOf(agent);
  }

  isRunning(key: ScheduleKey): boolean {
    return this.#jobs.get(key) !== undefined;
  }

  has(jobId: string): boolean {
    return this.#find(jobId) !== undefined;
  }

  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string, reason: string): boolean {
    const job = this.#find(jobId);
    job?.stop("cancelled", reason);
    return job !== undefined;
  }

  cancelAll(reason: string): void {
    for (const job of this.#jobs.values()) job.stop("cancelled", reason);
  }

  /**
   * Starts the jobs of `claims`, as long as `mayStart`: a job may stop the scheduler. All start before anything is
   * written about them, except for a job with an order. `askedMs`: when the store was asked for the claims, on the monotonic
   * clock.
   */
  start(claims: readonly Claim[], askedMs: number, mayStart: () => boolean, order?: JobOrder): Job[] {
    const started: Job[] = [];
    const told: Job[] = [];
    for (const claim of claims) {
      const earlier = this.#jobs.get(claim);
      if (earlier?.continueUnder(claim) === true) {
        this.#noteContinued(earlier, askedMs);
        continue;
      }
      const entry = mayStart() ? this.#context.roster.find(claim) : undefined;
      if (entry === undefined) {
        this.#endUnused(new ReleasedSlot(claim), askedMs);
        continue;
      }
      const verdict = judgeClaim(claim, entry.schedule);
      if (verdict.action === "run") {
        const job = new Job(claim, entry, verdict.source ?? null, this.#context.clock.monotonic());
        this.#claims.add(job, askedMs);
        this.#jobs.set(claim, job);
        this.#size++;
        const retry = claim.source === "retry" ? claim.state.retry : undefined;
        if (retry != null)
          this.#context.log.info(
            `${nameOf(claim)} runs again (${job.id}): attempt ${retry.attempt} at its slot ${retry.slot}`,
          );
        const requested = retry?.job_id;
        if (order !== undefined || requested != null) {
          void this.#startOrdered(job, order ?? requested ?? "", mayStart);
          if (order !== undefined) return [job];
          continue;
        }
        this.#startCount++;
        started.push(job);
        // A job that finds no work has no record, unless a caller was given its id.
        const looksForWork = entry.schedule.work_source !== undefined && this.#hasWorkSources;
        if (looksForWork && claim.source !== "manual") job.onWork = () => this.#tellWork(job);
        else told.push(job);
        this.#run(job);
      } else {
        const { slot, heldUntil } = claim;
        this.#endUnused(new DroppedSlot(claim, { ...verdict, slot, heldUntil }, this.#planner), askedMs);
      }
    }
    if (told.length === 0) return started;
    void this.#recordStarts(told);
    // Most schedulers have no listener: their jobs' records are not made here.
    const { events, log } = this.#context;
    if (log.debug !== undefined || events.isHeard("job:started")) this.#emitStarted(told);
    return started;
  }

  /**
   * What a job was triggered with is on disk before it starts, so that it can run again after a crash. `order`: or the id of
   * the first job that was started for it.
   */
  async #startOrdered(job: Job, order: JobOrder | string, mayStart: () => boolean): Promise<void> {
    const { store } = this.#context;
    let isRecorded = false;
    try {
      const found = typeof order === "string" ? await store.mailbox.ofJob(order) : order;
      if (found !== undefined) job.accept(found);
      isRecorded = found?.prompt != null || found?.data != null;
      if (isRecorded) await store.startJobs([job.job]);
    } catch (error) {
      reportTrouble(this.#context, job.claim, "Could not record the start of a job of", error);
      if (typeof order !== "string") return this.#end(job, failureOf(error, job.isStopped));
      // The slot is the same as before: it is no failure, and it waits until its order can be read.
      if (mayStart() && !job.isStopped) {
        await new Promise<void>((wake) => wakeAfter(this.#context.clock, ORDER_WAIT_MS, wake));
        return this.#startOrdered(job, order, mayStart);
      }
    }
    // A triggered job was promised to its caller, so that a stop waits for it.
    if (typeof order === "string" && !mayStart()) {
      this.#giveBack(job);
      return;
    }
    if (job.isStopped) {
      this.#end(job, { status: "cancelled", error: "The scheduler was stopped before the job started" });
      return;
    }
    this.#startCount++;
    this.#run(job);
    if (!isRecorded) void this.#recordStarts([job]);
    this.#emitStarted([job]);
  }

  /** The slot of a job that did not start stays due. */
  #giveBack(job: Job): void {
    this.#forget(job);
    this.#endUnused(new ReleasedSlot(job.claim), this.#context.clock.monotonic());
  }

  /** A job that still runs goes on under a newer claim, instead of a second job. */
  #noteContinued(job: Job, askedMs: number): void {
    this.#context.log.warn(
      `The claim of ${job.id} of ${nameOf(job.claim)} was not renewed in time: the job continues under a newer claim.`,
    );
    this.#claims.add(job, askedMs);
  }

  #tellWork(job: Job): void {
    job.onWork = undefined;
    void this.#recordStarts([job]);
    this.#emitStarted([job]);
  }

  #emitStarted(started: readonly Job[]): void {
    const { events, log } = this.#context;
    for (const { job, claim } of started) {
      log.debug?.(`Started ${job.id} of ${nameOf(claim)}`);
      events.emit("job:started", { job });
    }
  }

  /** A job that ends at once is recorded by its end alone. */
  async #recordStarts(started: readonly Job[]): Promise<void> {
    await nextTurn();
    const running = started.filter(({ isRunning }) => isRunning);
    if (running.length === 0) return;
    try {
      await this.#context.store.startJobs(running.map(({ job }) => job));
    } catch (error) {
      for (const { claim } of running)
        reportTrouble(this.#context, claim, "Could not record the start of a job of", error);
    }
  }

  #run(job: Job): void {
    this.#execute(job).then(
      (result) => this.#end(job, result),
      (error: unknown) => this.#end(job, failureOf(error, job.isStopped)),
    );
  }

  #end(job: Job, result: JobResult): void {
    const { clock } = this.#context;
    if (result.skipReason !== undefined) this.#tellNoWork(job, result.skipReason);
    // Looking for work has failed: that is recorded as any failure.
    else job.onWork?.();
    const ending = job.end(result, clock.now(), clock.monotonic());
    this.completer.add(new SlotJobEnd(job, ending, this.#planner, this.#context, this.#forget));
  }

  #tellNoWork({ claim: { agent, schedule, slot } }: Job, reason: NonNullable<JobResult["skipReason"]>): void {
    this.#planner.skip({ agent, schedule }, reason, { slot, lastSlot: slot, count: 1 });
  }

  readonly #forget = (job: Job): void => {
    this.#size--;
    // The next job of the schedule may have started already.
    if (this.#jobs.get(job.claim) === job) this.#jobs.delete(job.claim);
  };

  #endUnused(end: ClaimEnd, askedMs: number): void {
    this.#claims.add(end.holder, askedMs);
    this.completer.add(end);
  }

  #find(jobId: string): Job | undefined {
    for (const job of this.#jobs.values()) if (job.id === jobId) return job;
    return undefined;
  }
}

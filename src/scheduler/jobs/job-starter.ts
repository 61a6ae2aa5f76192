/**
 * What becomes of claims: each is judged, started without being waited for, and handed on when its job has ended.
 * Nothing here decides when a slot is due, how a job does its work, or how its end is written (ended-jobs.ts).
 */
import { ScheduleMap } from "../../state/schedule-map.js";
import type { Claim, ScheduleKey } from "../../state/store.js";
import type { RunResult } from "../agent.js";
import type { ClaimKeeper } from "../claims/held-claims.js";
import { judgeClaim } from "../planning/due-slot.js";
import { EndedJob } from "./ended-job.js";
import { EndedJobs } from "./job-completer.js";
import { JobRecords } from "./job-records.js";
import { failureOf, outcomeOf, type RunOutcome } from "./run-record.js";
import type { Planner } from "../planning/planner.js";
import { isPromiseLike } from "../../runner/promise-like.js";
import { RunningJob } from "./job.js";
import { nameOf, type SchedulerContext } from "../context.js";

/** Runs a job to its end. Throwing is failing. */
export type ExecuteJob = (job: RunningJob) => Promise<RunResult | void> | RunResult | void;

interface JobEnd {
  readonly job: RunningJob;
  readonly outcome: RunOutcome;
  /** On the monotonic clock. */
  readonly finishedMs: number;
}

export class JobDesk {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #execute: ExecuteJob;
  /** The latest job of each schedule, until its end has been recorded. */
  readonly #running = new ScheduleMap<RunningJob>();
  readonly #claims: ClaimKeeper;
  readonly #records: JobRecords;
  readonly #ended: EndedJobs;
  readonly #onFreed: () => void;
  /** Jobs that have ended since the last microtask. */
  readonly #pending: JobEnd[] = [];
  #startCount = 0;
  #size = 0;
  #unrecordedCount = 0;
  #unsettledCount = 0;

  /** `onFreed` hears when capacity may have become free. */
  constructor(
    context: SchedulerContext,
    planner: Planner,
    { execute, claims, onFreed }: { execute: ExecuteJob; claims: ClaimKeeper; onFreed: () => void },
  ) {
    this.#context = context;
    this.#planner = planner;
    this.#execute = execute;
    this.#claims = claims;
    this.#records = new JobRecords(context);
    this.#ended = new EndedJobs(context, planner, {
      claims,
      records: this.#records,
      onCompleted: (job) => this.#forget(job),
      onFreed,
    });
    this.#onFreed = onFreed;
  }

  /** How many jobs were ever started. */
  get startCount(): number {
    return this.#startCount;
  }

  get size(): number {
    return this.#size;
  }

  /** How many have ended whose end is still to be recorded, or could not be. */
  get unrecordedCount(): number {
    return this.#unrecordedCount;
  }

  /** How many have ended whose claim is still held: should the process die, they would run again. */
  get unsettledCount(): number {
    return this.#unsettledCount;
  }

  countOf(agent: string): number {
    return this.#running.countOf(agent);
  }

  isRunning(key: ScheduleKey): boolean {
    return this.#running.get(key) !== undefined;
  }

  /**
   * Starts what is to be run of these claims, which the store was asked for at `askedMs` on the monotonic clock, for as
   * long as `mayStart`: a job of them may be what stops the scheduler.
   * The jobs come first: what is to be written about them can wait, also about those that end at once.
   */
  start(claims: readonly Claim[], askedMs: number, mayStart: () => boolean): RunningJob[] {
    const { clock, roster } = this.#context;
    const started: RunningJob[] = [];
    const ends: JobEnd[] = [];
    let nowMs = clock.monotonic();
    for (const claim of claims) {
      const running = this.#running.get(claim);
      if (running?.isCompleting === false && running.mayGoOnUnder(claim)) {
        this.#goOnUnder(running, claim, askedMs);
        continue;
      }
      const entry = mayStart() ? roster.find(claim) : undefined;
      if (entry === undefined) {
        void this.#giveBack(claim, askedMs);
        continue;
      }
      const verdict = judgeClaim(claim, entry.schedule);
      if (verdict.action !== "run") {
        void this.#drop(claim, askedMs, verdict.action === "miss" ? verdict : undefined);
        continue;
      }
      const job = new RunningJob(claim, entry, verdict.source ?? null, nowMs);
      this.#admit(job, askedMs);
      started.push(job);
      const outcome = this.#run(job);
      // The end of this one, if it has ended, and the start of the next.
      nowMs = clock.monotonic();
      if (outcome !== undefined) ends.push({ job, outcome, finishedMs: nowMs });
    }
    this.#end(ends);
    this.#tellStarted(started);
    return started;
  }

  /** A store that hung let the lease of a job end that is still running: it has a new claim now, and no second job. */
  #goOnUnder(running: RunningJob, claim: Claim, askedMs: number): void {
    this.#context.log.warn(
      `${running.id} of ${nameOf(claim)} was not renewed in time: it goes on under another claim.`,
    );
    running.claim = claim;
    running.heldMs = askedMs;
  }

  has(jobId: string): boolean {
    return this.#find(jobId) !== undefined;
  }

  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string, reason: string): boolean {
    const running = this.#find(jobId);
    running?.abort(reason);
    return running !== undefined;
  }

  #find(jobId: string): RunningJob | undefined {
    for (const running of this.#running.values()) if (running.id === jobId) return running;
    return undefined;
  }

  cancelAll(reason: string): void {
    for (const running of this.#running.values()) running.abort(reason);
  }

  #admit(job: RunningJob, askedMs: number): void {
    this.#claims.add(job, askedMs);
    this.#running.set(job.claim, job);
    this.#size++;
    this.#startCount++;
  }

  #tellStarted(started: readonly RunningJob[]): void {
    const { events, log } = this.#context;
    void this.#records.openAll(started);
    if (log.debug === undefined && !events.isHeard("job:started")) return;
    for (const { job, claim } of started) {
      log.debug?.(`Started ${job.id} of ${nameOf(claim)}`);
      events.emit("job:started", { job });
    }
  }

  /** Its outcome, if it has ended at once: that costs no promise. */
  #run(job: RunningJob): RunOutcome | undefined {
    try {
      const result = this.#execute(job);
      if (!isPromiseLike(result)) return this.#outcomeOf(job, result);
      void this.#runOn(job, result);
      return undefined;
    } catch (error) {
      return failureOf(error, job.isAborted);
    }
  }

  async #runOn(job: RunningJob, result: PromiseLike<RunResult | void>): Promise<void> {
    let outcome: RunOutcome;
    let ranMs: number | undefined;
    try {
      const ended = await result;
      outcome = this.#outcomeOf(job, ended);
      // The runner measured it before the jobs that started together with this one ended; not with its work item.
      if (ended?.workItem === undefined) ranMs = ended?.durationMs;
    } catch (error) {
      outcome = failureOf(error, job.isAborted);
    }
    const finishedMs = ranMs === undefined ? this.#context.clock.monotonic() : job.startedMs + ranMs;
    this.#pending.push({ job, outcome, finishedMs });
    if (this.#pending.length > 1) return;
    // Jobs that started together mostly end in the same turn: one call ends them all.
    await Promise.resolve();
    this.#end(this.#pending.splice(0));
  }

  /** The job has come to its end, which may still say that it failed. */
  #outcomeOf({ claim }: RunningJob, result: RunResult | void): RunOutcome {
    if (result?.skipReason !== undefined) this.#planner.skip(claim, result.skipReason, claim.slot);
    return outcomeOf(result);
  }

  #end(ends: readonly JobEnd[]): void {
    if (ends.length === 0) return;
    const finishedAt = this.#context.clock.now();
    this.#unrecordedCount += ends.length;
    this.#unsettledCount += ends.length;
    this.#ended.addAll(
      ends.map(({ job, outcome, finishedMs }) => new EndedJob(job, outcome, finishedAt, finishedMs)),
    );
  }

  #forget(running: RunningJob): void {
    // Nobody holds its claim any more: both parts of its end were written, or given up.
    if (running.place < 0 && running.isCompleting && running.isRecorded) this.#unrecordedCount--;
    if (running.isGone) return;
    running.isGone = true;
    this.#size--;
    this.#unsettledCount--;
    // The next one may have started already.
    if (this.#running.get(running.claim) === running) this.#running.delete(running.claim);
  }

  /** A claim that came too late to be started leaves its slot due. */
  #giveBack(claim: Claim, askedMs: number): Promise<void> {
    return this.#settle(claim, askedMs, () => this.#context.store.release(claim));
  }

  #drop(
    claim: Claim,
    askedMs: number,
    miss: { readonly lateMs: number; readonly graceMs: number } | undefined,
  ): Promise<void> {
    const missed = miss === undefined ? undefined : { ...miss, slot: claim.slot };
    return this.#settle(claim, askedMs, () => this.#planner.dropClaimed(claim, missed));
  }

  async #settle(claim: Claim, askedMs: number, write: () => Promise<unknown>): Promise<void> {
    const holder = { claim, place: -1, heldMs: askedMs };
    this.#claims.add(holder, askedMs);
    await this.#claims.settle(holder, write);
    this.#onFreed();
  }
}

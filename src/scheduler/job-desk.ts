/**
 * What becomes of claims: each is judged, started without being waited for, and handed on when its job has ended.
 * Nothing here decides when a slot is due, how a job does its work, or how its end is written (ended-jobs.ts).
 */
import type { JobRecord } from "../state/jobs/job-log.js";
import { ScheduleMap } from "../state/schedule-map.js";
import type { Claim, ScheduleKey } from "../state/state-store.js";
import type { RunnerResult } from "./agent.js";
import type { ClaimHolder, ClaimKeeper } from "./claim-keeper.js";
import { judgeClaim } from "./claim-verdict.js";
import { EndedJob } from "./ended-job.js";
import { EndedJobs } from "./ended-jobs.js";
import { JobRecords } from "./job-records.js";
import { failureOf, outcomeOf, type RunOutcome } from "./run-record.js";
import type { Planner } from "./planner.js";
import { isPromiseLike } from "./promise-like.js";
import type { RosterEntry } from "./roster.js";
import { RunningJob } from "./running-job.js";
import { nameOf, type SchedulerContext } from "./scheduler-context.js";

/** Runs a job to its end. Throwing is failing. */
export type ExecuteJob = (job: RunningJob) => Promise<RunnerResult | void> | RunnerResult | void;

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
  #startCount = 0;
  #size = 0;

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

  countOf(agent: string): number {
    return this.#running.countOf(agent);
  }

  isRunning(key: ScheduleKey): boolean {
    return this.#running.get(key) !== undefined;
  }

  /**
   * Starts what is to be run of these claims, for as long as `mayStart`: a job of them may be what stops the scheduler.
   * The jobs come first: what is to be written about them can wait.
   */
  start(claims: readonly Claim[], mayStart: () => boolean): RunningJob[] {
    const started: RunningJob[] = [];
    for (const claim of claims) {
      this.#claims.hold(claim);
      const running = this.#running.get(claim);
      if (running?.isCompleting === false && running.mayGoOnUnder(claim)) {
        this.#goOnUnder(running, claim);
        continue;
      }
      const entry = mayStart() ? this.#context.roster.find(claim) : undefined;
      if (entry === undefined) {
        void this.#giveBack(claim);
        continue;
      }
      const verdict = judgeClaim(claim, entry.schedule);
      if (verdict.action === "run") started.push(this.#launch(claim, entry, verdict.source ?? null));
      else {
        const missed = verdict.action === "miss" ? { ...verdict, slot: claim.slot } : undefined;
        void this.#settle({ claim }, () => this.#planner.dropClaimed(claim, missed));
      }
    }
    this.#tellStarted(started);
    return started;
  }

  /** A store that hung let the lease of a job end that is still running: it has a new claim now, and no second job. */
  #goOnUnder(running: RunningJob, claim: Claim): void {
    this.#context.log.warn(
      `${running.id} of ${nameOf(claim)} was not renewed in time: it goes on under another claim.`,
    );
    this.#claims.letGo(running.claim);
    running.claim = claim;
  }

  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string, reason: string): boolean {
    for (const running of this.#running.values()) {
      if (running.id !== jobId) continue;
      running.abort(reason);
      return true;
    }
    return false;
  }

  cancelAll(reason: string): void {
    for (const running of this.#running.values()) running.abort(reason);
  }

  /** Keeps the claims of running jobs alive; a job whose claim another has taken is told to end. */
  async renew(): Promise<void> {
    const lost = await this.#claims.renew();
    for (const claim of lost) {
      const running = this.#running.get(claim);
      if (running?.claim.token === claim.token)
        running.abort("Another has taken over: its claim was not renewed in time");
    }
  }

  #launch(claim: Claim, { agent, schedule }: RosterEntry, source: JobRecord["source"]): RunningJob {
    const startedMs = this.#context.clock.monotonic();
    const running = new RunningJob(claim, { agent, schedule, source, startedMs });
    this.#running.set(claim, running);
    this.#size++;
    this.#startCount++;
    this.#run(running);
    return running;
  }

  #tellStarted(started: readonly RunningJob[]): void {
    const { events, log } = this.#context;
    void this.#records.openAll(started);
    for (const { job, claim } of started) {
      log.debug?.(`Started ${job.id} of ${nameOf(claim)}`);
      events.emit("job:started", { job });
    }
  }

  /** A job that has ended at once costs no promise: what is written of it waits for its start in any case. */
  #run(running: RunningJob): void {
    let result: ReturnType<ExecuteJob>;
    try {
      result = this.#execute(running);
    } catch (error) {
      this.#fail(running, error);
      return;
    }
    if (isPromiseLike(result))
      void Promise.resolve(result).then(
        (later) => this.#succeed(running, later),
        (error: unknown) => this.#fail(running, error),
      );
    else this.#succeed(running, result);
  }

  /** The job has come to its end, which may still say that it failed. */
  #succeed(running: RunningJob, result: RunnerResult | void): void {
    const { claim } = running;
    let outcome: RunOutcome;
    try {
      if (result?.skipReason !== undefined) this.#planner.skip(claim, result.skipReason, claim.slot);
      outcome = outcomeOf(result);
    } catch (error) {
      this.#fail(running, error);
      return;
    }
    this.#end(running, outcome);
  }

  #fail(running: RunningJob, error: unknown): void {
    this.#end(running, failureOf(error, running.isAborted));
  }

  #end(running: RunningJob, outcome: RunOutcome): void {
    const { clock } = this.#context;
    this.#ended.add(new EndedJob(running, outcome, clock.now(), clock.monotonic()));
  }

  #forget(running: RunningJob): void {
    if (running.isGone) return;
    running.isGone = true;
    this.#size--;
    // The next one may have started already.
    if (this.#running.get(running.claim) === running) this.#running.delete(running.claim);
  }

  /** A claim that came too late to be started leaves its slot due. */
  #giveBack(claim: Claim): Promise<void> {
    return this.#settle({ claim }, () => this.#context.store.release(claim));
  }

  async #settle(holder: ClaimHolder, write: () => Promise<unknown>): Promise<void> {
    await this.#claims.settle(holder, write);
    this.#onFreed();
  }
}

/**
 * What becomes of claims: each is judged, started without being waited for, and ended with its outcome and the next plan.
 * Nothing here decides when a slot is due, or how a job does its work; claims are kept alive by claim-keeper.ts.
 */
import type { JobRecord } from "../state/jobs/job-log.js";
import { StateError } from "../state/errors.js";
import type { Claim, ScheduleKey } from "../state/state-store.js";
import type { RunnerResult } from "./agent.js";
import type { ClaimHolder, ClaimKeeper } from "./claim-keeper.js";
import { judgeClaim } from "./claim-verdict.js";
import { type Conclusion, concludeJob } from "./conclusion.js";
import { nextCronRun } from "./cron.js";
import {
  endRecord,
  type EndedRecord,
  failureOf,
  type RunOutcome,
  outcomeOf,
  startRecord,
} from "./run-record.js";
import type { Planner } from "./planner.js";
import type { RosterEntry } from "./roster.js";
import { RunningJob, type TriggerInfo } from "./running-job.js";
import { cronExpression } from "./schedule.js";
import { nameOf, reportTrouble, type SchedulerContext } from "./scheduler-context.js";

/** Runs a job to its end. Throwing is failing. */
export type ExecuteJob = (info: TriggerInfo) => Promise<RunnerResult | void> | RunnerResult | void;

export class JobDesk {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #execute: ExecuteJob;
  readonly #running = new Map<string, RunningJob>();
  /** By agent, then by schedule. */
  readonly #perAgent = new Map<string, Map<string, RunningJob>>();
  readonly #claims: ClaimKeeper;
  readonly #onFreed: () => void;
  #startCount = 0;

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
    this.#onFreed = onFreed;
  }

  /** How many jobs were ever started. */
  get startCount(): number {
    return this.#startCount;
  }

  get size(): number {
    return this.#running.size;
  }

  countOf(agent: string): number {
    return this.#perAgent.get(agent)?.size ?? 0;
  }

  isRunning({ agent, schedule }: ScheduleKey): boolean {
    return this.#perAgent.get(agent)?.has(schedule) === true;
  }

  /**
   * Starts what is to be run of these claims, for as long as `mayStart`: a job of them may be what stops the scheduler.
   * The jobs come first: what is to be written about them can wait.
   */
  start(claims: readonly Claim[], mayStart: () => boolean): RunningJob[] {
    const started: RunningJob[] = [];
    for (const claim of claims) {
      this.#claims.hold(claim);
      const running = this.#perAgent.get(claim.agent)?.get(claim.schedule);
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
      if (verdict.action === "run") started.push(this.#launch(claim, entry, verdict.source));
      else {
        const missed = verdict.action === "miss" ? { ...verdict, slot: claim.slot } : undefined;
        void this.#settle({ claim }, () => this.#planner.dropClaimed(claim, missed));
      }
    }
    for (const running of started) this.#tellStarted(running);
    return started;
  }

  /** A store that hung let the lease of a job end that is still running: it has a new claim now, and no second job. */
  #goOnUnder(running: RunningJob, claim: Claim): void {
    this.#context.log.warn(
      `${running.job.id} of ${nameOf(claim)} was not renewed in time: it goes on under another claim.`,
    );
    this.#claims.letGo(running.claim);
    running.claim = claim;
  }

  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string, reason: string): boolean {
    const running = this.#running.get(jobId);
    running?.abort(reason);
    return running !== undefined;
  }

  cancelAll(reason: string): void {
    for (const running of this.#running.values()) running.abort(reason);
  }

  /** Keeps the claims of running jobs alive; a job whose claim another has taken is told to end. */
  async renew(): Promise<void> {
    const lost = await this.#claims.renew();
    for (const { agent, schedule, token } of lost) {
      const running = this.#perAgent.get(agent)?.get(schedule);
      if (running?.claim.token === token)
        running.abort("Another has taken over: its claim was not renewed in time");
    }
  }

  #launch(claim: Claim, entry: RosterEntry, source: JobRecord["source"] | undefined): RunningJob {
    const { agent, schedule } = entry;
    const job = startRecord(claim, entry.schedule, source ?? null);
    const running = new RunningJob(claim, {
      agent,
      schedule,
      job,
      startedMs: this.#context.clock.monotonic(),
    });
    this.#running.set(job.id, running);
    const ofAgent = this.#perAgent.get(claim.agent) ?? new Map<string, RunningJob>();
    this.#perAgent.set(claim.agent, ofAgent.set(claim.schedule, running));
    this.#startCount++;
    void this.#run(running);
    return running;
  }

  #tellStarted(running: RunningJob): void {
    const { events, log } = this.#context;
    this.#recordStart(running).catch((error: unknown) => this.#tellUnrecorded(running, error));
    log.debug?.(`Started ${running.job.id} of ${nameOf(running.claim)}`);
    events.emit("job:started", { job: running.job });
  }

  #tellUnrecorded({ claim }: RunningJob, error: unknown): void {
    reportTrouble(this.#context, claim, "Could not record the start of a job of", error);
  }

  #recordStart(running: RunningJob): Promise<boolean> {
    running.recording ??= this.#context.store.jobs.start(running.job).then(
      () => true,
      async (error: unknown) => {
        if (error instanceof StateError && error.code === "INVALID_STATE") {
          if (await this.#isRecorded(running.job)) return true;
          this.#tellUnrecorded(running, error);
          return false;
        }
        running.recording = undefined;
        throw error;
      },
    );
    return running.recording;
  }

  /** A write that failed may have had its effect: the record is there then, and cannot be made again. */
  async #isRecorded({ id, agent, schedule, slot }: JobRecord): Promise<boolean> {
    const known = await this.#context.store.jobs.get(id);
    return known?.agent === agent && known.schedule === schedule && known.slot === slot;
  }

  async #run(running: RunningJob): Promise<void> {
    let end: RunOutcome;
    try {
      const result = await this.#execute(running);
      if (result?.skipReason !== undefined)
        this.#planner.skip(running.claim, result.skipReason, running.claim.slot);
      end = outcomeOf(result);
    } catch (error) {
      end = failureOf(error, running.isAborted);
    }
    const { clock, log, events } = this.#context;
    const finishedAt = clock.now();
    const record = endRecord(running.job, end, finishedAt, clock.monotonic() - running.startedMs);
    running.hasEnded = true;
    await this.#settle(running, () => this.#writeEnd(running, record, finishedAt));
    log.debug?.(`Finished ${running.job.id} of ${nameOf(running.claim)}: ${record.status}`);
    events.emit("job:finished", { job: record });
  }

  /** Each part is tried until it has worked, and then never again. */
  async #writeEnd(running: RunningJob, record: EndedRecord, finishedAt: Date): Promise<void> {
    const results = await Promise.allSettled([
      running.isCompleted ? undefined : this.#complete(running, record, finishedAt),
      running.isRecorded ? undefined : this.#recordEnd(running, record),
    ]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async #complete(running: RunningJob, record: EndedRecord, finishedAt: Date): Promise<void> {
    const { claim, job } = running;
    let conclusion: Conclusion | undefined;
    const ended = {
      startedAt: new Date(job.started_at),
      completedAt: finishedAt,
      error: record.error ?? undefined,
      isCancelled: record.status === "cancelled",
    };
    running.isCompleting = true;
    const isHeld = await this.#context.store
      .complete(claim, (state) => {
        conclusion = concludeJob(this.#planner.input(claim, state), ended);
        return conclusion.patch;
      })
      .catch((error: unknown) => {
        running.isCompleting = false;
        throw error;
      });
    running.isCompleted = true;
    // From here on the store gives its place to others.
    this.#forget(running);
    this.#onFreed();
    if (isHeld && conclusion !== undefined) this.#planner.tell(claim, conclusion);
    else
      this.#context.log.warn(
        `${job.id} of ${nameOf(claim)} lost its claim before it ended: its result changes nothing.`,
      );
    this.#tellOverlapped(running, finishedAt);
  }

  async #recordEnd(running: RunningJob, record: EndedRecord): Promise<void> {
    const { id, status, error, summary, finished_at, duration_ms } = record;
    if (await this.#recordStart(running))
      await this.#context.store.jobs.finish(id, { status, error, summary, finished_at, duration_ms });
    running.isRecorded = true;
  }

  /** The next time of a cron schedule may have passed while its job ran. */
  #tellOverlapped({ claim }: RunningJob, finishedAt: Date): void {
    const schedule = this.#context.roster.find(claim)?.schedule;
    if (schedule?.type !== "cron") return;
    const slot = nextCronRun(cronExpression(schedule), claim.claimedAt, schedule.timezone);
    if (slot <= finishedAt) this.#planner.skip(claim, "already_running", slot);
  }

  #forget({ claim, job }: RunningJob): void {
    if (!this.#running.delete(job.id)) return;
    const schedules = this.#perAgent.get(claim.agent);
    // The next one may have started already.
    if (schedules?.get(claim.schedule)?.job.id === job.id) schedules.delete(claim.schedule);
    if (schedules?.size === 0) this.#perAgent.delete(claim.agent);
  }

  /** A claim that came too late to be started leaves its slot due. */
  #giveBack(claim: Claim): Promise<void> {
    return this.#settle({ claim }, () => this.#context.store.release(claim));
  }

  async #settle(holder: ClaimHolder, write: () => Promise<unknown>): Promise<void> {
    await this.#claims.settle(holder, write);
    if (holder instanceof RunningJob) this.#forget(holder);
    this.#onFreed();
  }
}

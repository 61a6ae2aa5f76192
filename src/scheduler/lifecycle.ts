/**
 * Whether a scheduler runs, and how it begins and ends. Nothing starts from the moment it is stopped; the store stays open
 * until the last job has ended, and a start meanwhile goes on with it. What a pass does is checker.ts's business.
 */
import type { Clock } from "../clock.js";
import type { JobDesk } from "./jobs/job-starter.js";
import type { Checker } from "./loop/pass.js";
import { CheckLoop } from "./loop/wakeable-loop.js";
import type { ClaimKeeper } from "./claims/held-claims.js";
import { SchedulerError, SchedulerShutdownError } from "./errors.js";
import type { OutsideChange } from "../state/store.js";
import type { Requests } from "./control/requests.js";
import { Roster } from "./roster.js";
import { reportError, type SchedulerContext } from "./context.js";
import { invalidOption, type SchedulerStatus, type StopOptions } from "./options.js";

const DEFAULT_STOP_TIMEOUT_MS = 30_000;
const STOPPED = "The scheduler was stopped";

interface Parts {
  /** The host's, which a store goes by that has none of its own. */
  readonly clock: Clock;
  readonly claims: ClaimKeeper;
  readonly jobs: JobDesk;
  readonly checker: Checker;
  readonly requests: Requests;
  /** Answers how long to sleep, in milliseconds, and does not throw. */
  readonly pass: () => number | Promise<number>;
}

export class Lifecycle {
  readonly #context: SchedulerContext;
  readonly #hostClock: Clock;
  readonly #claims: ClaimKeeper;
  readonly #jobs: JobDesk;
  readonly #checker: Checker;
  readonly #requests: Requests;
  readonly #pass: () => number | Promise<number>;
  #status: SchedulerStatus = "stopped";
  /** Whether the store is open: also after a stop that did not wait, until the last job has ended. */
  #isOpen = false;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** How often it was stopped, which calls off what started before. */
  #stopCount = 0;
  /** Resolves when the last stop has made sure that nothing can start any more. */
  #quiet: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** The one that checks, or after a stop the one that waits for jobs to end. */
  #loop: CheckLoop | undefined;
  #unsubscribe: () => void = () => {};

  constructor(context: SchedulerContext, { clock, claims, jobs, checker, requests, pass }: Parts) {
    this.#context = context;
    this.#hostClock = clock;
    this.#claims = claims;
    this.#jobs = jobs;
    this.#checker = checker;
    this.#requests = requests;
    this.#pass = pass;
  }

  get status(): SchedulerStatus {
    return this.#status;
  }

  requireStopped(): void {
    if (this.#status === "stopped" && this.#stopping === undefined) return;
    throw new SchedulerError("The scheduler is already running: call stop() first", {
      code: "ALREADY_RUNNING",
    });
  }

  /** Makes the loop look again, also at what happens while it looks. */
  wake(): void {
    this.#loop?.wake();
  }

  /** Resolves once the loop runs; `onRunning` is called right before its first pass. */
  async start(roster: Roster, onRunning: () => void): Promise<void> {
    this.#status = "running";
    const starting = this.#start(roster, onRunning);
    this.#starting = starting;
    try {
      await starting;
    } finally {
      // One that was called off may end after the next has begun.
      if (this.#starting === starting) this.#starting = undefined;
    }
  }

  stop(options: StopOptions): Promise<void> {
    this.#stopping ??= this.#stop(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #start(roster: Roster, onRunning: () => void): Promise<void> {
    const stopCount = this.#stopCount;
    const isCalledOff = (): boolean => this.#stopCount !== stopCount;
    try {
      // Before anything is waited for: `setAgents` may give others meanwhile.
      this.#checker.setRoster(roster);
      await this.#open();
      if (!isCalledOff()) await this.#checker.applyRoster();
      if (isCalledOff()) throw stoppedMeanwhile();
    } catch (error) {
      if (!isCalledOff()) {
        const closing = this.#closeWhenIdle();
        if (this.#claims.isIdle) await closing;
      }
      if (!isCalledOff()) this.#status = "stopped";
      throw error;
    }
    this.#claims.isOpen = true;
    this.#checker.open();
    onRunning();
    this.#loop = new CheckLoop(this.#context.clock, this.#pass);
    void this.#loop.run();
  }

  /** Goes on with the store of a stop that has not ended, so that what runs since then is still known. */
  async #open(): Promise<void> {
    await this.#quiet;
    await this.#loop?.stop();
    await this.#closing;
    if (!this.#isOpen) {
      this.#context.roster = new Roster([]);
      await this.#context.store.open(this.#hostClock);
      this.#isOpen = true;
    }
    this.#unsubscribe = this.#context.store.onChange((changes) => {
      this.#checker.noteOutside(changes);
      this.#loop?.wake();
      void this.#answerRequests(changes);
    });
  }

  async #answerRequests(changes: readonly OutsideChange[]): Promise<void> {
    await this.#requests.answer(changes);
    // What was started has a claim to be renewed.
    this.#loop?.wake();
  }

  async #stop({ waitForJobs = true, timeout = DEFAULT_STOP_TIMEOUT_MS }: StopOptions): Promise<void> {
    if (!(timeout >= 0)) throw invalidOption("timeout", timeout, "a number of milliseconds from 0");
    const wasRunning = this.#status === "running";
    const hasStarted = wasRunning && this.#starting === undefined;
    if (wasRunning) this.#status = "stopping";
    this.#stopCount++;
    this.#checker.shut();
    this.#claims.isOpen = false;
    if (!waitForJobs) this.#jobs.cancelAll(STOPPED);
    const ended = this.#end(waitForJobs);
    const isInTime = await this.#isWithin(timeout, ended);
    this.#status = "stopped";
    const runningJobCount = this.#jobs.size;
    if (!isInTime) this.#jobs.cancelAll(STOPPED);
    if (hasStarted) {
      this.#context.log.info("Scheduler stopped.");
      this.#context.events.emit("scheduler:stopped", { runningJobCount });
    }
    if (isInTime) return;
    throw new SchedulerShutdownError(
      `Scheduler shutdown timed out after ${timeout} ms with ${runningJobCount} job(s) still running`,
      { timedOut: true, runningJobCount },
    );
  }

  /** Resolves when nothing can start any more, and, if that is waited for, everything has ended. */
  async #end(waitForJobs: boolean): Promise<void> {
    this.#quiet = this.#quieten(this.#starting, this.#loop);
    await this.#quiet;
    const closing = this.#closeWhenIdle();
    if (waitForJobs || this.#claims.isIdle) await closing;
  }

  async #quieten(starting: Promise<void> | undefined, loop: CheckLoop | undefined): Promise<void> {
    await starting?.catch(() => {});
    await (loop ?? this.#loop)?.stop();
    await this.#checker.settled();
  }

  /**
   * Keeps the claims of jobs that are still running alive, lets others cancel them, and closes the store when the last
   * has ended.
   */
  #closeWhenIdle(): Promise<void> {
    this.#closing ??= this.#linger().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #linger(): Promise<void> {
    if (!this.#isOpen) return;
    this.#unsubscribe();
    let answering: Promise<unknown> = Promise.resolve();
    this.#unsubscribe = this.#context.store.onChange((changes) => {
      answering = Promise.all([answering, this.#requests.answer(changes, "cancel")]);
    });
    let isTold = false;
    this.#loop = new CheckLoop(this.#context.clock, async () => {
      if (this.#claims.isIdle) return undefined;
      await this.#claims.renew().catch((error: unknown) => {
        if (!isTold) this.#report("Could not renew claims", error);
        isTold = true;
      });
      const { checkInterval, roster, store } = this.#context;
      // None is left when renewing has failed.
      const sleepMs = this.#claims.renewalMs || checkInterval;
      if (store.isShared === true) return sleepMs;
      // A store that nobody tells of changes notices them when it is read, whatever of it.
      const [agent] = roster.agents.keys();
      if (agent !== undefined) await store.list(agent).catch(() => {});
      return Math.min(sleepMs, checkInterval);
    });
    await this.#loop.run();
    this.#unsubscribe();
    await answering;
    // A start has called it off.
    if (!this.#claims.isIdle) return;
    this.#isOpen = false;
    await this.#context.store
      .close()
      .catch((error: unknown) => this.#report("Could not close the store", error));
  }

  async #isWithin(timeoutMs: number, task: Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    const timeUp = this.#context.clock.sleep(timeoutMs, timer.signal).then(() => false);
    try {
      return await Promise.race([task.then(() => true), timeUp]);
    } finally {
      timer.abort();
    }
  }

  #report(what: string, cause: unknown): void {
    reportError(this.#context, what, cause);
  }
}

function stoppedMeanwhile(): SchedulerError {
  return new SchedulerError("The scheduler was stopped while it started", { code: "NOT_RUNNING" });
}

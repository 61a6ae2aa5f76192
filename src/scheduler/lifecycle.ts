/**
 * How a scheduler starts and stops. Nothing starts from the moment it is stopped; the store stays open until the last job
 * has ended, and a start meanwhile goes on with it. What a pass does is in loop/pass.ts.
 */
import { type Clock, withTimeout } from "../clock.js";
import type { HeldClaims } from "./claims/held-claims.js";
import type { JobStarter } from "./jobs/job-starter.js";
import type { Pass } from "./loop/pass.js";
import type { PassLog } from "./loop/pass-log.js";
import { requireMap } from "./arguments.js";
import { SchedulerError, SchedulerShutdownError } from "./errors.js";
import type { Requests } from "./control/requests.js";
import { Roster } from "./roster.js";
import { reportError, type SchedulerContext } from "./context.js";
import { type SchedulerStatus, type StopOptions, stopTimeoutMs } from "./options.js";

const STOPPED = "The scheduler was stopped";

/** Checks agents and makes a roster of them. Throws or rejects when they are refused. */
type MakeRoster = () => Roster | Promise<Roster>;

interface LifecycleParts {
  /** The host's clock, used by a store that has none. */
  readonly clock: Clock;
  readonly claims: HeldClaims;
  readonly jobs: JobStarter;
  readonly pass: Pass;
  readonly requests: Requests;
  readonly passes: PassLog;
}

export class Lifecycle {
  readonly #context: SchedulerContext;
  readonly #hostClock: Clock;
  readonly #claims: HeldClaims;
  readonly #jobs: JobStarter;
  readonly #pass: Pass;
  readonly #requests: Requests;
  readonly #passes: PassLog;
  #status: SchedulerStatus = "stopped";
  /** Whether the store is open. After a stop that did not wait it is, until the last job has ended. */
  #isOpen = false;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** How often it was stopped: each stop calls off a start that is under way. */
  #stopCount = 0;
  /** Resolves when the last stop has made sure that nothing starts. */
  #quiet: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #unsubscribe: () => void = () => {};

  constructor(context: SchedulerContext, { clock, claims, jobs, pass, requests, passes }: LifecycleParts) {
    this.#context = context;
    this.#hostClock = clock;
    this.#claims = claims;
    this.#jobs = jobs;
    this.#pass = pass;
    this.#requests = requests;
    this.#passes = passes;
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

  /** Resolves once the loop runs, or when a stop has called it off. The first pass comes after: its caller may pause a schedule before it runs. */
  async start(prepare: MakeRoster, onRunning: (roster: Roster) => void): Promise<void> {
    const stopCount = this.#stopCount;
    this.#status = "running";
    const starting = this.#start(prepare, onRunning);
    this.#starting = starting;
    try {
      await starting;
    } finally {
      // A start that was called off may end after the next has begun.
      if (this.#starting === starting) this.#starting = undefined;
    }
    if (this.#stopCount === stopCount) void this.#context.loop.run(this.#passes);
  }

  stop(options: StopOptions): Promise<void> {
    this.#stopping ??= this.#stop(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #start(prepare: MakeRoster, onRunning: (roster: Roster) => void): Promise<void> {
    const stopCount = this.#stopCount;
    const isCalledOff = (): boolean => this.#stopCount !== stopCount;
    let roster: Roster;
    try {
      const prepared = prepare();
      roster = prepared instanceof Promise ? await prepared : prepared;
      if (isCalledOff()) return;
      // Before the store is opened: `setAgents` may replace it meanwhile.
      this.#pass.setRoster(roster);
      await this.#open();
      if (!isCalledOff()) await this.#pass.applyRoster();
      if (isCalledOff()) return;
    } catch (error) {
      if (!isCalledOff()) {
        const closing = this.#closeWhenIdle();
        if (this.#claims.isEmpty) await closing;
      }
      if (!isCalledOff()) this.#status = "stopped";
      throw error;
    }
    this.#jobs.completer.isOpen = true;
    this.#pass.open();
    onRunning(roster);
    this.#requests.open();
  }

  /** Goes on with the store of a stop that has not ended, so that jobs that still run are known. */
  async #open(): Promise<void> {
    await this.#quiet;
    await this.#context.loop.stop();
    await this.#closing;
    if (!this.#isOpen) {
      this.#context.roster = new Roster([]);
      await this.#context.store.open(this.#hostClock);
      this.#isOpen = true;
    }
    this.#unsubscribe = this.#context.store.onChange((changes) => {
      this.#pass.noteOutside(changes);
      this.#context.loop.wake();
    });
  }

  async #stop(options: StopOptions): Promise<void> {
    requireMap("options", options, '{ timeout: "30s" }');
    const { waitForJobs = true, timeout } = options;
    const timeoutMs = stopTimeoutMs(timeout);
    const wasRunning = this.#status === "running";
    const hasStarted = wasRunning && this.#starting === undefined;
    if (wasRunning) this.#status = "stopping";
    this.#stopCount++;
    this.#pass.shut();
    this.#requests.only = "cancel";
    this.#jobs.completer.isOpen = false;
    if (!waitForJobs) this.#jobs.cancelAll(STOPPED);
    const ended = this.#end(waitForJobs);
    const { clock } = this.#context;
    const isInTime = await withTimeout(
      clock,
      timeoutMs,
      ended.then(() => true),
      () => false,
    );
    this.#status = "stopped";
    const runningJobCount = this.#jobs.size;
    if (!isInTime) this.#jobs.cancelAll(STOPPED);
    if (hasStarted) {
      this.#context.log.info("Scheduler stopped.");
      this.#context.events.emit("scheduler:stopped", { runningJobCount });
    }
    if (isInTime) return;
    throw new SchedulerShutdownError(
      `Scheduler shutdown timed out after ${timeoutMs} ms with ${runningJobCount} job(s) still running`,
      { timedOut: true, runningJobCount },
    );
  }

  /** Resolves when nothing can start and, with `waitForJobs`, everything has ended. */
  async #end(waitForJobs: boolean): Promise<void> {
    this.#quiet = this.#quieten(this.#starting);
    await this.#quiet;
    const closing = this.#closeWhenIdle();
    if (waitForJobs || this.#claims.isEmpty) await closing;
  }

  async #quieten(starting: Promise<void> | undefined): Promise<void> {
    await starting?.catch(() => {});
    await this.#context.loop.stop();
    await this.#pass.settled();
  }

  /** Renews the claims of jobs that still run, obeys requests to cancel them, and closes the store after the last. */
  #closeWhenIdle(): Promise<void> {
    this.#closing ??= this.#linger().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #linger(): Promise<void> {
    if (!this.#isOpen) return;
    this.#unsubscribe();
    this.#requests.open("cancel");
    let isReported = false;
    const renew = async (): Promise<number | undefined> => {
      if (this.#claims.isEmpty) return undefined;
      await this.#claims.renew().catch((error: unknown) => {
        if (!isReported) this.#report("Could not renew claims", error);
        isReported = true;
      });
      const { checkInterval } = this.#context;
      // After a renewal that failed, the time to renew has passed.
      return Math.min(this.#claims.renewalMs || checkInterval, checkInterval);
    };
    await this.#context.loop.run({ run: renew });
    await this.#requests.close();
    // A start goes on with this store.
    if (!this.#claims.isEmpty) return;
    this.#isOpen = false;
    await this.#context.store
      .close()
      .catch((error: unknown) => this.#report("Could not close the store", error));
  }

  #report(what: string, cause: unknown): void {
    reportError(this.#context, what, cause);
  }
}

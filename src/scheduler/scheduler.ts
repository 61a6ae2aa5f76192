/**
 * The Scheduler: one abortable loop over a store. A pass claims what is due and may run, and starts each job without
 * waiting for it (loop/, jobs/). The store knows what is due, the governor (planning/) decides when it is due next.
 */
import { type Instant, systemClock, unrefClock } from "../clock.js";
import { messageOf } from "../errors.js";
import { consoleLogger, guarded } from "../logger.js";
import { systemRandom } from "../random.js";
import type { StateLockedError } from "../state/errors.js";
import { FileStore } from "../state/file/file-store.js";
import type { ScheduleKey, StateStore } from "../state/store.js";
import type { Agent } from "./agent.js";
import { HeldClaims } from "./claims/held-claims.js";
import { SchedulerError } from "./errors.js";
import { EventHub, type SchedulerEvent, type SchedulerListener } from "./events.js";
import { jobExecution } from "./jobs/execute-job.js";
import { JobStarter } from "./jobs/job-starter.js";
import { Lifecycle } from "./lifecycle.js";
import { Pass } from "./loop/pass.js";
import { PassLog } from "./loop/pass-log.js";
import { WakeableLoop } from "./loop/wakeable-loop.js";
import { Planner } from "./planning/planner.js";
import { hasOrder, Requests, requestToRun, triggerResult } from "./control/requests.js";
import { acceptAgents, areChecksLoaded, loadChecks } from "./definition-checks.js";
import { type FleetDefaults, Roster } from "./roster.js";
import type { Backfill, BackfillOptions } from "./control/backfill.js";
import type { HintOptions } from "./control/state-changes.js";
import { ScheduleControls, unknownSchedule } from "./control/controls.js";
import { listSchedules, type ScheduleStatus } from "./control/schedule-status.js";
import {
  checkIntervalMs,
  checkOptions,
  readOrder,
  type SchedulerJobs,
  type SchedulerOptions,
  type SchedulerState,
  type SchedulerStatus,
  type StopOptions,
  type TriggerOptions,
  type TriggerResult,
} from "./options.js";
import { reportError, reportTrouble, type SchedulerContext, warnOfMixedTime } from "./context.js";

const DEFAULT_STATE_DIR = ".rota";

/**
 * Runs the jobs of a herd of agents, each at its time, and says why. One object is one scheduler: it may be started and
 * stopped again and again.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions;
  readonly #defaults: FleetDefaults;
  readonly #context: SchedulerContext;
  readonly #jobs: JobStarter;
  readonly #pass: Pass;
  readonly #controls: ScheduleControls;
  readonly #passes: PassLog;
  readonly #requests: Requests;
  readonly #lifecycle: Lifecycle;
  #startedAt: Date | undefined;
  #startCountBefore = 0;
  /** What `start` was given, until it is checked. */
  #given: readonly Agent[] = [];

  constructor(options: SchedulerOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#defaults = { timezone: options.timezone, jitterPercent: options.jitterPercent };
    const log = guarded(options.logger ?? consoleLogger);
    const store = options.store ?? this.#newStore();
    const clock = options.clock ?? (options.unref === true ? unrefClock : systemClock);
    const storeClock = store.clock ?? clock;
    this.#context = {
      clock: storeClock,
      random: options.random ?? systemRandom,
      log,
      events: new EventHub((event, error) => log.error(`A listener to ${event} failed: ${messageOf(error)}`)),
      logsFailures: options.logFailures,
      checkInterval: checkIntervalMs(options.checkInterval),
      store,
      loop: new WakeableLoop(storeClock),
      roster: new Roster([]),
    };
    const planner = new Planner(this.#context, (key) => this.#jobs.isRunning(key));
    const claims = new HeldClaims(this.#context);
    this.#jobs = new JobStarter(this.#context, planner, {
      execute: jobExecution(options, this.#context),
      hasWorkSources: options.onTrigger === undefined,
      claims,
    });
    this.#pass = new Pass(this.#context, planner, {
      jobs: this.#jobs,
      claims,
      maxConcurrent: options.maxConcurrent ?? Infinity,
    });
    this.#controls = new ScheduleControls(this.#context, planner);
    const { onTick } = options;
    this.#passes = new PassLog(this.#context, this.#pass, {
      onPassed: onTick && (() => onTick(this.getState())),
      onTakenOver: (error) => void this.#giveUp(error),
    });
    this.#requests = new Requests(this.#context, {
      run: (request) => this.#pass.trigger(request, request),
      isFull: () => this.#pass.isFull,
      cancel: (jobId) => this.cancel(jobId),
      stop: () => this.#stopOnRequest(),
      hasJob: (jobId) => this.#jobs.has(jobId),
    });
    this.#lifecycle = new Lifecycle(this.#context, {
      clock,
      claims,
      jobs: this.#jobs,
      pass: this.#pass,
      requests: this.#requests,
      passes: this.#passes,
    });
  }

  /**
   * Resolves once the loop runs, or when `stop` was called meanwhile. Rejects when the scheduler runs already, when its
   * state cannot be opened, and with every problem of agents that can never run: nothing is started then.
   */
  async start(agents: readonly Agent[]): Promise<void> {
    this.#lifecycle.requireStopped();
    warnOfMixedTime(this.#context);
    this.#given = agents;
    const checked = async (): Promise<Roster> => {
      await loadChecks();
      return this.#roster(this.#given);
    };
    await this.#lifecycle.start(
      () => (areChecksLoaded() ? this.#roster(agents) : checked()),
      (roster) => this.#begin(roster),
    );
  }

  /**
   * Starts nothing from the moment it is called, and resolves when running jobs have ended and all is recorded. Rejects
   * with SchedulerShutdownError when that takes longer than `timeout`; jobs that are still running are being cancelled.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#lifecycle.stop(options);
  }

  /** Leaving a scope does not wait for jobs: they are cancelled, and their results are still recorded. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop({ waitForJobs: false });
  }

  /**
   * Takes effect at the next pass. Running jobs go on, including the jobs of agents that were removed. Throws what `start`
   * rejects with, and changes nothing then.
   */
  setAgents(agents: readonly Agent[]): void {
    this.#requireRunning();
    if (!areChecksLoaded()) {
      // The first start of this process is loading them, and checks these agents in place of its own.
      this.#given = agents;
      return;
    }
    this.#pass.setRoster(this.#roster(agents));
    this.#context.loop.wake();
  }

  isRunning(): boolean {
    return this.#lifecycle.status === "running";
  }

  getStatus(): SchedulerStatus {
    return this.#lifecycle.status;
  }

  getState(): SchedulerState {
    return {
      status: this.#lifecycle.status,
      startedAt: this.#startedAt,
      checkCount: this.#passes.count,
      triggerCount: this.#jobs.startCount - this.#startCountBefore,
      lastCheckAt: this.#passes.lastAt,
      unrecordedJobCount: this.#jobs.completer.unwrittenCount,
    };
  }

  /** What the store knows of jobs, also of jobs that still run. */
  get jobs(): SchedulerJobs {
    return this.#context.store.jobs;
  }

  getRunningJobCount(agent: string): number {
    return this.#jobs.countOf(agent);
  }

  getTotalRunningJobCount(): number {
    return this.#jobs.size;
  }

  /** The schedules of one agent, or of all. */
  async getSchedules(agent?: string): Promise<readonly ScheduleStatus[]> {
    this.#requireRunning();
    return listSchedules(this.#context, this.#jobs, { onlyAgent: agent, isFull: this.#pass.isFull });
  }

  /**
   * Starts a job now, whatever the time, within capacity: of the agent's first schedule when none is named. A prompt and data
   * of the trigger are kept before the job starts, and it runs again with them after a crash.
   */
  async trigger(agent: string, schedule?: string, options: TriggerOptions = {}): Promise<TriggerResult> {
    try {
      this.#requireRunning();
      const key = this.#find(agent, schedule);
      const order = readOrder(options);
      if (hasOrder(order)) return triggerResult(await this.#requests.submit(requestToRun(key, order)));
      const running = await this.#pass.trigger(key);
      if (running === "stopped" || running === "answered") throw notRunning();
      if (running === "full") return { success: false, skipped: true, skipReason: "at_capacity" };
      if (typeof running === "string") return { success: false, skipped: true, skipReason: running };
      this.#context.loop.wake();
      return { success: true, jobId: running.id };
    } catch (error) {
      const code = error instanceof SchedulerError ? error.code : undefined;
      return { success: false, error: messageOf(error), ...(code === undefined ? {} : { code }) };
    }
  }

  /** Until a time, or until it is resumed. All schedules of the agent when none is named. */
  pause(agent: string, schedule?: string, until?: Instant): Promise<void> {
    return this.#control(() => this.#controls.pause(agent, schedule, until));
  }

  resume(agent: string, schedule?: string): Promise<void> {
    return this.#control(() => this.#controls.resume(agent, schedule));
  }

  enable(agent: string, schedule?: string): Promise<void> {
    return this.#control(() => this.#controls.enable(agent, schedule));
  }

  /** A job that runs goes on. */
  disable(agent: string, schedule?: string): Promise<void> {
    return this.#control(() => this.#controls.disable(agent, schedule));
  }

  hint(agent: string, schedule: string, hint: HintOptions): Promise<void> {
    return this.#control(() => this.#controls.hint(agent, schedule, hint));
  }

  clearHints(agent: string, schedule?: string): Promise<void> {
    return this.#control(() => this.#controls.clearHints(agent, schedule));
  }

  /**
   * Runs the slots of a past period of a cron schedule: oldest first, one at a time, after what is due of its own. They are
   * kept in the store until they have run. Slots with a completed job are left out.
   */
  async backfill(agent: string, schedule: string, options: BackfillOptions): Promise<Backfill> {
    this.#requireRunning();
    const found = await this.#controls.backfill(agent, schedule, options);
    this.#context.loop.wake();
    return found;
  }

  /** Leaves out the slots of a backfill that have not run. A job that runs goes on. */
  cancelBackfill(agent: string, schedule?: string): Promise<void> {
    return this.#control(() => this.#controls.cancelBackfill(agent, schedule));
  }

  /** Fires the job's signal; `false` when no such job runs. */
  cancel(jobId: string): boolean {
    return this.#jobs.cancel(jobId, "The job was cancelled");
  }

  on<Event extends SchedulerEvent>(event: Event, listener: SchedulerListener<Event>): this {
    this.#context.events.on(event, listener);
    return this;
  }

  off<Event extends SchedulerEvent>(event: Event, listener: SchedulerListener<Event>): this {
    this.#context.events.off(event, listener);
    return this;
  }

  #begin({ agents }: Roster): void {
    const { clock, events, log } = this.#context;
    const startedAt = clock.now();
    this.#startedAt = startedAt;
    this.#passes.reset();
    this.#startCountBefore = this.#jobs.startCount;
    log.info(`Scheduler started with ${agents.size} ${agents.size === 1 ? "agent" : "agents"}.`);
    events.emit("scheduler:started", { startedAt });
  }

  async #giveUp({ isDeleted }: StateLockedError): Promise<void> {
    const reason = isDeleted ? "The state directory was deleted" : "A different scheduler has taken over";
    this.#jobs.cancelAll(reason);
    try {
      await this.stop({ waitForJobs: false });
    } catch (error) {
      reportError(this.#context, "Could not stop", error);
    }
  }

  /** Stops as the host says, or as `stop` does without options. */
  #stopOnRequest(): void {
    const { onStopRequest = () => this.stop() } = this.#options;
    const stop = async (): Promise<void> => void (await onStopRequest());
    void stop().catch((error: unknown) => reportError(this.#context, "Could not stop", error));
  }

  /** Throws when agents are refused, or with `onInvalid: "skip"` reports what it leaves out. */
  #roster(agents: readonly Agent[]): Roster {
    const accepted = acceptAgents(agents, this.#options);
    for (const error of accepted.leftOut) reportError(this.#context, "Refused agent", error);
    const roster = new Roster(accepted.agents, this.#defaults, accepted.refusal);
    for (const { error, ...key } of roster.problems())
      reportTrouble(this.#context, key, "Refused schedule", error);
    return roster;
  }

  #newStore(): StateStore {
    // Of a configuration that was passed as a whole: its state must not be split between two places.
    if ("database" in this.#options && this.#options.database !== undefined)
      throw new SchedulerError(
        "The configuration names a database: pass `store: new PostgresStore({ connectionString: config.database.url })` too",
        { code: "INVALID_ARGUMENT" },
      );
    const { stateDir = DEFAULT_STATE_DIR, jobs, logger = consoleLogger, unref = false } = this.#options;
    const options = { stateDir, jobs, logger: guarded(logger) };
    return new FileStore(options, unref ? { realClock: unrefClock } : {});
  }

  async #control(change: () => Promise<void>): Promise<void> {
    this.#requireRunning();
    await change();
    this.#context.loop.wake();
  }

  /** The schedule of this name, or the agent's first. Throws when it is unknown or was refused. */
  #find(agent: string, schedule: string | undefined): ScheduleKey {
    const { roster } = this.#context;
    const [first = ""] = roster.schedulesOf(agent).keys();
    const key = { agent, schedule: schedule ?? first };
    if (roster.find(key) === undefined)
      throw roster.problemOf(key) ?? unknownSchedule(roster, agent, schedule);
    return key;
  }

  #requireRunning(): void {
    if (this.#lifecycle.status !== "running") throw notRunning();
  }
}

function notRunning(): SchedulerError {
  return new SchedulerError("The scheduler is not running: call start() first", { code: "NOT_RUNNING" });
}

/**
 * A run in the foreground: from start to exit code. The first SIGINT or SIGTERM waits for running jobs, the second exits
 * immediately; SIGHUP or a changed file reloads the configuration.
 */
import type { Clock } from "../../clock.js";
import { configChanges } from "../../config/watch/config-changes.js";
import type { Config } from "../../config/config.js";
import type { ConfigError } from "../../scheduler/definition/errors.js";
import type { ConfigWatch } from "../../config/watch/watch-config.js";
import { messageOf } from "../../errors.js";
import { SchedulerShutdownError } from "../../scheduler/errors.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import type { JobStatus } from "../../state/job-log/job-log.js";
import { formatChanges } from "../format/config-changes.js";
import type { RunModel } from "./run-model.js";
import type { ScheduleReader } from "./schedule-reader.js";
import { type RunHost, type RunSignal, STOP_SIGNALS, type StopSignal } from "./host.js";
import { listen, type Notice } from "./notice.js";
import type { Reporter } from "./reporter.js";
import {
  forcedExitMessage,
  runningMessage,
  stoppedMessage,
  stoppingMessage,
  stopTimeoutMessage,
} from "../format/run-messages.js";
import { selectAgents, type RunSettings } from "./run-options.js";

export interface RunDependencies {
  readonly clock: Clock;
  readonly host: RunHost;
  /** Aborts when the reader of the output is gone. */
  readonly signal: AbortSignal;
  readonly settings: RunSettings;
  /** The configuration's path, for messages. */
  readonly file: string;
  readonly watch: ConfigWatch;
  readonly scheduler: Scheduler;
  /** Whether other schedulers may use the same state. */
  readonly isShared: boolean;
  readonly model: RunModel;
  readonly reader: ScheduleReader;
  readonly reporter: Reporter;
}

/** The statuses of jobs that a stop has cancelled. */
const CANCELLED: ReadonlySet<JobStatus> = new Set(["cancelled", "interrupted"]);

export class ForegroundRun {
  readonly #parts: RunDependencies;
  #config: Config;
  #isStopping = false;
  /** Whether the stop has cancelled a job. */
  #hasCancelled = false;
  /** Counts configurations that were read, valid or not. */
  #readings = 0;
  #end: (exitCode: Promise<ExitCode>) => void = () => {};
  readonly #ended = new Promise<ExitCode>((resolve) => {
    this.#end = resolve;
  });

  /** `config`: the configuration with only the selected agents. */
  constructor(parts: RunDependencies, config: Config) {
    this.#parts = parts;
    this.#config = config;
  }

  /** Resolves when all jobs have ended and are recorded. Rejects when the scheduler cannot start. */
  async run(): Promise<ExitCode> {
    const { host, reporter, scheduler, signal } = this.#parts;
    const stopListening = host.onSignal((heard) => this.#hear(heard));
    const hangUp = (): void => this.#stop("its output was closed");
    signal.addEventListener("abort", hangUp, { once: true });
    listen(scheduler, (notice) => this.#note(notice));
    try {
      await this.#start();
      return await this.#ended;
    } finally {
      stopListening();
      signal.removeEventListener("abort", hangUp);
      await reporter.close();
    }
  }

  /** As after SIGTERM. */
  stopOnRequest(): void {
    this.#stop("rota stop");
  }

  /** Applies a configuration that was read again. */
  useConfig(config: Config): void {
    const { file, reader, reporter, scheduler, settings } = this.#parts;
    this.#readings++;
    if (this.#isStopping) return;
    const next = selectAgents(config, settings.agents);
    const changes = configChanges(this.#config, next);
    if (changes === undefined) return;
    scheduler.setAgents(next.agents);
    reader.use(next);
    this.#config = next;
    this.#note({ event: "config:reloaded", details: changes });
    reporter.message(`Reloaded ${file}: ${formatChanges(changes)}.`, "info");
  }

  /** Reports a configuration that was read again and is invalid. */
  refuseConfig(error: ConfigError): void {
    this.#readings++;
    if (this.#isStopping) return;
    this.#note({ event: "config:refused", details: { error } });
    this.#parts.reporter.message(
      `Not reloaded, the previous configuration stays in use. ${error.message}`,
      "warning",
    );
  }

  async #start(): Promise<void> {
    const { file, model, reporter, scheduler } = this.#parts;
    try {
      await scheduler.start(this.#config.agents);
    } catch (error) {
      if (this.#isStopping) return;
      throw error;
    }
    reporter.message(runningMessage(this.#config, file, model.location), "info");
  }

  #note(notice: Notice): void {
    const { model, reporter } = this.#parts;
    model.apply(notice);
    reporter.report(notice);
    if (notice.event === "job:finished" && this.#isStopping && CANCELLED.has(notice.details.job.status))
      this.#hasCancelled = true;
    // A scheduler that stops without a request has lost the state to another scheduler.
    if (notice.event === "scheduler:stopped" && !this.#isStopping) this.#windUp(this.#allEnded(EXIT.failure));
  }

  #hear(signal: RunSignal): void {
    if (signal === "SIGHUP") void this.#reload();
    else if (this.#isStopping) this.#leave(signal);
    else this.#stop(signal);
  }

  async #reload(): Promise<void> {
    const { file, reporter, watch } = this.#parts;
    if (this.#isStopping) return;
    const before = this.#readings;
    try {
      await watch.reload();
      if (this.#readings === before) reporter.message(`Reloaded ${file}: nothing changed.`, "info");
    } catch (error) {
      reporter.message(`Could not reload ${file}: ${messageOf(error)}`, "warning");
    }
  }

  #stop(reason: string): void {
    const { model, reporter, scheduler, settings } = this.#parts;
    if (this.#isStopping) return;
    this.#isStopping = true;
    const jobs = Array.from(model.running.values(), ({ jobId }) => jobId);
    const timeoutMs = settings.stopTimeoutMs;
    this.#note({ event: "scheduler:stopping", details: { reason, timeoutMs, jobs } });
    reporter.message(
      stoppingMessage(model, scheduler.getState().unrecordedJobCount, reason, timeoutMs),
      "info",
    );
    this.#windUp(this.#stopped(timeoutMs));
  }

  #windUp(ending: Promise<ExitCode>): void {
    this.#isStopping = true;
    this.#parts.watch.close();
    const { clock, model, reporter } = this.#parts;
    const reportEnd = async (): Promise<ExitCode> => {
      const exitCode = await ending;
      reporter.message(stoppedMessage(model, clock.monotonic()), "info");
      return exitCode;
    };
    this.#end(reportEnd());
  }

  async #stopped(timeout: number): Promise<ExitCode> {
    const { model, reporter, scheduler } = this.#parts;
    try {
      await scheduler.stop({ timeout });
      const isClean = !this.#hasCancelled && scheduler.getState().unrecordedJobCount === 0;
      return isClean ? EXIT.ok : EXIT.failure;
    } catch (error) {
      if (!(error instanceof SchedulerShutdownError)) throw error;
    }
    reporter.message(stopTimeoutMessage(model, timeout), "warning");
    return this.#allEnded(EXIT.failure);
  }

  /** Waits until cancelled jobs have ended and are recorded. */
  async #allEnded(exitCode: ExitCode): Promise<ExitCode> {
    const { scheduler } = this.#parts;
    // The first call may join a stop that is under way and does not wait for jobs.
    await scheduler.stop({ timeout: Infinity });
    await scheduler.stop({ timeout: Infinity });
    return exitCode;
  }

  #leave(signal: StopSignal): void {
    const { host, isShared, model, reporter, scheduler } = this.#parts;
    for (const { jobId } of model.running.values()) scheduler.cancel(jobId);
    reporter.message(forcedExitMessage(model, isShared), "warning");
    void reporter.close();
    host.exit(128 + STOP_SIGNALS[signal]);
  }
}

/**
 * A fleet that runs until it is told to stop. The first signal lets running jobs end, a second one leaves at once, and
 * SIGHUP or a changed file makes it read its configuration again.
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
import { changesInWords } from "../format/config-changes.js";
import type { FleetModel } from "./run-model.js";
import type { FleetReader } from "./schedule-reader.js";
import { type RunHost, type RunSignal, STOP_SIGNALS, type StopSignal } from "./host.js";
import { listen, type News } from "./notice.js";
import type { Reporter } from "./reporter.js";
import {
  leavingWords,
  runningWords,
  stoppedWords,
  stoppingWords,
  tooSlowWords,
} from "../format/run-messages.js";
import { chosen, type RunSettings } from "./run-options.js";

export interface RunParts {
  readonly clock: Clock;
  readonly host: RunHost;
  /** Fires when nobody reads the output any more. */
  readonly signal: AbortSignal;
  readonly settings: RunSettings;
  /** The configuration's path as it is shown. */
  readonly file: string;
  readonly watch: ConfigWatch;
  readonly scheduler: Scheduler;
  /** Whether others may run on the same state. */
  readonly isShared: boolean;
  readonly model: FleetModel;
  readonly reader: FleetReader;
  readonly reporter: Reporter;
}

/** How jobs end that were told to. */
const TOLD_TO_END: ReadonlySet<JobStatus> = new Set(["cancelled", "interrupted"]);

export class FleetRun {
  readonly #parts: RunParts;
  #config: Config;
  #isStopping = false;
  /** Whether a job has ended since then that was told to. */
  #wasToldToEnd = false;
  /** How often something was heard of the configuration. */
  #readings = 0;
  #end: (exitCode: Promise<ExitCode>) => void = () => {};
  readonly #ended = new Promise<ExitCode>((resolve) => {
    this.#end = resolve;
  });

  /** `config`: what of the configuration is run. */
  constructor(parts: RunParts, config: Config) {
    this.#parts = parts;
    this.#config = config;
  }

  /** Resolves when everything has ended and is recorded. Rejects when it could not be started. */
  async run(): Promise<ExitCode> {
    const { host, reporter, scheduler, signal } = this.#parts;
    const stopListening = host.onSignal((heard) => this.#hear(heard));
    const hangUp = (): void => this.#stop("its output was closed");
    signal.addEventListener("abort", hangUp, { once: true });
    listen(scheduler, (news) => this.#note(news));
    try {
      await this.#start();
      return await this.#ended;
    } finally {
      stopListening();
      signal.removeEventListener("abort", hangUp);
      await reporter.close();
    }
  }

  /** A configuration that was read again. */
  useConfig(config: Config): void {
    const { file, reader, reporter, scheduler, settings } = this.#parts;
    this.#readings++;
    if (this.#isStopping) return;
    const next = chosen(config, settings.agents);
    const changes = configChanges(this.#config, next);
    if (changes === undefined) return;
    scheduler.setAgents(next.agents);
    reader.use(next);
    this.#config = next;
    this.#note({ event: "config:reloaded", details: changes });
    reporter.say(`Reloaded ${file}: ${changesInWords(changes)}.`, "news");
  }

  /** One that was read again and is bad. */
  refuseConfig(error: ConfigError): void {
    this.#readings++;
    if (this.#isStopping) return;
    this.#note({ event: "config:refused", details: { error } });
    this.#parts.reporter.say(`Not reloaded, the configuration before goes on. ${error.message}`, "trouble");
  }

  async #start(): Promise<void> {
    const { file, model, reporter, scheduler } = this.#parts;
    try {
      await scheduler.start(this.#config.agents);
    } catch (error) {
      if (this.#isStopping) return;
      throw error;
    }
    reporter.say(runningWords(this.#config, file, model.place), "news");
  }

  #note(news: News): void {
    const { model, reporter } = this.#parts;
    model.note(news);
    reporter.tell(news);
    if (news.event === "job:finished" && this.#isStopping && TOLD_TO_END.has(news.details.job.status))
      this.#wasToldToEnd = true;
    // Another scheduler has taken over, and this one has given up.
    if (news.event === "scheduler:stopped" && !this.#isStopping) this.#windUp(this.#allEnded(EXIT.failure));
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
      if (this.#readings === before) reporter.say(`Read ${file} again: nothing has changed.`, "news");
    } catch (error) {
      reporter.say(`Could not read ${file} again: ${messageOf(error)}`, "trouble");
    }
  }

  #stop(reason: string): void {
    const { model, reporter, scheduler, settings } = this.#parts;
    if (this.#isStopping) return;
    this.#isStopping = true;
    const jobs = Array.from(model.running.values(), ({ jobId }) => jobId);
    const timeoutMs = settings.stopTimeoutMs;
    this.#note({ event: "scheduler:stopping", details: { reason, timeoutMs, jobs } });
    reporter.say(stoppingWords(model, scheduler.getState().unrecordedJobCount, reason, timeoutMs), "news");
    this.#windUp(this.#stopped(timeoutMs));
  }

  #windUp(ending: Promise<ExitCode>): void {
    this.#isStopping = true;
    this.#parts.watch.close();
    const { clock, model, reporter } = this.#parts;
    const say = async (): Promise<ExitCode> => {
      const exitCode = await ending;
      reporter.say(stoppedWords(model, clock.monotonic()), "news");
      return exitCode;
    };
    this.#end(say());
  }

  async #stopped(timeout: number): Promise<ExitCode> {
    const { model, reporter, scheduler } = this.#parts;
    try {
      await scheduler.stop({ timeout });
      const isClean = !this.#wasToldToEnd && scheduler.getState().unrecordedJobCount === 0;
      return isClean ? EXIT.ok : EXIT.failure;
    } catch (error) {
      if (!(error instanceof SchedulerShutdownError)) throw error;
    }
    reporter.say(tooSlowWords(model, timeout), "trouble");
    return this.#allEnded(EXIT.failure);
  }

  /** Jobs that were told to end still have results to be recorded. */
  async #allEnded(exitCode: ExitCode): Promise<ExitCode> {
    const { scheduler } = this.#parts;
    // The first may be a stop under way, which does not wait for them.
    await scheduler.stop({ timeout: Infinity });
    await scheduler.stop({ timeout: Infinity });
    return exitCode;
  }

  #leave(signal: StopSignal): void {
    const { host, isShared, model, reporter, scheduler } = this.#parts;
    for (const { jobId } of model.running.values()) scheduler.cancel(jobId);
    reporter.say(leavingWords(model, isShared), "trouble");
    void reporter.close();
    host.exit(128 + STOP_SIGNALS[signal]);
  }
}

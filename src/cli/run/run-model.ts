/** The model behind the live view: which jobs run, how the last run of each schedule ended, and the totals. */
import type { Clock } from "../../clock.js";
import type { JobEndStatus, JobRecord } from "../../state/job-log/job-log.js";
import { type FleetSchedule, nameOf } from "../fleet/fleet.js";
import type { Notice } from "./notice.js";

export interface RunningJobView {
  readonly jobId: string;
  readonly agent: string;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

/** How the last run of a schedule ended. */
export interface LastRun {
  readonly status: JobEndStatus;
  readonly endedAt: Date;
  readonly error: string | undefined;
}

/** Everything the live view shows. */
export interface RunView {
  /** In the order of their definition. */
  readonly schedules: readonly FleetSchedule[];
  /** By the schedule's name, "reports/hourly". */
  readonly running: ReadonlyMap<string, RunningJobView>;
  readonly last: ReadonlyMap<string, LastRun>;
  readonly finishedCount: number;
  readonly failedCount: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** When running jobs will be cancelled, on the monotonic clock; `undefined` unless the run is stopping. */
  readonly stopsAtMs: number | undefined;
  /** The name of the state's location. */
  readonly location: string;
}

export class RunModel implements RunView {
  readonly #clock: Clock;
  readonly location: string;
  readonly startedMs: number;
  readonly running: Map<string, RunningJobView> = new Map();
  readonly last: Map<string, LastRun> = new Map();
  /** Set by the live view, which reads them from the store. */
  schedules: readonly FleetSchedule[] = [];
  finishedCount = 0;
  failedCount = 0;
  stopsAtMs: number | undefined = undefined;

  constructor(clock: Clock, location: string) {
    this.#clock = clock;
    this.location = location;
    this.startedMs = clock.monotonic();
  }

  apply({ event, details }: Notice): void {
    if (event === "job:started") this.#started(details.job);
    else if (event === "job:finished") this.#finished(details.job);
    else if (event === "scheduler:stopping") this.stopsAtMs = this.#clock.monotonic() + details.timeoutMs;
  }

  #started({ id: jobId, agent, schedule }: JobRecord): void {
    if (schedule === null) return;
    this.running.set(nameOf({ agent, schedule }), { jobId, agent, startedMs: this.#clock.monotonic() });
  }

  #finished({ id, agent, schedule, status, error }: JobRecord): void {
    this.finishedCount++;
    if (status !== "completed") this.failedCount++;
    if (schedule === null || status === "running") return;
    const name = nameOf({ agent, schedule });
    // The next job may have started before this one's end was written.
    if (this.running.get(name)?.jobId === id) this.running.delete(name);
    this.last.set(name, { status, endedAt: this.#clock.now(), error: error ?? undefined });
  }
}

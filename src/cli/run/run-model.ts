/** What is known of a fleet that runs in this process: which jobs run, how the last ones ended, and how many there were. */
import type { Clock } from "../../clock.js";
import type { JobEndStatus, JobRecord } from "../../state/job-log/job-log.js";
import { type FleetSchedule, nameOf } from "../fleet/fleet.js";
import type { News } from "./notice.js";

export interface RunningJobView {
  readonly jobId: string;
  readonly agent: string;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

/** How the last run of a schedule has ended. */
export interface LastRun {
  readonly status: JobEndStatus;
  readonly endedAt: Date;
  readonly error: string | undefined;
}

/** All that the live view shows. */
export interface FleetView {
  /** In the order of their definition. */
  readonly schedules: readonly FleetSchedule[];
  /** By the schedule's name, "reports/hourly". */
  readonly running: ReadonlyMap<string, RunningJobView>;
  readonly last: ReadonlyMap<string, LastRun>;
  readonly finishedCount: number;
  readonly failedCount: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** When jobs are told to end, on the monotonic clock; `undefined` while it is not stopping. */
  readonly stopsAtMs: number | undefined;
  /** Where its state is, as people are told. */
  readonly place: string;
}

export class FleetModel implements FleetView {
  readonly #clock: Clock;
  readonly place: string;
  readonly startedMs: number;
  readonly running: Map<string, RunningJobView> = new Map();
  readonly last: Map<string, LastRun> = new Map();
  /** Read from the store by whoever shows them. */
  schedules: readonly FleetSchedule[] = [];
  finishedCount = 0;
  failedCount = 0;
  stopsAtMs: number | undefined = undefined;

  constructor(clock: Clock, place: string) {
    this.#clock = clock;
    this.place = place;
    this.startedMs = clock.monotonic();
  }

  note({ event, details }: News): void {
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
    // The next one may have started before the end of this one was written.
    if (this.running.get(name)?.jobId === id) this.running.delete(name);
    this.last.set(name, { status, endedAt: this.#clock.now(), error: error ?? undefined });
  }
}

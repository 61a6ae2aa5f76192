/** A job of which only the end is still to be recorded: its outcome in the state, and its record in the log. */
import type { Claim } from "../../state/store.js";
import type { EndedJobRecord } from "../../state/job-log/job-log.js";
import { cutOffOutcome, type RunOutcome, supersededOutcome } from "./run-record.js";
import type { RunningJob } from "./job.js";

export class EndedJob {
  readonly running: RunningJob;
  readonly finishedAt: Date;
  /** As the job itself ended. */
  readonly #ownOutcome: RunOutcome;
  readonly #durationMs: number;
  #record: EndedJobRecord | undefined = undefined;
  #isSuperseded = false;
  /** How many parts of its end, its outcome and its record, nobody has tried to write yet. */
  untriedParts = 2;
  /** Whether the store has its outcome. */
  isCompleted = false;

  /** `finishedMs` on the monotonic clock. */
  constructor(running: RunningJob, outcome: RunOutcome, finishedAt: Date, finishedMs: number) {
    this.running = running;
    this.#ownOutcome = outcome;
    this.finishedAt = finishedAt;
    this.#durationMs = finishedMs - running.startedMs;
    running.hasEnded = true;
  }

  /** Whether the log has its end. */
  get isRecorded(): boolean {
    return this.running.isRecorded;
  }

  set isRecorded(isRecorded: boolean) {
    this.running.isRecorded = isRecorded;
  }

  get claim(): Claim {
    return this.running.claim;
  }

  /** What is to be recorded of it. */
  get outcome(): RunOutcome {
    if (this.#isSuperseded) return supersededOutcome(this.#ownOutcome);
    const { cutOffBy } = this.running;
    return cutOffBy === undefined ? this.#ownOutcome : cutOffOutcome(this.#ownOutcome, cutOffBy);
  }

  /** Whether another had its slot when it ended. */
  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  supersede(): void {
    this.#isSuperseded = true;
    this.#record = undefined;
  }

  /** Made when it is first asked for, as that of its start is. */
  get record(): EndedJobRecord {
    this.#record ??= this.running.recordAt(this.finishedAt, this.#durationMs, this.outcome);
    return this.#record;
  }
}

/** A job of which only the end is still to be recorded: its outcome in the state, and its record in the log. */
import type { Claim } from "../state/state-store.js";
import { endRecord, type EndedRecord, type RunOutcome } from "./run-record.js";
import type { RunningJob } from "./running-job.js";

export class EndedJob {
  readonly running: RunningJob;
  readonly outcome: RunOutcome;
  readonly finishedAt: Date;
  readonly #durationMs: number;
  #record: EndedRecord | undefined = undefined;
  /** How many parts of its end, its outcome and its record, nobody has tried to write yet. */
  untriedParts = 2;
  /** Whether the store has its outcome. */
  isCompleted = false;
  /** Whether the log has its end. */
  isRecorded = false;

  /** `finishedMs` on the monotonic clock. */
  constructor(running: RunningJob, outcome: RunOutcome, finishedAt: Date, finishedMs: number) {
    this.running = running;
    this.outcome = outcome;
    this.finishedAt = finishedAt;
    this.#durationMs = finishedMs - running.startedMs;
    running.hasEnded = true;
  }

  get claim(): Claim {
    return this.running.claim;
  }

  /** Made when it is first asked for, as that of its start is. */
  get record(): EndedRecord {
    this.#record ??= endRecord(this.running.job, this.outcome, this.finishedAt, this.#durationMs);
    return this.#record;
  }
}

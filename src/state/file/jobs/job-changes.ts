/** What a start and an end of a job add to its day's file, once it is known what that says of the job. */
import type { DayChange } from "./day-file.js";
import { endLine, startLine } from "./job-line.js";
import type { JobEnd, JobStart } from "../../job-log/job-log.js";
import { durationBetween } from "../../job-log/job-record.js";

export class JobOpening implements DayChange {
  readonly id: string;
  readonly startedAt: string;
  counted = false;
  readonly #start: JobStart;
  readonly #signature: string;

  constructor(start: JobStart, signature: string) {
    this.id = start.id;
    this.startedAt = start.started_at;
    this.#start = start;
    this.#signature = signature;
  }

  lineAfter(): string {
    return startLine(this.#start, this.#signature);
  }
}

export class JobClosing implements DayChange {
  readonly id: string;
  readonly startedAt = undefined;
  counted = false;
  readonly #end: JobEnd;
  readonly #durationMs: number | null | undefined;
  readonly #signature: string;

  /** Without `durationMs` it is the time since the start in the file; `null` is unknown. */
  constructor(id: string, end: JobEnd, durationMs: number | null | undefined, signature: string) {
    this.id = id;
    this.#end = end;
    this.#durationMs = durationMs;
    this.#signature = signature;
  }

  lineAfter(startedAt: string): string {
    const duration_ms =
      this.#durationMs === undefined
        ? durationBetween(startedAt, new Date(this.#end.finished_at))
        : this.#durationMs;
    return endLine(this.id, this.#end, duration_ms, this.#signature);
  }
}

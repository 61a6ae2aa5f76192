/**
 * What a day's lines say: which jobs started, which of them ended. The first line of its kind counts, in the order
 * of the file, so that every process comes to the same answer.
 */
import type { JobRecord } from "../../job-log/job-log.js";
import { recordOf, scanLines } from "./job-line.js";

/** A job of a day that was read as a whole. */
export interface DayJob {
  readonly id: string;
  readonly startedAt: string;
  readonly lineNumber: number;
  /** Who started it; `undefined` where the line does not say. */
  readonly process: string | undefined;
  readonly start: Buffer;
  readonly end: Buffer | undefined;
}

export interface JobDay {
  readonly jobs: ReadonlyMap<string, DayJob>;
  /** The numbers of lines that are not lines of a job log. */
  readonly damagedLines: readonly number[];
}

export function readDay(bytes: Buffer): JobDay {
  const jobs = new Map<string, DayJob>();
  const damagedLines: number[] = [];
  scanLines(
    bytes,
    ({ id, startedAt, process }, line, lineNumber) => {
      const job = jobs.get(id);
      if (startedAt === undefined) {
        if (job !== undefined && job.end === undefined) jobs.set(id, { ...job, end: line });
      } else if (job === undefined) {
        jobs.set(id, { id, startedAt, lineNumber, process, start: line, end: undefined });
      }
    },
    (lineNumber) => damagedLines.push(lineNumber),
  );
  return { jobs, damagedLines };
}

/** Newest first; of two that started at the same time, the later line first. */
export function newestFirst({ jobs }: JobDay): DayJob[] {
  return [...jobs.values()].toSorted((a, b) => {
    if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? 1 : -1;
    return b.lineNumber - a.lineNumber;
  });
}

export function recordOfJob({ start, end }: DayJob): JobRecord | undefined {
  return recordOf(start, end);
}

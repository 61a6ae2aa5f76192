/**
 * Makes job records: from what a caller gives and from what a file has, both checked by the same rules, so that
 * nothing is written that could not be read.
 */
import { z } from "zod";
import { isoTimeMs } from "../../iso-time.js";
import { invalidState, type StateError } from "../errors.js";
import { dayInJobId } from "./job-id.js";
import type { JobEnd, JobFilter, JobOutcomeRecord, JobRecord, JobStart, NewJob } from "./job-log.js";
import { PLAN_SOURCES } from "../schedule-state.js";

const jobId = z.string().refine((id) => dayInJobId(id) !== undefined, "expected a job id");
/** Kept in one notation, because records are ordered by it. */
const time = z.string().transform((text, context) => {
  const ms = isoTimeMs(text);
  if (ms !== undefined) return new Date(ms).toISOString();
  context.addIssue("expected an ISO time");
  return z.NEVER;
});
const optionalText = z.string().nullable().default(null);

const START = z.object({
  id: jobId,
  agent: z.string(),
  schedule: optionalText,
  trigger: z.enum(["interval", "cron", "once", "event", "webhook", "chat", "manual", "workflow"]),
  slot: time.nullable().default(null),
  // A newer version's reason is no reason to lose the record.
  source: z.enum(PLAN_SOURCES).nullable().catch(null),
  attempt: z.int().min(1).default(1),
  prompt: optionalText,
  work_item: z.unknown().default(null),
  started_at: time,
});

const END = z.object({
  status: z.enum(["completed", "failed", "timeout", "cancelled", "interrupted"]),
  finished_at: time,
  duration_ms: z.number().min(0).nullable().default(null),
  error: optionalText,
  summary: optionalText,
  exit_code: z.int().nullable().default(null),
  response_body: z.unknown().default(null),
});

/** Throws a StateError with code INVALID_STATE for what no log could read again. */
export function newStart(job: NewJob, id: string, startedAt: Date): JobStart {
  return checked(START, { ...job, id, started_at: startedAt.toISOString() }, "start");
}

/** Throws a StateError with code INVALID_STATE for what no log could read again. */
export function newEnd(outcome: JobOutcomeRecord, finishedAt: Date): JobEnd {
  return checked(END, { ...outcome, finished_at: finishedAt.toISOString() }, "end");
}

/** The start that a file tells of; `undefined` where it is none. */
export function storedStart(value: unknown): JobStart | undefined {
  return START.safeParse(value).data;
}

/** The end that a file tells of; `undefined` where it is none. */
export function storedEnd(value: unknown): JobEnd | undefined {
  return END.safeParse(value).data;
}

const UNKNOWN_END = {
  status: "running",
  finished_at: null,
  duration_ms: null,
  error: null,
  summary: null,
  exit_code: null,
  response_body: null,
} as const;

export function jobRecord(start: JobStart, end: JobEnd | undefined): JobRecord {
  return { ...start, ...(end ?? UNKNOWN_END) };
}

/** The instant a caller named, or the clock's. */
export function instantOr(text: string | undefined, now: Date): Date {
  if (text === undefined) return now;
  return new Date(checked(time, text, "time"));
}

export function isWanted(record: JobRecord, { agent, schedule, status, since }: JobFilter): boolean {
  return (
    (agent === undefined || record.agent === agent) &&
    (schedule === undefined || record.schedule === schedule) &&
    (status === undefined || record.status === status) &&
    (since === undefined || record.started_at >= since.toISOString())
  );
}

/** The time between two instants of a clock that may have been set back. */
export function durationBetween(startedAt: string, finishedAt: Date): number {
  return Math.max(0, finishedAt.getTime() - new Date(startedAt).getTime());
}

function checked<Value>(schema: z.ZodType<Value>, given: unknown, part: string): Value {
  let result;
  try {
    // Through its text: the record is what will be read again, and the caller's objects stay the caller's.
    result = schema.safeParse(JSON.parse(JSON.stringify(given)));
  } catch (error) {
    throw refused(part, error instanceof Error ? error.message : String(error), error);
  }
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const key = issue?.path.join(".");
  throw refused(part, `${key === undefined || key === "" ? "" : `${key}: `}${issue?.message ?? ""}`);
}

function refused(part: string, reason: string, cause?: unknown): StateError {
  return invalidState(`Not the ${part} of a job: ${reason}.`, cause);
}

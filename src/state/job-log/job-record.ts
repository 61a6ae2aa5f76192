/**
 * Makes job records: from what a caller gives and from what a file has, both checked by the same rules, so that
 * nothing is written that could not be read.
 */
import { type Fields, isFields } from "../../fields.js";
import { quote } from "../../errors.js";
import { isoText, isoTimeMs, normalTime, plainTimeMs } from "../../iso-time.js";
import { invalidState, StateError } from "../errors.js";
import { JOB_END_STATUSES, JOB_TRIGGERS, PLAN_SOURCES } from "../schedule-state.js";
import { isJobId } from "./job-id.js";
import {
  DEFAULT_LIST_LIMIT,
  type EndedJobRecord,
  type JobEnd,
  type JobFilter,
  type JobOutcomeRecord,
  type JobRecord,
  type JobStart,
  type NewJob,
} from "./job-log.js";

interface Rule<Value> {
  readonly expected: string;
  /** The value as records have it; `undefined` for what it cannot be. */
  read(given: unknown): Value | undefined;
}

const text: Rule<string> = {
  expected: "text",
  read: (given) => (typeof given === "string" ? given : undefined),
};
const jobId: Rule<string> = {
  expected: "a job id",
  read: (given) => (typeof given === "string" && isJobId(given) ? given : undefined),
};
/** Kept in one notation, because records are ordered by it. */
const time: Rule<string> = { expected: "an ISO time", read: normalTime };
const oneOf = <Word extends string>(words: readonly Word[]): Rule<Word> => {
  const known = new Map<unknown, Word>(words.map((word) => [word, word]));
  return { expected: `one of ${words.join(", ")}`, read: (given) => known.get(given) };
};
const number = (expected: string, holds: (given: number) => boolean): Rule<number> => ({
  expected,
  read: (given) => (typeof given === "number" && holds(given) ? given : undefined),
});
const optional = <Value>(rule: Rule<Value>): Rule<Value | null> => ({
  expected: `${rule.expected} or null`,
  read: (given) => (given === undefined || given === null ? null : rule.read(given)),
});

const optionalText = optional(text);
const optionalTime = optional(time);
const triggerRule = oneOf(JOB_TRIGGERS);
const sourceRule = oneOf(PLAN_SOURCES);
const attemptRule = number("a whole number from 1", (given) => Number.isSafeInteger(given) && given >= 1);
const endStatus = oneOf(JOB_END_STATUSES);
const duration = optional(number("a number from 0", (given) => given >= 0 && given < Infinity));
const exitCode = optional(number("a whole number", Number.isSafeInteger));

/** What a start says of itself, apart from what its log adds. */
function readStart(
  given: Fields,
  { id, started_at, work_item }: Pick<JobStart, "id" | "started_at" | "work_item">,
): JobStart {
  const start: JobStart = {
    id,
    agent: valueAt(given, "agent", text),
    schedule: valueAt(given, "schedule", optionalText),
    trigger: valueAt(given, "trigger", triggerRule),
    slot: valueAt(given, "slot", optionalTime),
    // An unknown source, of a newer version, must not lose the record.
    source: sourceRule.read(given["source"]) ?? null,
    attempt: given["attempt"] === undefined ? 1 : valueAt(given, "attempt", attemptRule),
    prompt: valueAt(given, "prompt", optionalText),
    work_item: work_item ?? null,
    started_at,
  };
  const { data, cause } = given;
  return data == null && cause == null ? start : { ...start, ...orderOf(asJson(data), cause) };
}

/** What a job was triggered with, in so far as there is something. */
function orderOf(data: unknown, cause: unknown): Pick<JobStart, "data" | "cause"> {
  return { ...(data == null ? {} : { data }), ...(typeof cause === "string" ? { cause } : {}) };
}

function readEnd(
  given: Fields,
  { finished_at, response_body, work_item }: Pick<JobEnd, "finished_at" | "response_body" | "work_item">,
): JobEnd {
  return {
    status: valueAt(given, "status", endStatus),
    finished_at,
    duration_ms: valueAt(given, "duration_ms", duration),
    error: valueAt(given, "error", optionalText),
    summary: valueAt(given, "summary", optionalText),
    exit_code: valueAt(given, "exit_code", exitCode),
    response_body: response_body ?? null,
    work_item: work_item ?? null,
  };
}

function valueAt<Value>(fields: Fields, key: string, rule: Rule<Value>): Value {
  const value = rule.read(fields[key]);
  if (value === undefined) throw invalidState(`${key} is ${quote(fields[key])}, expected ${rule.expected}`);
  return value;
}

/** Throws a StateError with code INVALID_STATE for what no log could read again. */
export function newStart(job: NewJob, id: string, startedAt: Date): JobStart {
  try {
    const work_item = asJson(job.work_item);
    return readStart(fieldsOf(job), { id, started_at: isoText(startedAt), work_item });
  } catch (error) {
    throw refused("start", error);
  }
}

/** Throws a StateError with code INVALID_STATE for what no log could read again. */
export function newEnd(outcome: JobOutcomeRecord, finishedAt: Date): JobEnd {
  try {
    const response_body = asJson(outcome.response_body);
    const work_item = asJson(outcome.work_item);
    return readEnd(fieldsOf(outcome), { finished_at: isoText(finishedAt), response_body, work_item });
  } catch (error) {
    throw refused("end", error);
  }
}

/** Whether a log can write the record as it is. Most are: they hold no object that the caller could change later. */
export function isPlainRecord(job: EndedJobRecord): boolean {
  const { attempt, duration_ms: ms, exit_code: code } = job;
  return (
    job.work_item === null &&
    job.response_body === null &&
    job.data === undefined &&
    job.cause === undefined &&
    typeof job.id === "string" &&
    isJobId(job.id) &&
    typeof job.agent === "string" &&
    isTextOrNull(job.schedule) &&
    isTextOrNull(job.prompt) &&
    isTextOrNull(job.error) &&
    isTextOrNull(job.summary) &&
    JOB_TRIGGERS.includes(job.trigger) &&
    JOB_END_STATUSES.includes(job.status) &&
    (job.source === null || PLAN_SOURCES.includes(job.source)) &&
    (job.slot === null || plainTimeMs(job.slot) !== undefined) &&
    plainTimeMs(job.started_at) !== undefined &&
    plainTimeMs(job.finished_at) !== undefined &&
    Number.isSafeInteger(attempt) &&
    attempt >= 1 &&
    (ms === null || (Number.isFinite(ms) && ms >= 0)) &&
    (code === null || Number.isSafeInteger(code))
  );
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

/** What a caller gave, not checked yet. */
function fieldsOf(given: unknown): Fields {
  if (isFields(given)) return given;
  throw invalidState(`it is ${quote(given)}, expected its keys and values`);
}

/** A start as a file has it; `undefined` where it is malformed. */
export function storedStart(value: unknown): JobStart | undefined {
  return stored(value, (fields) =>
    readStart(fields, {
      id: valueAt(fields, "id", jobId),
      started_at: valueAt(fields, "started_at", time),
      work_item: fields["work_item"],
    }),
  );
}

/** An end as a file has it; `undefined` where it is malformed. */
export function storedEnd(value: unknown): JobEnd | undefined {
  return stored(value, (fields) =>
    readEnd(fields, {
      finished_at: valueAt(fields, "finished_at", time),
      response_body: fields["response_body"],
      work_item: fields["work_item"],
    }),
  );
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
  const { id, agent, schedule, trigger, slot, source, attempt, prompt, work_item, started_at } = start;
  const { status, finished_at, duration_ms, error, summary, exit_code, response_body } = end ?? UNKNOWN_END;
  // One by one: an object made by two spreads is slow, and V8 gives it a separate shape.
  const record: JobRecord = {
    id,
    agent,
    schedule,
    trigger,
    slot,
    source,
    attempt,
    prompt,
    work_item: end?.work_item ?? work_item,
    started_at,
    status,
    finished_at,
    duration_ms,
    error,
    summary,
    exit_code,
    response_body,
  };
  const { data, cause } = start;
  return data === undefined && cause === undefined ? record : { ...record, ...orderOf(data, cause) };
}

export function isEnded(record: JobRecord): record is EndedJobRecord {
  return record.status !== "running" && record.finished_at !== null;
}

/** The instant a caller named, or the clock's. */
export function instantOr(named: string | undefined, now: Date): Date {
  if (named === undefined) return now;
  const ms = isoTimeMs(named);
  if (ms === undefined)
    throw invalidState(`Not the time of a job: ${quote(named)}, expected ${time.expected}.`);
  return new Date(ms);
}

/** Throws INVALID_STATE for a limit or a time that no log can filter by. */
export function checkFilter(filter: JobFilter): void {
  if (!isFields(filter)) throw invalidState(`Invalid filter ${quote(filter)}: expected an object`);
  const { limit = DEFAULT_LIST_LIMIT, since } = filter;
  if (typeof limit !== "number" || !(limit >= 0 && (limit === Infinity || Number.isInteger(limit))))
    throw invalidState(`Invalid limit ${quote(limit)}: expected a whole number from 0, or Infinity`);
  if (since !== undefined && !(since instanceof Date && !Number.isNaN(since.getTime())))
    throw invalidState(`Invalid since ${quote(since)}: expected a Date`);
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

function stored<Value>(value: unknown, read: (fields: Fields) => Value): Value | undefined {
  try {
    return isFields(value) ? read(value) : undefined;
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}

/** Through its text: the record is what will be read again, and the caller's objects stay the caller's. */
function asJson(value: unknown): unknown {
  if (value === undefined || value === null || typeof value === "string") return value;
  const json: string | undefined = JSON.stringify(value);
  return json === undefined ? undefined : JSON.parse(json);
}

function refused(part: string, cause: unknown): StateError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return invalidState(`Not the ${part} of a job: ${reason}.`, cause);
}

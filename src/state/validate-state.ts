/** Which values a schedule's state may hold; what comes from a file or a caller is checked here before it is trusted. */
import { type Fields, isFields, mergedFields } from "../fields.js";
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { invalidState } from "./errors.js";
import {
  JOB_END_STATUSES,
  JOB_TRIGGERS,
  PLAN_SOURCES,
  SCHEDULE_STATUSES,
  type ScheduleState,
  type ScheduleStatePatch,
  UNKNOWN_SCHEDULE,
} from "./schedule-state.js";
import type { AgentDefinition, Definitions, ScheduleKey } from "./store.js";

interface Rule {
  readonly expected: string;
  holds(value: unknown): boolean;
}

const text: Rule = { expected: "text", holds: (value) => typeof value === "string" };
const time: Rule = {
  expected: 'an ISO time such as "2026-03-01T09:00:00Z"',
  holds: (value) => isoTimeMs(value) !== undefined,
};
const count: Rule = {
  expected: "a whole number from 0",
  holds: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
};
const oneOf = (values: readonly string[]): Rule => ({
  expected: `one of ${values.join(", ")}`,
  holds: (value) => typeof value === "string" && values.includes(value),
});
const map = (rules: ReadonlyMap<string, Rule>, required: readonly string[]): Rule => ({
  expected: `a map with ${required.join(", ")}`,
  holds: (value) =>
    isFields(value) && problemIn(value, rules) === undefined && required.every((key) => value[key] != null),
});

const times: Rule = {
  expected: "a list of ISO times",
  holds: (value) => Array.isArray(value) && value.length > 0 && value.every((item) => time.holds(item)),
};

const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries({
    status: oneOf(SCHEDULE_STATUSES),
    last_run_at: time,
    last_started_at: time,
    last_completed_at: time,
    next_run_at: time,
    next_run_source: oneOf(PLAN_SOURCES),
    last_error: text,
    failure_count: count,
    failed_run: text,
    missed_count: count,
    last_missed_at: time,
    accounted_until: time,
    no_work_count: count,
    last_no_work_at: time,
    paused_until: time,
    hint: map(
      new Map(Object.entries({ interval: text, next_run_at: time, expires_at: time, reason: text })),
      ["expires_at"],
    ),
    backfill: map(new Map(Object.entries({ slots: times, total: count, failed: count, at: time })), [
      "slots",
      "total",
    ]),
    claim: map(
      new Map(
        Object.entries({
          token: text,
          job_id: text,
          slot: time,
          source: oneOf(PLAN_SOURCES),
          claimed_at: time,
        }),
      ),
      ["token", "job_id", "slot"],
    ),
    interrupted_count: count,
    abandoned_count: count,
    retry: map(
      new Map(
        Object.entries({
          slot: time,
          attempt: count,
          trigger: oneOf(JOB_TRIGGERS),
          source: oneOf(PLAN_SOURCES),
          failures: count,
          at: time,
          beside: time,
          job_id: text,
          work_item: text,
        }),
      ),
      ["slot", "attempt"],
    ),
    last_job: map(
      new Map(
        Object.entries({
          id: text,
          slot: time,
          trigger: oneOf(JOB_TRIGGERS),
          attempt: count,
          status: oneOf(JOB_END_STATUSES),
        }),
      ),
      ["id", "status"],
    ),
  } satisfies Record<keyof ScheduleState, Rule>),
);

/** A sentence about the first value that cannot be; `undefined` when all is well. Unknown keys are not judged. */
export function problemOf(fields: Fields): string | undefined {
  return problemIn(fields, RULES);
}

function problemIn(fields: Fields, rules: ReadonlyMap<string, Rule>): string | undefined {
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    const rule = rules.get(key);
    if (rule === undefined || value === null || value === undefined || rule.holds(value)) continue;
    return notExpected(key, value, rule);
  }
  return undefined;
}

function notExpected(key: string, value: unknown, { expected }: Rule): string {
  return `${key} is ${quote(value)}, expected ${expected}`;
}

/** A schedule's state as a file has it: keys may be missing, and unknown keys may be there. */
export type ScheduleFields = Fields & Partial<ScheduleState>;

/** The fields of every schedule that has none: one object, because there may be a hundred thousand of them. */
export const NO_FIELDS: ScheduleFields = Object.freeze({});

/** What is known, completed by what holds of a schedule that never ran. A file may have a status that says nothing. */
export function wholeState(known: Partial<ScheduleState>): ScheduleState {
  if (known === NO_FIELDS) return UNKNOWN_SCHEDULE;
  const { status, last_run_at, next_run_at, last_error } = UNKNOWN_SCHEDULE;
  const whole = mergedFields({ status, last_run_at, next_run_at, last_error }, known);
  return "status" in known && known.status == null ? { ...whole, status } : whole;
}

/** Whether `fields` can serve as a state; one without a status is idle. */
export function isScheduleFields(fields: Fields): fields is ScheduleFields {
  return problemOf(fields) === undefined;
}

/**
 * A copy of a caller's patch, which may change while it waits to be written. Throws a StateError that names the key:
 * a mistake must not reach the file.
 */
export function checkedPatch(patch: ScheduleStatePatch): ScheduleStatePatch {
  requirePatch(patch);
  const given: Fields = patch;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(given)) {
    const value = given[key];
    copy[key] = isFields(value) ? structuredClone(value) : value;
  }
  return copy;
}

/** As `checkedPatch`, for what is written at once and needs no copy. */
export function requirePatch(patch: ScheduleStatePatch): void {
  const given: unknown = patch;
  if (!isMap(given)) throw invalidState(`Invalid state: ${quote(given)} is not a map of keys and values.`);
  for (const key in given) {
    const problem = Object.hasOwn(given, key) ? problemOfChange(key, given[key]) : undefined;
    if (problem !== undefined) throw invalidState(`Invalid state: ${problem}.`);
  }
}

function problemOfChange(key: string, value: unknown): string | undefined {
  const rule = RULES.get(key);
  if (rule === undefined) return `${quote(key)} is not a key of a schedule's state`;
  if (value === null) return key === "status" ? "status cannot be cleared" : undefined;
  if (value === undefined) return undefined;
  if (!rule.holds(value)) return notExpected(key, value, rule);
  return isFields(value) ? problemOfValue(value) : undefined;
}

/** YAML refuses keys of more than 1024 characters. */
export const LONGEST_KEY = 1_000;
/** Escaping turns one character into at most six. */
const SURELY_A_KEY = LONGEST_KEY / 10;
/** Characters that JSON leaves as they are and YAML or a terminal may not. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** Text in JSON's notation, which YAML shares, with every unsafe character escaped. */
export function quotedText(plain: string): string {
  return JSON.stringify(plain).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Whether a key can be written and read back. */
export function isKey(key: string): boolean {
  return key.length <= SURELY_A_KEY || quotedText(key).length - QUOTES <= LONGEST_KEY;
}

const QUOTES = 2;

const SCALARS = new Set(["string", "number", "boolean", "bigint", "undefined"]);
const DEEPEST = 40;

/** A sentence about the first part of a value that cannot be written and read back; `undefined` for a valid value. */
export function problemOfValue(value: unknown, depth = 0): string | undefined {
  if (value === null || SCALARS.has(typeof value)) return undefined;
  // What holds itself has no end.
  if (depth > DEEPEST) return `it has more than ${DEEPEST} levels`;
  if (Array.isArray(value)) return firstProblem(value, depth);
  if (!isMap(value))
    return `${typeof value === "object" ? quote(value) : `a ${typeof value}`} is neither text, a number, a list nor a map`;
  const long = Object.keys(value).find((key) => !isKey(key));
  return long === undefined
    ? firstProblem(Object.values(value), depth)
    : `the key ${quote(long)} is too long`;
}

function firstProblem(values: readonly unknown[], depth: number): string | undefined {
  for (const value of values) {
    const problem = problemOfValue(value, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Whether a value is keys and values, and nothing else: dates, maps and sets have other tags. */
export function isMap(value: unknown): value is Fields {
  return isFields(value) && Object.prototype.toString.call(value) === "[object Object]";
}

/** As a key of YAML, with room for escapes that make six characters of one. */
export const LONGEST_NAME: number = 128;

export function checkKey({ agent, schedule }: ScheduleKey): void {
  checkName("agent", agent);
  checkName("schedule", schedule);
}

export function checkDefinitions({ agents = [], schedules }: Definitions): void {
  for (const agent of agents) checkAgent(agent);
  for (const schedule of schedules) checkKey(schedule);
}

function checkAgent({ agent, maxConcurrent = 1 }: AgentDefinition): void {
  checkName("agent", agent);
  if (Number.isSafeInteger(maxConcurrent) && maxConcurrent >= 1) return;
  throw invalidState(`Invalid maxConcurrent ${quote(maxConcurrent)}: expected a whole number from 1.`);
}

/** Agents and schedules may have any name that a file can hold and give back. */
export function checkName(kind: "agent" | "schedule", name: string): void {
  if (isName(name)) return;
  throw invalidState(
    `Invalid ${kind} name ${quote(name)}: expected 1 to ${LONGEST_NAME} characters without half a surrogate pair.`,
  );
}

export function isName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= LONGEST_NAME && isWellFormed(name);
}

/** `isWellFormed` of newer text standards. */
function isWellFormed(name: string): boolean {
  return !/\p{Surrogate}/u.test(name);
}

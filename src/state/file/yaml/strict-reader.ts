/**
 * Reads exactly the text that `state-document` writes, many times faster than a YAML parser could.
 * Anything else it declines by answering `undefined`: the YAML reader then decides what it means.
 */
import type { Fields } from "../../../fields.js";
import { LONGEST_KEY, problemOfValue } from "../../validate-state.js";
import { CERTAIN_TIME } from "../../../iso-time.js";
import { isScheduleFields, type ScheduleFields } from "../../validate-state.js";
import {
  JOB_END_STATUSES,
  JOB_TRIGGERS,
  PLAN_SOURCES,
  SCHEDULE_KEYS,
  SCHEDULE_STATUSES,
} from "../../schedule-state.js";
import {
  type AgentFields,
  LONGEST_RESERVED,
  PLAIN_TEXT,
  renderInline,
  RESERVED_WORD,
} from "./state-document.js";

/**
 * The agent that a text describes, or a part of it; `undefined` when one character or value of it is not as we write
 * it. What the agent says are parts of the text, and keep it in memory.
 */
export function readAgentStrictly(
  text: string,
  from = 0,
  end: number = text.length,
): AgentFields<ScheduleFields> | undefined {
  return readWhole({ text, at: from, end }, (cursor) => {
    if (!startsLine(cursor, 2)) throw DECLINED;
    const name = readKey(cursor, 2);
    let schedules: ReadonlyMap<string, ScheduleFields> = new Map<string, ScheduleFields>();
    if (!endsLine(cursor)) {
      if (readRest(cursor) !== "{}") throw DECLINED;
      return { name, other: {}, schedules };
    }
    const other = readMap(cursor, 4, () => {
      schedules = readSchedules(cursor);
    });
    return { name, other, schedules };
  });
}

/** The name with which the text of an agent begins. */
export function readNameStrictly(text: string): string | undefined {
  const cursor: Cursor = { text, at: 0, end: text.length };
  return declinable(() => (startsLine(cursor, 2) ? readKey(cursor, 2) : undefined));
}

/** The keys of a map that stands at the left margin. */
export function readFieldsStrictly(text: string): Fields | undefined {
  const whole: Cursor = { text, at: 0, end: text.length };
  return readWhole(whole, (cursor) => (text === "" ? {} : readMap(cursor, 0)));
}

/** Thrown to leave the reader at once; never leaves the module. */
const DECLINED = new Error("declined");

interface Cursor {
  readonly text: string;
  /** What was read so far. */
  at: number;
  /** Where reading ends. */
  readonly end: number;
}

function readWhole<T>(cursor: Cursor, read: (cursor: Cursor) => T): T | undefined {
  const result = declinable(() => read(cursor));
  return cursor.at === cursor.end ? result : undefined;
}

function declinable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error === DECLINED) return undefined;
    throw error;
  }
}

/** Deeper maps could exhaust the stack. */
const DEEPEST = 100;
const SPACE = 32;
const QUOTE = 34;
const COLON = 58;
const BRACKET = 91;
const NEWLINE = 10;

/** Whether a line begins here that is indented by exactly so much. */
function startsLine({ text, at, end }: Cursor, indent: number): boolean {
  if (at + indent >= end) return false;
  for (let place = at; place < at + indent; place++) if (text.charCodeAt(place) !== SPACE) return false;
  return text.charCodeAt(at + indent) !== SPACE;
}

/** Whether nothing follows on this line; then the cursor is at the next. */
function endsLine(cursor: Cursor): boolean {
  if (cursor.text.charCodeAt(cursor.at) !== NEWLINE) return false;
  cursor.at++;
  return true;
}

/** The key of a line whose indentation is known. The cursor is behind its colon then. */
function readKey(cursor: Cursor, indent: number): string {
  const { text } = cursor;
  const from = cursor.at + indent;
  const colon = text.charCodeAt(from) === QUOTE ? endOfQuoted(text, from) : text.indexOf(":", from);
  if (text.charCodeAt(colon) !== COLON || colon - from > LONGEST_KEY) throw DECLINED;
  const key = readScalar(text, from, colon);
  if (typeof key !== "string") throw DECLINED;
  cursor.at = colon + 1;
  return key;
}

/** Where a quoted text that begins at `from` is over. */
function endOfQuoted(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** What follows a colon and a space. The cursor is at the next line then. */
function readValue(cursor: Cursor): unknown {
  const { text, at } = cursor;
  const end = text.indexOf("\n", at);
  if (end < 0 || text.charCodeAt(at) !== SPACE) throw DECLINED;
  cursor.at = end + 1;
  return readScalar(text, at + 1, end);
}

function readRest(cursor: Cursor): string {
  const { text, at } = cursor;
  const end = text.indexOf("\n", at);
  if (end < 0 || text.charCodeAt(at) !== SPACE) throw DECLINED;
  cursor.at = end + 1;
  return text.slice(at + 1, end);
}

/** The keys at exactly this indentation, up to a line further out; `onSchedules` reads what `schedules` holds. */
function readMap(cursor: Cursor, indent: number, onSchedules?: () => void): Fields {
  // A key with nothing after it and nothing below it is not how we write.
  if (!startsLine(cursor, indent) || indent > DEEPEST) throw DECLINED;
  const fields: Record<string, unknown> = {};
  let hasSchedules = false;
  while (startsLine(cursor, indent)) {
    const key = readKey(cursor, indent);
    if (onSchedules !== undefined && key === "schedules") {
      if (hasSchedules || !endsLine(cursor)) throw DECLINED;
      hasSchedules = true;
      onSchedules();
      continue;
    }
    // Also true for what every object inherits, such as `__proto__`: the YAML reader takes more care.
    if (fields[key] !== undefined) throw DECLINED;
    fields[key] = endsLine(cursor) ? readMap(cursor, indent + 2) : readValue(cursor);
  }
  return fields;
}

function readSchedules(cursor: Cursor): Map<string, ScheduleFields> {
  if (!startsLine(cursor, 6)) throw DECLINED;
  const schedules = new Map<string, ScheduleFields>();
  while (startsLine(cursor, 6)) {
    const name = readKey(cursor, 6);
    if (schedules.has(name)) throw DECLINED;
    if (endsLine(cursor)) schedules.set(name, readSchedule(cursor));
    else if (readRest(cursor) === "{}") schedules.set(name, {});
    else throw DECLINED;
  }
  return schedules;
}

function readSchedule(cursor: Cursor): ScheduleFields {
  const common = readCommonSchedule(cursor);
  if (common !== undefined) return common;
  const fields = readMap(cursor, 8);
  if (!isScheduleFields(fields)) throw DECLINED;
  return fields;
}

const COUNT = "0|[1-9]\\d{0,14}";
/** The keys that most schedules consist of, and what they say when nothing is left to check. */
const COMMON_VALUES = new Map<string, string>([
  ["status", SCHEDULE_STATUSES.join("|")],
  ["last_run_at", CERTAIN_TIME],
  ["last_started_at", CERTAIN_TIME],
  ["last_completed_at", CERTAIN_TIME],
  ["next_run_at", CERTAIN_TIME],
  ["next_run_source", PLAN_SOURCES.join("|")],
  ["failure_count", COUNT],
  ["interrupted_count", COUNT],
  ["abandoned_count", COUNT],
  ["missed_count", COUNT],
  ["last_missed_at", CERTAIN_TIME],
  ["accounted_until", CERTAIN_TIME],
  ["no_work_count", COUNT],
  ["paused_until", CERTAIN_TIME],
]);
const COMMON_KEYS = SCHEDULE_KEYS.filter((key) => COMMON_VALUES.has(key));
const LAST_JOB_VALUES = new Map<string, string>([
  ["id", "job-[-0-9a-z]{1,40}"],
  ["slot", CERTAIN_TIME],
  ["trigger", JOB_TRIGGERS.join("|")],
  ["attempt", COUNT],
  ["status", JOB_END_STATUSES.join("|")],
]);
const LAST_JOB_KEYS = [...LAST_JOB_VALUES.keys()];
const LAST_JOB = Array.from(LAST_JOB_VALUES, ([key, value]) => ` {10}${key}: (${value})\n`).join("");
/** Common keys in the order in which they are written, then the last job, and nothing more. */
const COMMON_SCHEDULE = new RegExp(
  COMMON_KEYS.map((key) => `(?: {8}${key}: (${COMMON_VALUES.get(key)})\n)?`)
    .concat(`(?: {8}last_job:\n${LAST_JOB})?(?! {8})`)
    .join(""),
  "y",
);

/** Most schedules, read at one go, which takes a third of the time; `undefined` for one that needs a closer look. */
function readCommonSchedule(cursor: Cursor): ScheduleFields | undefined {
  COMMON_SCHEDULE.lastIndex = cursor.at;
  const match = COMMON_SCHEDULE.exec(cursor.text);
  if (match === null || match[0] === "") return undefined;
  cursor.at += match[0].length;
  const fields: Record<string, unknown> = {};
  for (const [index, key] of COMMON_KEYS.entries()) {
    const value = match[index + 1];
    if (value !== undefined) fields[key] = COMMON_VALUES.get(key) === COUNT ? Number(value) : value;
  }
  const job = match.slice(COMMON_KEYS.length + 1);
  if (job[0] !== undefined)
    fields["last_job"] = Object.fromEntries(
      LAST_JOB_KEYS.map((key, index) => [key, key === "attempt" ? Number(job[index]) : job[index]]),
    );
  return fields;
}

const WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,14})$/;

function readScalar(text: string, from: number, end: number): unknown {
  const scalar = text.slice(from, end);
  if (PLAIN_TEXT.test(scalar)) return scalar.length > LONGEST_RESERVED ? scalar : readWord(scalar);
  if (text.charCodeAt(from) === QUOTE) return readQuoted(scalar);
  if (WHOLE_NUMBER.test(scalar)) return Number(scalar);
  if (scalar === "{}") return {};
  const value = text.charCodeAt(from) === BRACKET ? readJson(scalar) : Number(scalar);
  // Lists and other numbers have many notations: only ours is sure to mean the same to every reader.
  if (problemOfValue(value) === undefined && renderInline(value) === scalar) return value;
  throw DECLINED;
}

function readWord(text: string): string | boolean | null {
  if (!RESERVED_WORD.test(text)) return text;
  if (text === "null") return null;
  if (text === "true" || text === "false") return text === "true";
  throw DECLINED;
}

function readQuoted(text: string): string {
  const value = readJson(text);
  // JSON would let white space follow.
  if (typeof value === "string" && text.endsWith('"')) return value;
  throw DECLINED;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw DECLINED;
  }
}

/**
 * The state file's text: YAML a person can read and edit, in one fixed layout that `strict-reader` reads back.
 * One agent is one chunk of text, rendered alone, so that a change costs one chunk.
 */
import { SCHEDULE_KEYS } from "../schedule-state.js";

/** What a map of the file holds, by key; values are whatever YAML can say. */
export type Fields = Readonly<Record<string, unknown>>;

/** An agent as the file has it: its schedules, and all its other keys as they stand. */
export interface AgentFields<Schedule = Fields> {
  readonly name: string;
  readonly other: Fields;
  readonly schedules: ReadonlyMap<string, Schedule>;
}

/** Read as text by every YAML version without quotes: a word, an interval, a time. */
export const PLAIN_TEXT: RegExp =
  /^(?:[A-Za-z_][\w./-]*|\d+[smhd]|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))$/;
/** Words that some YAML version takes for something else than text. */
export const RESERVED_WORD: RegExp = /^(?:null|true|false|yes|no|on|off|y|n)$/i;
/** Characters that JSON leaves as they are and YAML or a terminal may not. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** The chunk of one agent. */
export function renderAgent({ name, other, schedules }: AgentFields): string {
  const fields = renderFields(other, "    ");
  if (schedules.size === 0)
    return fields === "" ? `  ${renderKey(name)}: {}\n` : `  ${renderKey(name)}:\n${fields}`;
  let text = `  ${renderKey(name)}:\n${fields}    schedules:\n`;
  for (const [schedule, state] of schedules) {
    const lines = renderFields(inOrder(state), "        ");
    text += `      ${renderKey(schedule)}:${lines === "" ? " {}\n" : `\n${lines}`}`;
  }
  return text;
}

function inOrder(state: Fields): Fields {
  const ordered: Record<string, unknown> = {};
  for (const key of SCHEDULE_KEYS) if (state[key] !== undefined) ordered[key] = state[key];
  return { ...ordered, ...state };
}

/** The lines of a map, one key each, and a map within a map two spaces further in. */
export function renderFields(fields: Fields, indent: string): string {
  let text = "";
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const nested = isFields(value) ? renderFields(value, `${indent}  `) : "";
    text += `${indent}${renderKey(key)}:${nested === "" ? ` ${renderInline(value)}\n` : `\n${nested}`}`;
  }
  return text;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** YAML refuses keys of more than 1024 characters. */
export const LONGEST_KEY = 1_000;

/** Whether a key can be written and read back. */
export function isKey(key: string): boolean {
  return renderKey(key).length <= LONGEST_KEY;
}

function renderKey(key: string): string {
  return isPlain(key) ? key : renderQuoted(key);
}

/** A value on one line. */
export function renderInline(value: unknown): string {
  if (typeof value === "string") return isPlain(value) ? value : renderQuoted(value);
  if (typeof value === "number") return renderNumber(value);
  if (Array.isArray(value)) return `[${Array.from(value, renderFlow).join(", ")}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{${entries.map(([key, inner]) => `${renderQuoted(key)}: ${renderFlow(inner)}`).join(", ")}}`;
  }
  return String(value);
}

/** Within brackets a comma ends plain text, so all text is quoted there. */
function renderFlow(value: unknown): string {
  return typeof value === "string" ? renderQuoted(value) : renderInline(value ?? null);
}

function isPlain(text: string): boolean {
  return PLAIN_TEXT.test(text) && !RESERVED_WORD.test(text);
}

/** JSON's notation for text, which YAML shares. */
function renderQuoted(text: string): string {
  return JSON.stringify(text).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function renderNumber(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  if (!Number.isFinite(value)) return value > 0 ? ".inf" : "-.inf";
  if (Object.is(value, -0)) return "-0.0";
  // Otherwise the last digits of a large one would be rounded to zeros.
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(BigInt(value)) : String(value);
}

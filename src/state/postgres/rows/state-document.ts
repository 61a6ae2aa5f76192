/**
 * The text of a state in its row. Frequent keys are one letter and their times are numbers, because the text is copied by
 * every claim and every end of a job. Texts are checked when they are read: other programs may write to the table too.
 */
import { isFields } from "../../../fields.js";
import { isoText, plainTimeDigits } from "../../../iso-time.js";
import { isScheduleFields, NO_FIELDS, type ScheduleFields } from "../../validate-state.js";
import { PLAN_SOURCES, SCHEDULE_STATUSES } from "../../schedule-state.js";
import { DOCUMENT_END } from "./column-text.js";

/** Writes and reads a frequent key. A value for which `write` returns `undefined` is written under its full name. */
interface ShortKey {
  readonly letter: string;
  /** The text before the value. */
  readonly prefix: string;
  write(value: unknown): string | undefined;
  read(written: unknown): unknown;
}

const beginning = (letter: string): Pick<ShortKey, "letter" | "prefix"> => ({
  letter,
  prefix: `"${letter}":`,
});
const wordOf = (letter: string, words: readonly string[]): ShortKey => {
  const known: ReadonlyMap<unknown, string> = new Map(words.map((word) => [word, `"${word}"`]));
  return {
    ...beginning(letter),
    write: (value) => known.get(value),
    read: (written) => (known.has(written) ? written : undefined),
  };
};
/** The first and the last moment with a year of four digits. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000, 253_402_300_799_999];
const timeOf = (letter: string): ShortKey => ({
  ...beginning(letter),
  write: plainTimeDigits,
  read: (written) =>
    typeof written === "number" && written >= FIRST_MS && written <= LAST_MS && Number.isInteger(written)
      ? isoText(written)
      : undefined,
});
const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const countOf = (letter: string): ShortKey => ({
  ...beginning(letter),
  write: (value) => (isCount(value) ? value.toString() : undefined),
  read: (written) => (isCount(written) ? written : undefined),
});

const SHORT_KEYS: ReadonlyMap<string, ShortKey> = new Map(
  Object.entries({
    status: wordOf("t", SCHEDULE_STATUSES),
    last_run_at: timeOf("r"),
    last_started_at: timeOf("s"),
    last_completed_at: timeOf("c"),
    next_run_at: timeOf("n"),
    next_run_source: wordOf("w", PLAN_SOURCES),
    failure_count: countOf("f"),
  }),
);
const LONG_KEYS: ReadonlyMap<string, readonly [name: string, key: ShortKey]> = new Map(
  Array.from(SHORT_KEYS, ([name, key]) => [key.letter, [name, key]]),
);
/** Written when only `last_run_at` is set. Without it both keys have the same time. */
const NEVER_STARTED = '"s":null';

/** The text of a state, without its claim, which has columns, and without the default status `idle`. */
export function documentText(state: ScheduleFields): string {
  const fields: string[] = [];
  for (const name of Object.keys(state)) {
    const value = state[name];
    const key = SHORT_KEYS.get(name);
    if (value === undefined || (value === null && key !== undefined) || name === "claim") continue;
    if (name === "status" && (value === "idle" || (value === "running" && state.claim != null))) continue;
    if (name === "last_started_at" && value === state.last_run_at) continue;
    const written = key?.write(value);
    if (key === undefined || written === undefined)
      fields.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    else fields.push(key.prefix + written);
  }
  if (state.last_started_at == null && state.last_run_at != null) fields.push(NEVER_STARTED);
  return `{${fields.join(",")}}`;
}

/** The texts of many states as lines; a single line when all are the same. */
export class SharedDocuments {
  #last: ScheduleFields | undefined;
  #text = "";
  #areSame = true;
  readonly #lines: string[] = [];

  /** Jobs that end together leave the same state, so that most texts are that of the state before. */
  add(state: ScheduleFields): void {
    if (this.#last === undefined || !areSame(this.#last, state)) {
      this.#areSame = this.#last === undefined;
      this.#last = state;
      this.#text = documentText(state);
    }
    this.#lines.push(this.#text);
  }

  get lines(): string {
    return this.#areSame ? this.#text : this.#lines.join("\n");
  }
}

/** Whether both have the same keys and values; two objects always differ. */
function areSame(one: ScheduleFields, other: ScheduleFields): boolean {
  let count = 0;
  for (const key in one) {
    const value = one[key];
    if (value !== other[key] || (value === undefined && !Object.hasOwn(other, key))) return false;
    count++;
  }
  for (const _ in other) count--;
  return count === 0;
}

/** Parses the text of a state. A damaged text resets this one schedule; its claim is in columns and stays valid. */
export function documentOf(text: unknown): ScheduleFields {
  return typeof text === "string" ? stateOf(parsed(text)) : NO_FIELDS;
}

/** Parses `count` documents that were sent as one text, with one call of JSON.parse. */
export function documentsOf(texts: unknown, count: number): readonly ScheduleFields[] {
  if (typeof texts !== "string") return [];
  const all = parsed(`[${texts.replaceAll(DOCUMENT_END, ",")}]`);
  // A damaged document, even if it parses as two, must not harm its neighbours.
  const isWhole = Array.isArray(all) && all.length === count;
  return isWhole ? all.map(stateOf) : texts.split(DOCUMENT_END).map(documentOf);
}

function stateOf(document: unknown): ScheduleFields {
  if (!isFields(document)) return NO_FIELDS;
  const state: Record<string, unknown> = { status: "idle" };
  let isShort = true;
  for (const letter of Object.keys(document)) {
    const [name, key] = LONG_KEYS.get(letter) ?? [];
    const value = document[letter];
    if (name === undefined || key === undefined) {
      isShort = false;
      // Defined, not assigned: the key may be `__proto__`.
      Object.defineProperty(state, letter, { value, enumerable: true, writable: true, configurable: true });
    } else if (value !== null) {
      state[name] = key.read(value);
      if (state[name] === undefined) return NO_FIELDS;
    }
  }
  if (!("s" in document) && !("last_started_at" in document) && "last_run_at" in state)
    state["last_started_at"] = state["last_run_at"];
  return isShort || isScheduleFields(state) ? state : NO_FIELDS;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

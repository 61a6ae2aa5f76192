/** Which values a state can hold: plain data, with keys that are short enough for YAML. */
import { type Fields, isFields } from "../fields.js";
import { quote } from "../errors.js";

/** YAML refuses keys of more than 1024 characters. */
export const LONGEST_KEY = 1_000;
/** Escaping turns one character into at most six. */
const SURELY_A_KEY = LONGEST_KEY / 10;
/** Characters that JSON leaves as they are and YAML or a terminal may not. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** Text in JSON's notation, which YAML shares, with every unsafe character escaped. */
export function quotedText(text: string): string {
  return JSON.stringify(text).replace(
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

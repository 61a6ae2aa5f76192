/** Which values the state file can hold: what is neither data nor short enough could not be read back. */
import { type Fields, isFields } from "../fields.js";
import { quote } from "../errors.js";
import { isKey } from "./file/yaml/state-text.js";

const SCALARS = new Set(["string", "number", "boolean", "bigint", "undefined"]);
const DEEPEST = 40;

/** A sentence about the first part of a value that no file could give back; `undefined` when there is none. */
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

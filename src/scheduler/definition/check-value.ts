/**
 * Checks a value by its schema, and says of each fault where it is, what was expected and what the author probably meant.
 * Never shows a value that comes from the environment. Pure.
 */
import type * as z from "zod/mini";
import { closest } from "../../closest.js";
import { quote } from "../../errors.js";
import { type Fields, isFields } from "../../fields.js";
import { type Fault, lastKey, type Path, type ValueOrigin } from "./fault.js";
import type { Schema } from "./schema/fields.js";

/** A value, and where it is. */
export interface Subject {
  readonly value: unknown;
  readonly path: Path;
  /** `undefined` for an object that a program made. */
  readonly origin: ValueOrigin | undefined;
}

export type SchemaIssue = z.core.$ZodIssue;

/** A fault, with its path from the subject. */
interface Found {
  readonly path: Path;
  readonly fault: Fault;
}

export function checkValue(schema: Schema, subject: Subject): readonly Fault[] {
  const found = issuesOf(schema, subject.value).flatMap((issue) => explain(issue, subject));
  // A misspelt key is reported as unknown, not as missing too.
  const meant = new Set(
    found.flatMap(({ fault: { suggestion }, path }) =>
      suggestion === undefined ? [] : [keyOf([...path.slice(0, -1), suggestion])],
    ),
  );
  return found
    .filter(({ fault, path }) => fault.code !== "MISSING_KEY" || !meant.has(keyOf(path)))
    .map(({ fault }) => fault);
}

export function issuesOf(schema: Schema, value: unknown): readonly SchemaIssue[] {
  return schema.safeParse(value).error?.issues ?? [];
}

/** The fault of a part that its owner rejects with `sentence`, which is not shown where it may quote a secret. */
export function rejection(subject: Subject, path: Path, sentence: string, expected: string): Fault {
  const whole = [...subject.path, ...path];
  const message = isInterpolated(subject, path) ? hidden(subject, path, expected) : sentence;
  return { code: "INVALID_VALUE", message, path: whole, expected, given: given(subject, path) };
}

function explain(issue: SchemaIssue, subject: Subject): readonly Found[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      path: [...path, key],
      fault: unknownKey(subject, path, key, issue.message.split(" ")),
    }));
  const value = valueAt(subject, path);
  const isScalar = typeof value !== "object" || value === null;
  if (isScalar && subject.origin?.hasProblem(path) === true) return [];
  return [
    { path, fault: value === undefined ? missing(issue, subject, path) : invalid(issue, subject, path) },
  ];
}

/** Names that other schedulers have for a key. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["args", "command"],
  ["cmd", "command"],
  ["concurrency", "max_concurrent"],
  ["every", "interval"],
  ["schedule", "schedules"],
  ["time_zone", "timezone"],
  ["tz", "timezone"],
  ["zone", "timezone"],
]);

function unknownKey(subject: Subject, path: Path, key: string, known: readonly string[]): Fault {
  const holder = valueAt(subject, path);
  const free = known.filter((name) => !isFields(holder) || !Object.hasOwn(holder, name));
  const synonym = SYNONYMS.get(key.toLowerCase());
  const meant = synonym !== undefined && known.includes(synonym) ? synonym : undefined;
  const suggestion = meant ?? closest(key, free) ?? closest(key, known);
  const expected =
    suggestion === undefined ? `expected ${known.join(", ")}` : `did you mean ${quote(suggestion)}?`;
  const message = `Unknown key ${quote(key)}: ${expected}`;
  const whole = [...subject.path, ...path, key];
  return {
    code: "UNKNOWN_KEY",
    message,
    path: whole,
    given: quote(key),
    expected: known.join(", "),
    suggestion,
  };
}

function missing(issue: SchemaIssue, subject: Subject, path: Path): Fault {
  const expected = expectedOf(issue);
  const whole = [...subject.path, ...path];
  return {
    code: "MISSING_KEY",
    message: `Missing ${lastKey(whole)}: expected ${expected}`,
    path: whole,
    expected,
  };
}

function invalid(issue: SchemaIssue, subject: Subject, path: Path): Fault {
  const expected = expectedOf(issue);
  const whole = [...subject.path, ...path];
  const value = valueAt(subject, path);
  const isType = issue.code === "invalid_union";
  const known = isType ? optionsOf(issue) : issue.code === "invalid_value" ? issue.values.map(String) : [];
  const mayBeSecret = isInterpolated(subject, path);
  const isSecret = parametersOf(issue).isSecret === true;
  const suggestion = typeof value === "string" && !mayBeSecret ? closest(value, known) : undefined;
  const what = `${isType ? "Unknown" : "Invalid"} ${lastKey(whole)}`;
  const plain = `${what}${isSecret ? "" : ` ${shown(value)}`}: expected ${expected}`;
  const sentence =
    sentenceOf(issue) ?? (suggestion === undefined ? plain : `${plain}; did you mean ${quote(suggestion)}?`);
  return {
    code: isType ? "UNKNOWN_TYPE" : "INVALID_VALUE",
    message: mayBeSecret ? hidden(subject, path, expected) : sentence,
    path: whole,
    given: isSecret ? undefined : given(subject, path),
    expected,
    suggestion,
    isSecret,
  };
}

function hidden(subject: Subject, path: Path, expected: string): string {
  const text = subject.origin?.writtenText(path);
  const written = text === undefined ? 'with "${…}" in it' : quote(text);
  const key = lastKey([...subject.path, ...path]);
  return `Invalid ${key} ${written}: expected ${expected} (values from the environment are not shown)`;
}

function given(subject: Subject, path: Path): string {
  const text = subject.origin?.writtenText(path);
  return text === undefined ? shown(valueAt(subject, path)) : quote(text);
}

function isInterpolated({ origin }: Subject, path: Path): boolean {
  return origin?.isInterpolated(path) === true;
}

/** The value as a message about a YAML file names it. */
export function shown(value: unknown): string {
  if (value === null) return "without a value";
  if (Array.isArray(value)) return "with a list";
  if (typeof value === "object") return "with a map";
  return typeof value === "function" ? "with a function" : quote(value);
}

interface OwnParameters {
  readonly expected?: unknown;
  readonly sentence?: unknown;
  readonly isSecret?: unknown;
}

function parametersOf(issue: SchemaIssue): OwnParameters {
  return issue.code === "custom" ? (issue.params ?? {}) : {};
}

function sentenceOf(issue: SchemaIssue): string | undefined {
  const { sentence } = parametersOf(issue);
  return typeof sentence === "string" ? sentence : undefined;
}

function expectedOf(issue: SchemaIssue): string {
  const { expected } = parametersOf(issue);
  return typeof expected === "string" ? expected : issue.message;
}

function optionsOf(issue: SchemaIssue): readonly string[] {
  const options: unknown = "options" in issue ? issue.options : [];
  return Array.isArray(options) ? options.map(String) : [];
}

export function valueAt(subject: Subject, path: Path): unknown {
  let value: unknown = subject.value;
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isFields(value) ? ownValue(value, String(step)) : undefined;
  }
  return value;
}

function ownValue(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

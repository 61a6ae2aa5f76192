/**
 * Holds a value against its schema, and says of each thing that is wrong what it is, where, what was expected, and what
 * was probably meant. What the environment has put into a value is not shown. Pure.
 */
import type * as z from "zod/mini";
import { quote } from "../../errors.js";
import { type Fields, isFields } from "../../fields.js";
import { closest } from "../../closest.js";
import {
  find,
  isInterpolated,
  type Located,
  type Path,
  placeOfKey,
} from "../../config/yaml/located-value.js";
import { lastKey } from "./problem-path.js";
import type { Fault } from "../../config/problem-list.js";
import type { Schema } from "./schema/fields.js";

/** A value, where it stands, and what leads there. */
export interface Subject {
  readonly value: unknown;
  /** `undefined` for an object that nobody wrote into a file. */
  readonly tree: Located | undefined;
  readonly path: Path;
}

export type Issue = z.core.$ZodIssue;

/** A fault, with its path from the subject. */
interface Found {
  readonly path: Path;
  readonly fault: Fault;
}

export function checkValue(schema: Schema, subject: Subject): readonly Fault[] {
  const found = issuesOf(schema, subject.value).flatMap((issue) => explain(issue, subject));
  // Whoever has misspelt a key is not told that it is missing as well.
  const meant = new Set(
    found.flatMap(({ fault: { suggestion }, path }) =>
      suggestion === undefined ? [] : [keyOf([...path.slice(0, -1), suggestion])],
    ),
  );
  return found
    .filter(({ fault, path }) => fault.code !== "MISSING_KEY" || !meant.has(keyOf(path)))
    .map(({ fault }) => fault);
}

export function issuesOf(schema: Schema, value: unknown): readonly Issue[] {
  return schema.safeParse(value).error?.issues ?? [];
}

/** The fault that another layer's check finds with a part of the subject; it is not quoted where it may show a secret. */
export function refusal(subject: Subject, path: Path, sentence: string, expected: string): Fault {
  const whole = [...subject.path, ...path];
  const { node, place } = placed(subject, path);
  const message = node !== undefined && isInterpolated(node) ? hidden(whole, node, expected) : sentence;
  const value = valueAt(subject, path);
  return { code: "INVALID_VALUE", message, path: whole, place, expected, given: given(node, value) };
}

function explain(issue: Issue, subject: Subject): readonly Found[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      path: [...path, key],
      fault: unknownKey(subject, path, key, issue.message.split(" ")),
    }));
  const { node } = placed(subject, path);
  if (node?.kind === "scalar" && node.isBroken === true) return [];
  const value = valueAt(subject, path);
  return [
    { path, fault: value === undefined ? missing(issue, subject, path) : invalid(issue, subject, path) },
  ];
}

function unknownKey(subject: Subject, path: Path, key: string, known: readonly string[]): Fault {
  const holder = valueAt(subject, path);
  const free = known.filter((name) => !isFields(holder) || !Object.hasOwn(holder, name));
  const suggestion = closest(key, free) ?? closest(key, known);
  const expected =
    suggestion === undefined ? `expected ${known.join(", ")}` : `did you mean ${quote(suggestion)}?`;
  const place = subject.tree === undefined ? undefined : placeOfKey(subject.tree, path, key);
  const message = `Unknown key ${quote(key)}: ${expected}`;
  const whole = [...subject.path, ...path, key];
  return {
    code: "UNKNOWN_KEY",
    message,
    path: whole,
    place,
    given: quote(key),
    expected: known.join(", "),
    suggestion,
  };
}

function missing(issue: Issue, subject: Subject, path: Path): Fault {
  const expected = expectedOf(issue);
  const whole = [...subject.path, ...path];
  const { place } = placed(subject, path);
  return {
    code: "MISSING_KEY",
    message: `Missing ${lastKey(whole)}: expected ${expected}`,
    path: whole,
    place,
    expected,
  };
}

function invalid(issue: Issue, subject: Subject, path: Path): Fault {
  const expected = expectedOf(issue);
  const whole = [...subject.path, ...path];
  const { node, place } = placed(subject, path);
  const value = valueAt(subject, path);
  const isType = issue.code === "invalid_union";
  const known = isType ? optionsOf(issue) : issue.code === "invalid_value" ? issue.values.map(String) : [];
  const isFilled = node !== undefined && isInterpolated(node);
  const isSecret = parametersOf(issue).isSecret === true;
  const suggestion = typeof value === "string" && !isFilled ? closest(value, known) : undefined;
  const what = `${isType ? "Unknown" : "Invalid"} ${lastKey(whole)}`;
  const plain = `${what}${isSecret ? "" : ` ${shown(value)}`}: expected ${expected}`;
  const sentence =
    sentenceOf(issue) ?? (suggestion === undefined ? plain : `${plain}; did you mean ${quote(suggestion)}?`);
  return {
    code: isType ? "UNKNOWN_TYPE" : "INVALID_VALUE",
    message: isFilled ? hidden(whole, node, expected) : sentence,
    path: whole,
    place,
    given: isSecret ? undefined : given(node, value),
    expected,
    suggestion,
    isSecret,
  };
}

function hidden(path: Path, node: Located, expected: string): string {
  const written = node.kind === "scalar" ? quote(node.written) : 'with "${…}" in it';
  return `Invalid ${lastKey(path)} ${written}: expected ${expected} (what comes from the environment is not shown)`;
}

function given(node: Located | undefined, value: unknown): string {
  return node?.kind === "scalar" && node.written !== undefined ? quote(node.written) : shown(value);
}

/** As people who write YAML call it. */
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

function parametersOf(issue: Issue): OwnParameters {
  return issue.code === "custom" ? (issue.params ?? {}) : {};
}

function sentenceOf(issue: Issue): string | undefined {
  const { sentence } = parametersOf(issue);
  return typeof sentence === "string" ? sentence : undefined;
}

function expectedOf(issue: Issue): string {
  const { expected } = parametersOf(issue);
  return typeof expected === "string" ? expected : issue.message;
}

function optionsOf(issue: Issue): readonly string[] {
  const options: unknown = "options" in issue ? issue.options : [];
  return Array.isArray(options) ? options.map(String) : [];
}

function placed({ tree }: Subject, path: Path): Partial<ReturnType<typeof find>> {
  return tree === undefined ? {} : find(tree, path);
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

/**
 * The building blocks of schemas. Each checks a value, says what was expected, and describes itself for editors.
 * Where the scheduler or the runner checks the same value, the schema calls that check, so that messages agree.
 */
import * as z from "zod/mini";
import { messageOf } from "../../../errors.js";

/** What editors show: JSON Schema keywords. */
export interface Description {
  readonly description: string;
  readonly [keyword: string]: unknown;
}

/** A registry apart from zod's global one, which belongs to the host. */
export type Descriptions = z.core.$ZodRegistry<Record<string, unknown>>;
export const descriptions: Descriptions = z.registry();

export type Schema = z.ZodMiniType;
export type MapSchema = z.ZodMiniObject;
export type KeySchemas = Readonly<Record<string, Schema>>;

/** The parameters of an issue that `leaf` raises. */
export interface CheckParameters {
  readonly expected: string;
  /** The message of the check; may quote the value. */
  readonly sentence: string | undefined;
  /** The JSON type that the text of a variable is converted to. */
  readonly type: unknown;
  /** Whether messages hide the value: `writeOnly` in the description says so. */
  readonly isSecret: boolean;
}

export function describe<Kind extends Schema>(schema: Kind, description: Description): Kind {
  descriptions.add(schema, { ...description });
  return schema;
}

export function optional(schema: Schema): Schema {
  return z.optional(schema);
}

export function allOptional(shape: KeySchemas): Record<string, Schema> {
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, optional(schema)]));
}

export function nullable(schema: Schema): Schema {
  return z.nullable(schema);
}

/** Accepts every value for which `check` does not throw. */
export function checked(expected: string, check: (value: unknown) => void, description: Description): Schema {
  return leaf(expected, description, (given) => {
    try {
      check(given);
      return { isRight: true };
    } catch (error) {
      return { isRight: false, sentence: messageOf(error) };
    }
  });
}

/** Accepts every value for which `isRight` returns true. */
export function fitting(
  expected: string,
  isRight: (given: unknown) => boolean,
  description: Description,
): Schema {
  return leaf(expected, description, (given) => ({ isRight: isRight(given) }));
}

interface Verdict {
  readonly isRight: boolean;
  readonly sentence?: string | undefined;
}

function leaf(expected: string, description: Description, judge: (given: unknown) => Verdict): Schema {
  const schema = z.unknown().check((context) => {
    const { isRight, sentence } = judge(context.value);
    if (isRight) return;
    const { type, writeOnly } = description;
    const params: CheckParameters = { expected, sentence, type, isSecret: writeOnly === true };
    context.issues.push({ code: "custom", input: context.value, message: expected, params: { ...params } });
  });
  return describe(schema, description);
}

export function text(description: string, expected = "text", keywords: object = {}): Schema {
  return fitting(expected, isText, { type: "string", minLength: 1, description, ...keywords });
}

function isText(given: unknown): boolean {
  return typeof given === "string" && given !== "" && !given.includes("\0");
}

export function wholeNumber(description: string, from: number, keywords: object = {}): Schema {
  return fitting(
    `a whole number from ${from}`,
    (given) => typeof given === "number" && Number.isSafeInteger(given) && given >= from,
    { type: "integer", minimum: from, description, ...keywords },
  );
}

export function choice(options: readonly string[], description: string, keywords: object = {}): Schema {
  const quoted = options.map((one) => JSON.stringify(one));
  const expected = [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter(Boolean).join(" or ");
  return describe(z.enum([...options], { error: () => expected }), { description, ...keywords });
}

export function list(item: Schema, expected: string, description: string, keywords: object = {}): Schema {
  return describe(z.array(item, { error: () => expected }), { description, ...keywords });
}

/** A map with any keys, whose values have one schema. */
export function mapOf(item: Schema, expected: string, description: string, keywords: object = {}): Schema {
  const schema = z.record(z.string(), item, { error: () => expected });
  return describe(schema, { description, ...keywords });
}

/** A map of names to texts, such as environment variables. */
export function textsByName(expected: string, description: string, keywords: object = {}): Schema {
  const item = fitting("text, a number or a boolean", isValue, {
    type: ["string", "number", "boolean"],
    description: "The value.",
  });
  return mapOf(item, expected, description, keywords);
}

function isValue(given: unknown): boolean {
  if (typeof given === "number") return Number.isFinite(given);
  return typeof given === "boolean" || (typeof given === "string" && !given.includes("\0"));
}

/** A map with exactly the keys of `shape`. */
export function map(shape: KeySchemas, expected: string, description: Description): MapSchema {
  const known = Object.keys(shape).join(" ");
  const schema = z.strictObject(shape, {
    // The message about an unknown key lists the known ones.
    error: ({ code }) => (code === "unrecognized_keys" ? known : expected),
  });
  return describe(schema, description);
}

/** A map with the keys of `shape`, and any more that the host reads. */
export function openMap(shape: KeySchemas, expected: string, description: Description): MapSchema {
  return describe(z.looseObject(shape, { error: () => expected }), description);
}

export function constant(type: string, description: string): Schema {
  return describe(z.literal(type, { error: () => JSON.stringify(type) }), { description });
}

/** One of several maps, by their `type`. */
export function oneOf(
  options: Readonly<Record<string, MapSchema>>,
  expected: string,
  description: Description,
): Schema {
  const types = Object.keys(options);
  const [first, ...rest] = Object.values(options);
  if (first === undefined) throw new RangeError("oneOf needs at least one map.");
  const schema = z.discriminatedUnion("type", [first, ...rest], {
    error: ({ code }) => (code === "invalid_union" ? `one of ${types.join(", ")}` : expected),
  });
  return describe(schema, description);
}

/**
 * Reads the `runtime` of an agent key by key, and throws a RunnerError for a wrong value.
 * Messages name the key, and never a value that may be secret.
 */
import { isFields } from "../fields.js";
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import { invalidArgument, RunnerError } from "./errors.js";
import type { RuntimeConfiguration } from "./runtime.js";

export function invalidRuntime(message: string): RunnerError {
  return new RunnerError(message, { code: "INVALID_RUNTIME" });
}

/** An unknown key is a typing mistake. */
export function refuseUnknownKeys(configuration: RuntimeConfiguration, known: readonly string[]): void {
  for (const key of Object.keys(configuration))
    if (key !== "type" && !known.includes(key))
      throw invalidRuntime(
        `The ${configuration.type} runtime has no ${quote(key)}, expected ${known.join(", ")}.`,
      );
}

export function textAt(configuration: RuntimeConfiguration, key: string): string | undefined {
  const value = configuration[key];
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  throw invalidRuntime(`The ${key} of a ${configuration.type} runtime is ${quote(value)}, expected text.`);
}

export function textsAt(configuration: RuntimeConfiguration, key: string): readonly string[] {
  const value = configuration[key] ?? [];
  if (isTexts(value)) return value;
  throw invalidRuntime(
    `The ${key} of a ${configuration.type} runtime is ${quote(value)}, expected a list of texts.`,
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((part) => typeof part === "string" && !part.includes("\0"));
}

/** A map of names to texts. Numbers and booleans become text. No message shows a value: it may be secret. */
export function valuesAt(configuration: RuntimeConfiguration, key: string): Readonly<Record<string, string>> {
  const given = configuration[key] ?? {};
  const expected = "expected names and their texts";
  if (!isFields(given))
    throw invalidRuntime(
      `The ${key} of a ${configuration.type} runtime is not a map, ${expected} (${key}: { NAME: value }).`,
    );
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      throw invalidRuntime(`${quote(name)} in the ${key} of a ${configuration.type} runtime is not text.`);
    values[name] = String(value);
  }
  return values;
}

/** How many milliseconds a job may take; `undefined` means no limit. */
export function timeoutMs(given: unknown, whose: string): number | undefined {
  if (given === undefined || given === null) return undefined;
  const ms = typeof given === "string" ? durationMs(given) : given;
  if (typeof ms === "number" && ms > 0) return ms === Infinity ? undefined : ms;
  throw invalidArgument(
    `The timeout of ${whose} is ${quote(given)}, expected milliseconds above 0 or text such as "5m".`,
  );
}

/**
 * Checks a `work_source`, which is untrusted: that it has a type, and the values that several types share.
 * The factory of each type checks the keys of the type.
 */
import { isFields } from "../fields.js";
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import { WorkSourceError } from "./errors.js";
import type { WorkSourceConfig } from "./work-source.js";

/** A deeper value is treated as one that refers to itself. */
const DEEPEST = 32;
const LONGEST_EXPIRY_MS = 365 * 86_400_000;
const DEFAULT_EXPIRY = "1h";

export function invalidSource(message: string, cause?: unknown): WorkSourceError {
  return new WorkSourceError(message, { code: "INVALID_WORK_SOURCE", cause });
}

function isConfig(value: unknown): value is WorkSourceConfig {
  return isFields(value) && typeof value.type === "string" && value.type !== "";
}

export function requireConfig(value: unknown): WorkSourceConfig {
  if (isConfig(value)) return value;
  const got = isFields(value) ? `has the type ${quote(value.type)}` : `is ${quote(value)}`;
  throw invalidSource(
    `A work_source ${got}, expected an object with a type, such as { type: "directory", path: "inbox" }.`,
  );
}

/** Rejects a key that the type does not have, because it is a typing mistake. */
export function requireKnownKeys(config: WorkSourceConfig, known: readonly string[]): void {
  const unknown = Object.keys(config).find((key) => key !== "type" && !known.includes(key));
  if (unknown === undefined) return;
  throw invalidSource(
    `Unknown key ${quote(unknown)} in a work source of type ${quote(config.type)}, expected ${known.join(", ")}.`,
  );
}

/** How long a claim lasts, in milliseconds. */
export function claimExpiryMs({ type, claim_expiry: text = DEFAULT_EXPIRY }: WorkSourceConfig): number {
  const ms = typeof text === "string" ? durationMs(text) : undefined;
  if (ms !== undefined && ms > 0 && ms <= LONGEST_EXPIRY_MS) return ms;
  throw invalidSource(
    `The claim_expiry of a work source of type ${quote(type)} is ${quote(text)}, expected a duration such as "1h", at most "365d".`,
  );
}

/** The same text for equal configurations, in whatever order their keys are. */
export function configKey(config: WorkSourceConfig): string {
  return canonical(config, 0);
}

function canonical(value: unknown, depth: number): string {
  if (depth > DEEPEST)
    throw invalidSource(
      `A work_source refers to itself, or has more than ${DEEPEST} levels: expected a plain value.`,
    );
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one, depth + 1)).join()}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${sorted.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one, depth + 1)}`).join()}}`;
  }
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return typeof value === "number" ? String(value) : JSON.stringify(value);
  throw invalidSource(`A work_source contains a ${typeof value}, expected text, numbers, lists and objects.`);
}

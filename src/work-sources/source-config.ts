/**
 * Reads a `work_source`, which is untrusted: that it has a type, what its keys say, and which two are equal.
 * Which keys a type knows is said by its own factory.
 */
import { isFields } from "../fields.js";
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import { WorkSourceError } from "./errors.js";
import type { WorkSourceConfig } from "./work-source.js";

/** Deeper ones are taken for what refers to itself. */
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
  const got = isFields(value) ? `one with the type ${quote(value.type)}` : quote(value);
  throw invalidSource(
    `A work_source is an object with a type, such as { type: "directory", path: "inbox" }; got ${got}.`,
  );
}

/** Refuses a key that the type does not have: it is a typing mistake. */
export function requireKnownKeys(config: WorkSourceConfig, known: readonly string[]): void {
  const stranger = Object.keys(config).find((key) => key !== "type" && !known.includes(key));
  if (stranger === undefined) return;
  throw invalidSource(
    `A work source of type ${quote(config.type)} has no key ${quote(stranger)}: it has ${known.join(", ")}.`,
  );
}

/** How long a claim lasts, in milliseconds. */
export function claimExpiryMs({ type, claim_expiry: text = DEFAULT_EXPIRY }: WorkSourceConfig): number {
  const ms = typeof text === "string" ? durationMs(text) : undefined;
  if (ms !== undefined && ms > 0 && ms <= LONGEST_EXPIRY_MS) return ms;
  throw invalidSource(
    `The claim_expiry of a work source of type ${quote(type)} is a duration such as "1h", at most "365d"; got ${quote(text)}.`,
  );
}

/** Equal for equal configurations, whatever the order of their keys. */
export function configKey(config: WorkSourceConfig): string {
  return canonical(config, 0);
}

function canonical(value: unknown, depth: number): string {
  if (depth > DEEPEST)
    throw invalidSource(`A work_source is at most ${DEEPEST} levels deep, and does not refer to itself.`);
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one, depth + 1)).join()}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${sorted.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one, depth + 1)}`).join()}}`;
  }
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return typeof value === "number" ? String(value) : JSON.stringify(value);
  throw invalidSource(`A work_source holds text, numbers, lists and objects; got a ${typeof value}.`);
}

/** Reads what callers pass to a scheduler. Each function throws a SchedulerError that names the argument and its value. */
import type { Instant } from "../clock.js";
import { quote } from "../errors.js";
import { isFields } from "../fields.js";
import { SchedulerError } from "./errors.js";

export function invalidArgument(message: string): SchedulerError {
  return new SchedulerError(message, { code: "INVALID_ARGUMENT" });
}

export function invalidOption(name: string, value: unknown, expected: string): SchedulerError {
  return invalidArgument(`Invalid ${name} ${quote(value)}: expected ${expected}`);
}

export function requireMap(name: string, value: unknown, example: string): void {
  if (!isFields(value)) throw invalidOption(name, value, `an object such as ${example}`);
}

export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw invalidOption(name, value, "a function");
}

/** Only what an `Instant` is: `new Date(null)` would be 1970. */
export function readInstant(name: string, value: Instant): Date {
  const isInstant = value instanceof Date || typeof value === "string" || typeof value === "number";
  const at = new Date(isInstant ? value : Number.NaN);
  if (Number.isNaN(at.getTime()) || at.getUTCFullYear() > LAST_YEAR)
    throw invalidOption(name, value, "a Date, an ISO time or milliseconds since 1970");
  return at;
}

/** Later times have no ISO text of four digits for the year. */
const LAST_YEAR = 9999;

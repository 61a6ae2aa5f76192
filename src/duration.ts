/** Durations as options and configuration have them: milliseconds, or a whole number and a unit: "30s", "5m", "1h", "2d". */
import { quote, RotaError } from "./errors.js";

/** Milliseconds, or text such as `"30s"`, `"5m"`, `"1h"` or `"2d"`. */
export type Duration = number | string;

/** Milliseconds per unit. */
export const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds that `text` stands for, or `undefined` when it is not a duration. */
export function durationMs(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d+)([a-z])$/.exec(text) ?? [];
  const unitMs = (UNIT_MS as Readonly<Record<string, number>>)[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

export interface DurationRule {
  /** @default 0 */
  readonly atLeastMs?: number | undefined;
  /** Whether `Infinity` is allowed. @default true */
  readonly mayBeInfinite?: boolean | undefined;
  /** Makes the error for a wrong value. @default a RotaError with code INVALID_ARGUMENT */
  readonly error?: ((message: string) => Error) | undefined;
}

/** The milliseconds of an option. Throws an error that names the option, its value and what was expected. */
export function readDuration(given: unknown, name: string, rule: DurationRule = {}): number {
  const { atLeastMs = 0, mayBeInfinite = true, error = invalidArgument } = rule;
  const ms = typeof given === "string" ? durationMs(given) : given;
  if (typeof ms === "number" && ms >= atLeastMs && (mayBeInfinite || ms < Infinity)) return ms;
  throw error(
    `Invalid ${name} ${quote(given)}: expected milliseconds from ${atLeastMs}, or text such as "30s" or "5m".`,
  );
}

function invalidArgument(message: string): RotaError {
  return new RotaError(message, { code: "INVALID_ARGUMENT" });
}

/**
 * The text form of a duration: a whole number and a unit, as in "30s", "5m", "1h", "2d".
 * Only the grammar is here; what a wrong text means to its user is said by the module that took it.
 */

/** Milliseconds per unit. */
export const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds `text` stands for, or `undefined` when it is not a duration. */
export function durationMs(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d+)([a-z])$/.exec(text) ?? [];
  const unitMs = (UNIT_MS as Readonly<Record<string, number>>)[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

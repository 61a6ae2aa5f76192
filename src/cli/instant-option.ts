/** A time as it is typed: an ISO time with its offset, or how long ago or from now. Pure. */
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { option, type Option } from "./command.js";
import { usageError } from "./errors.js";

/** What was typed, once it is known what now is. */
export type TypedInstant = (now: Date) => Date;

const MOST_MS = 8.64e15;

/** An option for a time in the past, where "2h" is two hours ago, or in the future, where it is in two hours. */
export function instantOption(
  name: string,
  direction: "future" | "past",
  summary: string,
): Option<TypedInstant | undefined> {
  const sign = direction === "past" ? -1 : 1;
  return option(name, "time", { summary }, (text) => {
    const awayMs = durationMs(text);
    const isoMs = isoTimeMs(text);
    if (awayMs === undefined && isoMs === undefined)
      throw usageError(
        `Invalid --${name} ${quote(text)}: expected a time such as "2026-03-01T09:00:00Z", or "2h" for two hours ` +
          (direction === "past" ? "ago" : "from now"),
      );
    return (now) => {
      const ms = isoMs ?? now.getTime() + sign * (awayMs ?? 0);
      if (Math.abs(ms) <= MOST_MS) return new Date(ms);
      throw usageError(`Invalid --${name} ${quote(text)}: no calendar goes that far`);
    };
  });
}

/** Options for a time: an ISO time with its offset, or a duration before or after now. Pure. */
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { option, type Option } from "./command.js";
import { usageError } from "./errors.js";

/** The time that was typed, resolved against now. */
export type TypedTime = (now: Date) => Date;

const MOST_MS = 8.64e15;

/** `direction`: whether "2h" means two hours ago or two hours from now. */
export function instantOption(
  name: string,
  direction: "future" | "past",
  summary: string,
): Option<TypedTime | undefined> {
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
      throw usageError(`Invalid --${name} ${quote(text)}: it is outside the range of dates`);
    };
  });
}

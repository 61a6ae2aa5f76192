/** How often a failed slot is tried again, and how long each try waits. Pure. */
import { UNIT_MS } from "../../duration.js";
import { quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import { ScheduleDefinitionError } from "../errors.js";
import { parseInterval, readInterval } from "./interval.js";

export interface RetryOptions {
  /** How many times a failed slot is tried again. 0: never. */
  readonly count: number;
  /**
   * How long the first of these tries waits after the failure.
   * @default "10s"
   */
  readonly delay?: string | undefined;
  /**
   * Whether each further try waits twice as long, or as long as the first.
   * @default "exponential"
   */
  readonly backoff?: "exponential" | "constant" | undefined;
  /**
   * The longest wait.
   * @default "10m", or `delay` where that is longer
   */
  readonly max_delay?: string | undefined;
  /**
   * Which ends of a job are tried again.
   * @default ["failed", "timeout"]
   */
  readonly on?: readonly ("failed" | "timeout")[] | undefined;
}

const KEYS: ReadonlySet<string> = new Set<keyof RetryOptions>([
  "count",
  "delay",
  "backoff",
  "max_delay",
  "on",
]);
const ENDS: ReadonlySet<unknown> = new Set(["failed", "timeout"]);
const DEFAULT_DELAY_MS = 10 * UNIT_MS.s;
const DEFAULT_LONGEST_MS = 10 * UNIT_MS.m;
/** More doublings would only pass the longest wait by more. */
const MOST_DOUBLINGS = 40;

/** Whether a slot is tried again after its failure number `failures`. */
export function isTriedAgain(retries: number | RetryOptions, failures: number, status: string): boolean {
  const options: RetryOptions = typeof retries === "number" ? { count: retries } : retries;
  const { count, on } = options;
  return failures <= count && (on === undefined ? ENDS.has(status) : on.some((end) => end === status));
}

/** How long a slot waits after its failure number `failures`; `undefined` without retries. */
export function retryDelayMs(
  retries: number | RetryOptions | undefined,
  failures: number,
): number | undefined {
  if (retries === undefined) return undefined;
  const options: RetryOptions = typeof retries === "number" ? { count: retries } : retries;
  const { delay, backoff, max_delay } = options;
  const delayMs = delay === undefined ? DEFAULT_DELAY_MS : parseInterval(delay);
  const longestMs =
    max_delay === undefined ? Math.max(DEFAULT_LONGEST_MS, delayMs) : parseInterval(max_delay);
  const doublings = backoff === "constant" ? 0 : Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS);
  return Math.min(delayMs * 2 ** doublings, longestMs);
}

/** Throws a ScheduleDefinitionError that says what is wrong. */
export function validateRetries(retries: unknown): void {
  if (retries === undefined || isCount(retries)) return;
  if (!isFields(retries))
    throw wrong("", retries, 'a whole number from 0, or a map such as { count: 2, delay: "10s" }');
  const unknown = Object.keys(retries).find((key) => !KEYS.has(key));
  if (unknown !== undefined)
    throw new ScheduleDefinitionError(
      `Unknown key ${quote(unknown)} in retries: expected one of ${[...KEYS].join(", ")}`,
      "retries",
    );
  const { count, delay, backoff, max_delay, on } = retries;
  if (!isCount(count)) throw wrong("count", count, "a whole number from 0");
  const delayMs = duration("delay", delay);
  const longestMs = duration("max_delay", max_delay);
  if (longestMs !== undefined && longestMs < (delayMs ?? DEFAULT_DELAY_MS))
    throw wrong("max_delay", max_delay, `at least delay, which is ${quote(delay ?? "10s")}`);
  if (backoff !== undefined && backoff !== "exponential" && backoff !== "constant")
    throw wrong("backoff", backoff, '"exponential" or "constant"');
  if (on !== undefined && !(Array.isArray(on) && on.length > 0 && on.every((end) => ENDS.has(end))))
    throw wrong("on", on, 'a list with "failed", "timeout" or both');
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function duration(key: string, text: unknown): number | undefined {
  if (text === undefined) return undefined;
  return readInterval(
    text,
    (fault) => new ScheduleDefinitionError(`Invalid retries.${key} ${quote(text)}: ${fault}`, "retries"),
  );
}

function wrong(key: string, value: unknown, expected: string): ScheduleDefinitionError {
  const name = key === "" ? "retries" : `retries.${key}`;
  return new ScheduleDefinitionError(`Invalid ${name} ${quote(value)}: expected ${expected}`, "retries");
}

/** Waits for a store, but not for ever. */
import { type Clock, withTimeout } from "../clock.js";
import { RunnerError } from "./errors.js";

/** Rejects with STORE_TIMEOUT when the store takes longer than `limitMs`. */
export function inTime<Value>(
  clock: Clock,
  limitMs: number,
  call: PromiseLike<Value>,
  failure: string,
): Promise<Value> {
  return withTimeout(clock, limitMs, call, () => {
    throw new RunnerError(`${failure} in ${limitMs} ms.`, { code: "STORE_TIMEOUT" });
  });
}

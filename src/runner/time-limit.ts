/** Waits for a store's answer, but not for ever. */
import { type Clock, wakeAfter } from "../clock.js";
import { RunnerError } from "./errors.js";

/** Rejects with STORE_TIMEOUT when the answer takes longer; whatever comes of it then is nobody's trouble. */
export async function inTime<Answer>(
  clock: Clock,
  limitMs: number,
  call: PromiseLike<Answer>,
  failure: string,
): Promise<Answer> {
  let callOff: (() => void) | undefined;
  const limit = new Promise<never>((_, reject) => {
    const giveUp = (): void =>
      reject(new RunnerError(`${failure} in ${limitMs} ms.`, { code: "STORE_TIMEOUT" }));
    callOff = wakeAfter(clock, limitMs, giveUp);
  });
  try {
    return await Promise.race([call, limit]);
  } finally {
    callOff?.();
  }
}

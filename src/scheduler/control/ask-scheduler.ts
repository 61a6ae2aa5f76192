/** Asks the scheduler of a different process for something, through the state. The scheduler's side is in requests.ts. */
import { type Clock, systemClock } from "../../clock.js";
import { type Duration, readDuration } from "../../duration.js";
import { randomToken } from "../../random.js";
import type { RequestAnswer, ScheduleRequest } from "../../state/schedule-state.js";
import type { ScheduleKey, StateStore } from "../../state/store.js";

export interface AskOptions {
  /** @default systemClock */
  readonly clock?: Clock | undefined;
  /**
   * How long to wait for a reply: milliseconds, or text such as "10s".
   * @default 10_000
   */
  readonly timeoutMs?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
/** A scheduler that was just starting has not noticed a request: it is written again, unless it was taken. */
const ASK_AGAIN_MS = 2_000;

/**
 * Returns what the scheduler did: the job that it started or stopped, or why it did nothing. On a store with several
 * nodes that is also the reason for which every node left the request to its peers. `undefined` when no scheduler
 * replied in time; the request is withdrawn then.
 */
export async function askScheduler(
  store: Pick<StateStore, "read" | "update" | "clock">,
  key: ScheduleKey,
  request: Pick<ScheduleRequest, "action" | "job_id">,
  { clock = systemClock, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: AskOptions = {},
): Promise<RequestAnswer | undefined> {
  const id = randomToken();
  // The scheduler compares it with the store's time.
  const expiry = (): string =>
    new Date((store.clock ?? clock).now().getTime() + 2 * ASK_AGAIN_MS).toISOString();
  const untilMs = clock.monotonic() + readDuration(timeoutMs, "timeoutMs");
  let askAgainMs = -Infinity;
  /** The refusal in the state before the request was last written: that node may not see the request again. */
  let refusal: string | null | undefined;
  /** What to return in the end. */
  let last: RequestAnswer | undefined;
  try {
    while (clock.monotonic() < untilMs) {
      if (clock.monotonic() >= askAgainMs) {
        const isFirst = askAgainMs === -Infinity;
        await store.update(key, ({ request: current }) => {
          if (!isFirst && current?.id !== id) return {};
          refusal = isFirst ? undefined : current?.refusal;
          return { request: { ...request, id, expires_at: expiry() } };
        });
        askAgainMs = clock.monotonic() + ASK_AGAIN_MS;
      }
      await clock.sleep(LOOK_MS, signal);
      const { request_answer: answer } = await store.read(key);
      if (answer?.id === id) return answer;
    }
  } finally {
    await store.update(key, ({ request: current, request_answer: answer }) => {
      const isTaken = current?.id !== id;
      const why = isTaken ? undefined : (current.refusal ?? refusal);
      last = answer?.id === id ? answer : why == null ? undefined : { id, refusal: why };
      return isTaken ? {} : { request: null };
    });
  }
  return last;
}

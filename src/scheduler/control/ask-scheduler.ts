/** Asks the scheduler that runs in another process, through the state: it answers there. How it does is in requests.ts. */
import { type Clock, systemClock } from "../../clock.js";
import { randomToken } from "../../random.js";
import type { RequestAnswer, ScheduleRequest } from "../../state/schedule-state.js";
import type { ScheduleKey, StateStore } from "../../state/store.js";

export interface AskOptions {
  /** @default systemClock */
  readonly clock?: Clock | undefined;
  /**
   * How long to wait for an answer, in milliseconds.
   * @default 10_000
   */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
/** A scheduler that was just starting has not noticed a request: it is written again, unless it was taken. */
const ASK_AGAIN_MS = 2_000;

/**
 * Answers what the scheduler did: the job that was started or told to end, or why nothing was done; also why those who
 * saw the request left it to others, none of whom took it. `undefined` when nobody answered in time. What was not taken
 * is taken back.
 */
export async function askScheduler(
  store: Pick<StateStore, "read" | "update" | "clock">,
  key: ScheduleKey,
  request: Pick<ScheduleRequest, "action" | "job_id">,
  { clock = systemClock, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: AskOptions = {},
): Promise<RequestAnswer | undefined> {
  const id = randomToken();
  // Whoever answers goes by the store's time.
  const expiry = (): string =>
    new Date((store.clock ?? clock).now().getTime() + 2 * ASK_AGAIN_MS).toISOString();
  const untilMs = clock.monotonic() + timeoutMs;
  let askAgainMs = -Infinity;
  /** Said before it was last written: whoever said it need not have come to see it again. */
  let refusal: string | null | undefined;
  /** What there is to be said of it in the end. */
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

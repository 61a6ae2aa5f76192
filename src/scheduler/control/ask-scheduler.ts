/** Asks a scheduler of a different process for something, through the store's mailbox. The scheduler's side is in requests.ts. */
import { type Clock, systemClock } from "../../clock.js";
import { type Duration, readDuration } from "../../duration.js";
import type { NewRequest, RequestAnswer } from "../../state/mailbox.js";
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
/** How long to wait for a scheduler that has taken the request, and carries it out right now. */
const TAKEN_MS = 5_000;

/**
 * Returns what the scheduler did: the job that it started or stopped, or why it did nothing. On a store with several
 * nodes that is also the reason for which every node left the request to its peers. `undefined` when no scheduler took
 * the request in time; it is withdrawn then. The refusal `no_answer`: a scheduler took it and did not say what it did.
 */
export async function askScheduler(
  store: Pick<StateStore, "mailbox">,
  { agent, schedule }: ScheduleKey,
  asked: Omit<NewRequest, "agent" | "schedule">,
  { clock = systemClock, timeoutMs, signal }: AskOptions = {},
): Promise<RequestAnswer | undefined> {
  const { mailbox } = store;
  const ttlMs = readDuration(timeoutMs ?? DEFAULT_TIMEOUT_MS, "timeoutMs");
  const request = await mailbox.post({ ...asked, agent, schedule }, { ttlMs });
  const answer = await mailbox.waitForAnswer(request, { clock, timeoutMs: ttlMs, signal });
  if (answer !== undefined) return answer;
  const left = await mailbox.withdraw(request);
  if (left !== "taken") {
    signal?.throwIfAborted();
    return left;
  }
  const late = await mailbox.waitForAnswer(request, { clock, timeoutMs: TAKEN_MS, signal });
  signal?.throwIfAborted();
  return late ?? { id: request.id, refusal: "no_answer" };
}

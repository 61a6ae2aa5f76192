/** The mailbox in memory: requests of this process, such as `trigger` with a key. */
import { type Clock, wakeAfter } from "../../clock.js";
import { isoTimeMs } from "../../iso-time.js";
import { systemRandom, randomToken } from "../../random.js";
import { JobIds } from "../job-log/job-id.js";
import {
  isKept,
  KEY_MS,
  keptMs,
  type JobOrder,
  type Mailbox,
  type NewRequest,
  type PendingRequest,
  type PostOptions,
  type RequestAnswer,
  type ScheduleRequest,
  type StartedOrder,
  type WaitOptions,
} from "../mailbox.js";
import type { ScheduleKey } from "../store.js";

/** An answer that its caller did not fetch. */
const UNREAD_MS = 60_000;

interface Entry {
  readonly request: ScheduleRequest;
  isTaken: boolean;
  refusal: string | undefined;
  answer: RequestAnswer | undefined;
}

export class MemoryMailbox implements Mailbox {
  readonly #clock: Clock;
  readonly #ids = new JobIds(systemRandom);
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async post(given: NewRequest, { ttlMs, isTaken = false }: PostOptions): Promise<ScheduleRequest> {
    this.#sweep();
    const now = this.#clock.now();
    const request: ScheduleRequest = {
      ...structuredClone(given),
      id: given.action === "run" ? this.#ids.next(now) : `req-${randomToken()}`,
      created_at: now.toISOString(),
      expires_at: new Date(now.getTime() + ttlMs).toISOString(),
    };
    this.#entries.set(request.id, { request, isTaken, refusal: undefined, answer: undefined });
    if (!isTaken) for (const listener of this.#listeners) listener();
    return request;
  }

  async waitForAnswer(
    { id }: ScheduleRequest,
    { clock, timeoutMs, signal }: WaitOptions,
  ): Promise<RequestAnswer | undefined> {
    const answer = (): RequestAnswer | undefined => this.#entries.get(id)?.answer;
    if (answer() === undefined && timeoutMs > 0 && signal?.aborted !== true)
      await new Promise<void>((resolve) => {
        const callOff = wakeAfter(clock, timeoutMs, resolve);
        const wake = (): void => {
          callOff();
          resolve();
        };
        this.#waiting.set(id, wake);
        signal?.addEventListener("abort", wake, { once: true });
      });
    this.#waiting.delete(id);
    return answer();
  }

  async withdraw({ id }: ScheduleRequest): Promise<RequestAnswer | "taken" | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.answer !== undefined) return entry?.answer;
    if (entry.isTaken) return "taken";
    this.#entries.delete(id);
    return entry.refusal === undefined ? undefined : { id, refusal: entry.refusal };
  }

  onPost(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async pending(): Promise<readonly PendingRequest[]> {
    this.#sweep();
    return [...this.#entries.values()]
      .filter(({ isTaken, answer }) => !isTaken && answer === undefined)
      .map(({ request }) => ({ request, isLeftOver: false }));
  }

  async take(id: string): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isTaken) return false;
    entry.isTaken = true;
    return true;
  }

  async putBack(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.isTaken = false;
  }

  async leave(id: string, refusal: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.refusal = refusal;
  }

  async answer({ id }: ScheduleRequest, answer: Omit<RequestAnswer, "id">): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.answer ??= { id, ...answer };
    this.#waiting.get(id)?.();
  }

  async discard(id: string): Promise<void> {
    this.#entries.delete(id);
  }

  async ofJob(jobId: string): Promise<ScheduleRequest | undefined> {
    const entry = this.#entries.get(jobId);
    return entry?.request.action === "run" ? entry.request : undefined;
  }

  async findKey(wanted: ScheduleKey & Pick<JobOrder, "key">): Promise<StartedOrder | undefined> {
    const sinceMs = this.#clock.now().getTime() - KEY_MS;
    for (const { request, answer } of this.#entries.values()) {
      const { agent, schedule, key, created_at } = request;
      const isSame = agent === wanted.agent && schedule === wanted.schedule && key === wanted.key;
      if (isSame && answer?.job_id != null && (isoTimeMs(created_at) ?? 0) > sinceMs)
        return { request, jobId: answer.job_id };
    }
    return undefined;
  }

  #sweep(): void {
    const nowMs = this.#clock.now().getTime();
    for (const [id, { request, isTaken, answer }] of this.#entries) {
      const isOver = (isoTimeMs(request.expires_at) ?? 0) <= nowMs;
      const ageMs = nowMs - (isoTimeMs(request.created_at) ?? 0);
      const keepMs = isKept(request) ? keptMs(request) : UNREAD_MS;
      const isForgotten = answer === undefined ? isOver && !isTaken : ageMs > keepMs;
      if (isForgotten) this.#entries.delete(id);
    }
  }
}

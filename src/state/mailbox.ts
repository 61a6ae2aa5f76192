/**
 * The mailbox of a store: requests from callers and other processes to the schedulers on it, one entry each.
 * A scheduler carries a request out at most once and answers it. What it does is decided in scheduler/control/requests.ts.
 */
import { type Clock, wakeAfter } from "../clock.js";
import type { JobTrigger } from "./schedule-state.js";
import type { ScheduleKey } from "./store.js";

export const REQUESTED_ACTIONS = ["run", "cancel", "stop"] as const;

/** What a job is started with by a caller, instead of by its schedule. */
export interface JobOrder {
  /** What started the job. @default "manual" */
  readonly trigger?: JobTrigger | null | undefined;
  /** Replaces the schedule's prompt. */
  readonly prompt?: string | null | undefined;
  /** Any JSON value: the job gets it as `data`. */
  readonly data?: unknown;
  /** Names the order: within 24 hours the same key and schedule return the same job. */
  readonly key?: string | null | undefined;
  /** Why the caller wants the job. */
  readonly cause?: string | null | undefined;
  /** Who the caller is. */
  readonly author?: string | null | undefined;
}

/** A request: start a job of a schedule now, cancel one, or stop a scheduler, with empty names. */
export interface NewRequest extends ScheduleKey, JobOrder {
  readonly action: (typeof REQUESTED_ACTIONS)[number];
  /** The job to cancel. */
  readonly job_id?: string | null | undefined;
  /** The node to stop; absent in a store with one owner. */
  readonly node?: string | null | undefined;
}

export interface ScheduleRequest extends NewRequest {
  /** Unique. In a store with one owner, a request to run has the id of the job that it starts. */
  readonly id: string;
  /** ISO time. */
  readonly created_at: string;
  /** ISO time from which it no longer counts. */
  readonly expires_at: string;
}

/** The result of a request. */
export interface RequestAnswer {
  /** The request's. */
  readonly id: string;
  /** The job that was started or told to end. */
  readonly job_id?: string | null | undefined;
  /** Why nothing was done. */
  readonly refusal?: string | null | undefined;
}

/** A request that has no answer yet. */
export interface PendingRequest {
  readonly request: ScheduleRequest;
  /** Whether a scheduler that ended had taken it: its job may have been started. */
  readonly isLeftOver: boolean;
}

/** An order that has started a job. */
export interface StartedOrder {
  readonly request: ScheduleRequest;
  readonly jobId: string;
}

export interface PostOptions {
  /** How long it counts, in milliseconds. */
  readonly ttlMs: number;
  /** Whether the caller carries it out itself, so that no scheduler takes it. @default false */
  readonly isTaken?: boolean | undefined;
}

export interface WaitOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Mailbox {
  /** Adds a request. One with a prompt, data or a key is durable when it resolves. */
  post(request: NewRequest, options: PostOptions): Promise<ScheduleRequest>;
  /** Resolves with the answer, or with `undefined` when there is none in time. */
  waitForAnswer(request: ScheduleRequest, options: WaitOptions): Promise<RequestAnswer | undefined>;
  /**
   * Takes a request back. Returns its answer where there is one, `taken` when a scheduler carries it out right now, and
   * `undefined` when no scheduler will; or the refusal of schedulers that left it to their peers.
   */
  withdraw(request: ScheduleRequest): Promise<RequestAnswer | "taken" | undefined>;

  /** Calls back when there may be new requests. Returns how to stop it. */
  onPost(listener: () => void): () => void;
  /** Requests without an answer that count at this time, oldest first. Damaged and expired ones are removed. */
  pending(): Promise<readonly PendingRequest[]>;
  /** Keeps other schedulers and `withdraw` from it; `false` when it is gone. */
  take(id: string): Promise<boolean>;
  /** Gives a taken request back, for a scheduler that can carry it out. */
  putBack(id: string): Promise<void>;
  /** Notes why a node left a request to its peers: the answer if no node takes it. */
  leave(id: string, refusal: string): Promise<void>;
  /** Answers a taken request, once. */
  answer(request: ScheduleRequest, answer: Omit<RequestAnswer, "id">): Promise<void>;
  /** Removes a taken request that its caller carried out itself, to no effect. */
  discard(id: string): Promise<void>;
  /** The request that started this job. */
  ofJob(jobId: string): Promise<ScheduleRequest | undefined>;
  /** The order of the last 24 hours with the same schedule and key. */
  findKey(request: ScheduleKey & Pick<JobOrder, "key">): Promise<StartedOrder | undefined>;
}

/** How long answers and keys are kept. */
export const KEY_MS = 86_400_000;
/** How long orders with a prompt or data are kept: a job that was interrupted runs again with them. */
export const ORDER_MS: number = 7 * KEY_MS;

/** Whether a request is kept after its answer: its key may come again, or its job may have to run again. */
export function isKept({ action, key, prompt, data }: NewRequest): boolean {
  return action === "run" && (key != null || prompt != null || data != null);
}

/** How long a request is kept after it was made, in milliseconds. */
export function keptMs(request: NewRequest): number {
  return request.prompt != null || request.data != null ? ORDER_MS : KEY_MS;
}

/**
 * Reads the answer whenever `subscribe` calls back, and every `lookMs` because that may fail, until there is one or the time
 * is over.
 */
export async function pollAnswer(
  { clock, timeoutMs, signal }: WaitOptions,
  lookMs: number,
  read: () => Promise<RequestAnswer | undefined>,
  subscribe: (changed: () => void) => Promise<() => void> | (() => void),
): Promise<RequestAnswer | undefined> {
  const untilMs = clock.monotonic() + timeoutMs;
  let isChanged = false;
  let wake: (() => void) | undefined;
  const changed = (): void => {
    isChanged = true;
    wake?.();
  };
  signal?.addEventListener("abort", changed, { once: true });
  const unsubscribe = await subscribe(changed);
  try {
    for (;;) {
      isChanged = false;
      const answer = await read();
      const leftMs = untilMs - clock.monotonic();
      if (answer !== undefined || leftMs <= 0 || signal?.aborted === true) return answer;
      if (isChanged) continue;
      await new Promise<void>((resolve) => {
        const callOff = wakeAfter(clock, Math.min(leftMs, lookMs), resolve);
        wake = () => {
          callOff();
          resolve();
        };
      });
    }
  } finally {
    signal?.removeEventListener("abort", changed);
    unsubscribe();
  }
}

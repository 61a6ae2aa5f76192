/**
 * Remembers polls that left due slots because the limit was reached. A node that claims such a slot later must know that it
 * was seen in time. We store when the polls were, not each slot that they left. Polls that stay relevant for a moment are
 * shared with the other nodes.
 */

/** Slots that are claimed within this time are not worth sharing. */
const MOMENT_MS = 250;

/** What a poll shares with the other nodes: an earlier poll that left slots, and that the polls before `fromMs` are outdated. */
export interface SharedPolls {
  readonly pollMs: number | undefined;
  readonly fromMs: number | undefined;
}

export interface Poll {
  readonly atMs: number;
  readonly monotonicMs: number;
  readonly shared: SharedPolls;
  /** Whether it may have left due slots. */
  readonly hasDeferred: boolean;
  /** When the oldest slot that it claimed came due. */
  readonly oldestMs: number;
}

/** Shares nothing. */
export const NO_POLLS: SharedPolls = { pollMs: undefined, fromMs: undefined };

export class DeferredSlots {
  /** Whether there is nothing to remember, to share or to take back. */
  isEmpty = true;
  /** When polls left slots, by the clock that decides what is due; the oldest first. */
  #polls: readonly number[] = [];
  /** The polls that were shared, also some outdated ones. */
  #shared: readonly number[] = [];
  /** When the first poll of the latest moment was made, on the monotonic clock. */
  #momentMs = -Infinity;
  /** Whether the latest poll is not the first of its moment, so that a later one of the same moment replaces it. */
  #isLatestOfMoment = false;

  /** When polls left slots that may still wait, the oldest first. */
  get polls(): readonly number[] {
    return this.#polls;
  }

  /** When a slot that came due at this time was first left; `undefined` if it was not. */
  seenMs(dueMs: number): number | undefined {
    return this.#polls.find((atMs) => atMs >= dueMs);
  }

  /** What a poll at this time shares. */
  toShare(monotonicMs: number): SharedPolls {
    const latestMs = this.#polls.at(-1) ?? -Infinity;
    const latestSharedMs = this.#shared.at(-1) ?? -Infinity;
    const isSetBack = latestSharedMs > latestMs;
    const firstMs = isSetBack ? Infinity : (this.#polls[0] ?? Infinity);
    const isNew = latestMs !== latestSharedMs && monotonicMs - this.#momentMs >= MOMENT_MS;
    return {
      pollMs: isNew && latestMs !== -Infinity ? latestMs : undefined,
      fromMs: (this.#shared[0] ?? Infinity) < firstMs ? firstMs : undefined,
    };
  }

  notePoll({ atMs, monotonicMs, shared, hasDeferred, oldestMs }: Poll): void {
    const { pollMs, fromMs = -Infinity } = shared;
    this.#shared = this.#shared.filter((each) => each >= fromMs).concat(pollMs ?? []);
    const isSetBack = atMs < (this.#polls.at(-1) ?? -Infinity);
    // Slots that are claimed later came due no earlier. When the clock was set back, every slot that comes due is new.
    this.#polls = hasDeferred && !isSetBack ? this.#polls.filter((each) => each >= oldestMs) : [];
    this.isEmpty = !hasDeferred && this.#shared.length === 0;
    if (!hasDeferred) return;
    const isInMoment = this.#polls.length > 0 && monotonicMs - this.#momentMs < MOMENT_MS;
    // Of the polls in one moment the first and the latest stay: the latest may be the last one for a while.
    this.#polls = [...(isInMoment && this.#isLatestOfMoment ? this.#polls.slice(0, -1) : this.#polls), atMs];
    this.#isLatestOfMoment = isInMoment;
    if (!isInMoment) this.#momentMs = monotonicMs;
  }

  /** To be called when the defined schedules have changed: no earlier poll could see the new ones. */
  forget(): void {
    this.#polls = [];
    this.#shared = [];
    this.isEmpty = true;
  }
}

/**
 * Looks that left slots for want of room. Whoever claims one of these later has to know that it was seen in time: what is
 * kept of it is when the looks were, however many slots they left. Others are told of those that go on for a moment.
 */

/** Slots that are claimed again and again in short order are not worth telling others of. */
const MOMENT_MS = 250;

/** What others are told of by a look: one before it that left something, and that those before a time are of no use. */
export interface LookNews {
  readonly lookMs: number | undefined;
  readonly fromMs: number | undefined;
}

export interface TakenLook {
  readonly atMs: number;
  readonly monotonicMs: number;
  readonly told: LookNews;
  /** Whether it may have left something. */
  readonly hasLeft: boolean;
  /** When the oldest slot had come due that it took. */
  readonly oldestMs: number;
}

export class LeftSlots {
  /** When looks left something, by the clock that decides; the oldest first. */
  #looks: readonly number[] = [];
  /** Those of them that others know of, and some that are of no use any more. */
  #told: readonly number[] = [];
  /** When the first of the latest moment was taken, on the monotonic clock. */
  #takenMs = -Infinity;
  /** Whether the latest look is not that one, and gives way to a later one of the same moment. */
  #isLatestOfMoment = false;
  #leftMs: number | undefined;

  /** When the latest look was, if that left something. */
  get leftMs(): number | undefined {
    return this.#leftMs;
  }

  /** When looks left something that may still wait, the oldest first. */
  get looks(): readonly number[] {
    return this.#looks;
  }

  /** When a slot that came due then was first seen and left; `undefined` where it was not. */
  seenMs(dueMs: number): number | undefined {
    return this.#looks.find((atMs) => atMs >= dueMs);
  }

  /** What a look tells that is taken now. */
  news(monotonicMs: number): LookNews {
    const latestMs = this.#looks.at(-1) ?? -Infinity;
    const latestToldMs = this.#told.at(-1) ?? -Infinity;
    const isSetBack = latestToldMs > latestMs;
    const firstMs = isSetBack ? Infinity : (this.#looks[0] ?? Infinity);
    const isNews = latestMs !== latestToldMs && monotonicMs - this.#takenMs >= MOMENT_MS;
    return {
      lookMs: isNews && latestMs !== -Infinity ? latestMs : undefined,
      fromMs: (this.#told[0] ?? Infinity) < firstMs ? firstMs : undefined,
    };
  }

  note({ atMs, monotonicMs, told, hasLeft, oldestMs }: TakenLook): void {
    const { lookMs, fromMs = -Infinity } = told;
    this.#told = this.#told.filter((each) => each >= fromMs).concat(lookMs ?? []);
    this.#leftMs = hasLeft ? atMs : undefined;
    const isSetBack = atMs < (this.#looks.at(-1) ?? -Infinity);
    // What is claimed later came due no earlier. Where the clock was set back, what comes due is new.
    this.#looks = hasLeft && !isSetBack ? this.#looks.filter((each) => each >= oldestMs) : [];
    if (!hasLeft) return;
    const isInMoment = this.#looks.length > 0 && monotonicMs - this.#takenMs < MOMENT_MS;
    // Of the looks in one moment the first and the latest stay: that may be the last for a while.
    this.#looks = [...(isInMoment && this.#isLatestOfMoment ? this.#looks.slice(0, -1) : this.#looks), atMs];
    this.#isLatestOfMoment = isInMoment;
    if (!isInMoment) this.#takenMs = monotonicMs;
  }

  /** To be called when other schedules are defined, which no look before could see. */
  forget(): void {
    this.#looks = [];
    this.#told = [];
    this.#leftMs = undefined;
  }
}

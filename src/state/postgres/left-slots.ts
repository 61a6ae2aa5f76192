/**
 * Slots that a node saw and left because it had no room for them. Whoever claims one later has to know that it was seen
 * in time: those that wait for more than a moment are marked in the database, where all nodes find it.
 */

/** Slots that are claimed again and again in short order are not worth a write. */
const MOMENT_MS = 250;

/** Which slots are to be marked as seen: those that came due after the one and until the other. */
export interface Marking {
  readonly afterMs: number | undefined;
  readonly atMs: number;
}

export class LeftSlots {
  /** The first look that left something which is not marked yet. */
  #left: { readonly atMs: number; readonly monotonicMs: number } | undefined;
  /** What was due by then and was left has been marked. */
  #markedMs: number | undefined;

  /** When what is still to be marked was left. */
  get leftMs(): number | undefined {
    return this.#left?.atMs;
  }

  /** What is to be marked by a look that is taken now. */
  toMark(monotonicMs: number): Marking | undefined {
    if (this.#left === undefined || monotonicMs - this.#left.monotonicMs < MOMENT_MS) return undefined;
    return { afterMs: this.#markedMs, atMs: this.#left.atMs };
  }

  /** Takes note of a look: what it marked, and whether it may have left something. */
  note(atMs: number, monotonicMs: number, marked: Marking | undefined, hasLeft: boolean): void {
    if (marked !== undefined || !hasLeft) this.#left = undefined;
    // Where the clock was set back, what comes due is new.
    this.#markedMs = Math.min(atMs, hasLeft ? (marked?.atMs ?? this.#markedMs ?? -Infinity) : atMs);
    if (hasLeft) this.#left ??= { atMs, monotonicMs };
  }
}

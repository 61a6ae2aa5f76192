/**
 * When something can be claimed next, as far as that is known without asking: the latest answer told it, and what was
 * written here since then. What others write they give notice of, or it is found by the next look.
 */
export interface Look {
  readonly atMs: number;
  /** Whether it may have left something that was due and could have been claimed. */
  readonly hasLeft: boolean;
  /** Whether somebody waits for an agent's capacity. */
  readonly hasLines: boolean;
  /** When the next slot comes due that was not due yet; `undefined` for never. */
  readonly nextMs: number | undefined;
}

/** What was written. */
export interface WrittenSlots {
  /** When the first of them is due. */
  readonly dueMs: number;
  /** The first due time that one of them had, and has no longer. */
  readonly leftMs: number;
  /** Whether a claim has ended, which may let others run. */
  readonly hasEnded: boolean;
}

export class NextDue {
  #look: Look | undefined;
  #nextMs = Infinity;
  /** What was written since the latest look was asked for, which may not have seen it. */
  #unseenMs = Infinity;
  #hasUnseenEnd = false;
  #leftUnseenMs = Infinity;

  /** To be called before a look, which sees what was written by now. */
  noteAsking(): void {
    this.#unseenMs = Infinity;
    this.#hasUnseenEnd = false;
    this.#leftUnseenMs = Infinity;
  }

  noteLook(look: Look): void {
    this.#look = look;
    this.#nextMs = Math.min(look.nextMs ?? Infinity, this.#unseenMs);
    if (look.hasLines && this.#hasUnseenEnd) this.forget();
    this.#noteLeft(this.#leftUnseenMs);
  }

  noteWritten({ dueMs, leftMs, hasEnded }: WrittenSlots): void {
    this.#nextMs = Math.min(this.#nextMs, dueMs);
    this.#unseenMs = Math.min(this.#unseenMs, dueMs);
    this.#leftUnseenMs = Math.min(this.#leftUnseenMs, leftMs);
    this.#hasUnseenEnd ||= hasEnded;
    if (hasEnded && this.#look?.hasLines === true) this.forget();
    this.#noteLeft(leftMs);
  }

  /** What was the next may have been that one. */
  #noteLeft(leftMs: number): void {
    if (leftMs <= this.#nextMs && leftMs < Infinity) this.forget();
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#look = undefined;
  }

  /** With `lookedAt`, without what was left by a look at that time. */
  at(lookedAt: Date | undefined): { readonly dueAt: Date | undefined } | undefined {
    if (this.#look === undefined) return undefined;
    const { atMs, hasLeft } = this.#look;
    if (hasLeft && lookedAt === undefined) return { dueAt: new Date(atMs) };
    return { dueAt: this.#nextMs === Infinity ? undefined : new Date(this.#nextMs) };
  }
}

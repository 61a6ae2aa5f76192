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

export class NextDue {
  #look: Look | undefined;
  #nextMs = Infinity;
  /** What was written since the latest look was asked for, which may not have seen it. */
  #unseenMs = Infinity;
  #hasUnseenEnd = false;

  /** To be called before a look, which sees what was written by now. */
  noteAsking(): void {
    this.#unseenMs = Infinity;
    this.#hasUnseenEnd = false;
  }

  noteLook(look: Look): void {
    this.#look = look;
    this.#nextMs = Math.min(look.nextMs ?? Infinity, this.#unseenMs);
    if (look.hasLines && this.#hasUnseenEnd) this.forget();
  }

  /** Takes note of a schedule that is due then, and whether a claim of it has ended, which may let others run. */
  noteWritten(dueMs: number | null, hasEnded: boolean): void {
    this.#nextMs = Math.min(this.#nextMs, dueMs ?? Infinity);
    this.#unseenMs = Math.min(this.#unseenMs, dueMs ?? Infinity);
    this.#hasUnseenEnd ||= hasEnded;
    if (hasEnded && this.#look?.hasLines === true) this.forget();
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

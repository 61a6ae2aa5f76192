/** Group commit: whatever is added while one write is under way goes into the next, together. */

export class GroupCommit<Change> {
  readonly #write: (batch: readonly Change[]) => Promise<void>;
  #next: Change[] = [];
  /** The write that will take `#next`; `undefined` while nothing waits. */
  #scheduled: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(write: (batch: readonly Change[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when a write that holds `change` has ended, and rejects as that write did. */
  add(change: Change): Promise<void> {
    this.#next.push(change);
    if (this.#scheduled === undefined) {
      const scheduled = this.#last.then(() => this.#writeNext());
      this.#scheduled = scheduled;
      // What follows waits for this write, whatever becomes of it.
      this.#last = scheduled.catch(() => {});
    }
    return this.#scheduled;
  }

  /** Resolves when everything added so far has been written, or was refused. */
  async settled(): Promise<void> {
    await this.#last;
  }

  #writeNext(): Promise<void> {
    const batch = this.#next;
    this.#next = [];
    this.#scheduled = undefined;
    return this.#write(batch);
  }
}

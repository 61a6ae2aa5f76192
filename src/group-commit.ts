/** Group commit: whatever is added while one write is under way goes into the next, together. */

export interface GroupCommitOptions<Change> {
  /** How many writes may be under way at once. @default 1 */
  readonly atOnce?: number | undefined;
  /** A write that would hold more begins another. @default Infinity */
  readonly most?: number | undefined;
  /** What a change counts for. @default 1 */
  readonly sizeOf?: ((change: Change) => number) | undefined;
}

interface Batch<Change> {
  readonly changes: Change[];
  size: number;
  readonly written: Promise<void>;
}

export class GroupCommit<Change> {
  readonly #write: (batch: readonly Change[]) => Promise<void>;
  readonly #most: number;
  readonly #sizeOf: (change: Change) => number;
  /** Takes what comes until it is full, or its write begins. */
  #next: Batch<Change> | undefined;
  #freeCount: number;
  /** Writes that wait for one before them to end, the oldest first. */
  readonly #waiting: (() => void)[] = [];
  /** All that have not ended, whatever becomes of them. */
  readonly #underWay = new Set<Promise<void>>();

  constructor(
    write: (batch: readonly Change[]) => Promise<void>,
    { atOnce = 1, most = Infinity, sizeOf = () => 1 }: GroupCommitOptions<Change> = {},
  ) {
    this.#write = write;
    this.#most = most;
    this.#sizeOf = sizeOf;
    this.#freeCount = atOnce;
  }

  /** Resolves when a write that holds `change` has ended, and rejects as that write did. */
  add(change: Change): Promise<void> {
    const size = this.#sizeOf(change);
    if (this.#next === undefined || this.#next.size + size > this.#most) this.#next = this.#begin();
    const batch = this.#next;
    batch.changes.push(change);
    batch.size += size;
    return batch.written;
  }

  /** Resolves when everything added so far has been written, or was refused. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #begin(): Batch<Change> {
    const changes: Change[] = [];
    const written = this.#turn().then(() => {
      if (this.#next?.changes === changes) this.#next = undefined;
      return this.#write(changes);
    });
    const ended: Promise<void> = this.#ended(written).finally(() => this.#underWay.delete(ended));
    this.#underWay.add(ended);
    return { changes, size: 0, written };
  }

  /** Resolves when it has ended, whatever became of it, and its place has been given to the next. */
  async #ended(written: Promise<void>): Promise<void> {
    await written.catch(() => {});
    this.#passOn();
  }

  #turn(): Promise<void> {
    if (this.#freeCount === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#freeCount--;
    return Promise.resolve();
  }

  #passOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#freeCount++;
    else next();
  }
}

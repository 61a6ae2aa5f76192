/** Group commit: changes that are added during a write go into the next write together. */

export interface GroupCommitOptions<Change> {
  /** How many writes may run in parallel. @default 1 */
  readonly atOnce?: number | undefined;
  /** The largest size of a batch; a change that would exceed it begins a new batch. @default Infinity */
  readonly most?: number | undefined;
  /** The size of a change. @default 1 */
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
  /** Collects changes until it is full, or its write begins. */
  #next: Batch<Change> | undefined;
  #freeCount: number;
  /** Starts the writes that wait for a running one to end, the oldest first. */
  readonly #waiting: (() => void)[] = [];
  /** The writes of all batches that have not ended. */
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

  /** Settles as the write that holds `change` does. */
  add(change: Change): Promise<void> {
    const size = this.#sizeOf(change);
    if (this.#next === undefined || this.#next.size + size > this.#most) this.#next = this.#begin();
    const batch = this.#next;
    batch.changes.push(change);
    batch.size += size;
    return batch.written;
  }

  /** Resolves when everything added so far has been written or has failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  #begin(): Batch<Change> {
    const changes: Change[] = [];
    const written = this.#writeInTurn(changes);
    const passOn = (): void => {
      this.#underWay.delete(written);
      const next = this.#waiting.shift();
      if (next === undefined) this.#freeCount++;
      else next();
    };
    this.#underWay.add(written);
    written.then(passOn, passOn);
    return { changes, size: 0, written };
  }

  async #writeInTurn(changes: readonly Change[]): Promise<void> {
    if (this.#freeCount === 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#freeCount--;
      // What is added in the same turn as the first change belongs to its batch.
      await Promise.resolve();
    }
    if (this.#next?.changes === changes) this.#next = undefined;
    await this.#write(changes);
  }
}

/** Tasks that must not overlap take turns, in the order in which they asked. */

export class AsyncLock {
  /** The last one that was to overlap with nothing. */
  #last: Promise<unknown> = Promise.resolve();
  /** Those that may overlap with each other and came after it, until they have ended. */
  readonly #sharing = new Set<Promise<unknown>>();

  /** Runs `task` when all before it have ended, whatever became of them. */
  take<Result>(task: () => Promise<Result>): Promise<Result> {
    const before = this.#sharing.size === 0 ? this.#last : Promise.all([this.#last, ...this.#sharing]);
    const turn = before.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Runs `task` beside others that share, and not before what was to overlap with nothing has ended. */
  share<Result>(task: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(task);
    const ended: Promise<unknown> = turn.catch(() => {}).then(() => this.#sharing.delete(ended));
    this.#sharing.add(ended);
    return turn;
  }
}

/** A mutex for asynchronous tasks, with a shared mode. Tasks begin in the order of their calls. */

export class AsyncLock {
  /** Ends with the latest exclusive task. */
  #exclusive: Promise<unknown> = Promise.resolve();
  /** The shared tasks since then that have not ended. */
  readonly #shared = new Set<Promise<unknown>>();

  /** Runs `task` alone: after every earlier task has ended, even if one failed. */
  take<Result>(task: () => Promise<Result>): Promise<Result> {
    const earlier =
      this.#shared.size === 0 ? this.#exclusive : Promise.all([this.#exclusive, ...this.#shared]);
    const running = earlier.then(task);
    this.#exclusive = running.catch(() => {});
    return running;
  }

  /** Runs `task` beside other shared tasks, after every earlier exclusive task has ended. */
  share<Result>(task: () => Promise<Result>): Promise<Result> {
    const running = this.#exclusive.then(task);
    const ended: Promise<unknown> = running.catch(() => {}).then(() => this.#shared.delete(ended));
    this.#shared.add(ended);
    return running;
  }
}

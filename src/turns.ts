/** Tasks that must not overlap take turns, in the order in which they asked. */

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `task` when all before it have ended, whatever became of them. */
  take<Result>(task: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

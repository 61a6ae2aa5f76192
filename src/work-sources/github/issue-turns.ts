/** Calls of one adapter about the same issue take turns; those about different issues do not wait for each other. */
import { AsyncLock } from "../../async-lock.js";

interface Line {
  readonly turns: AsyncLock;
  /** How many are in it; the last one takes the line away. */
  length: number;
}

export class IssueTurns {
  readonly #lines = new Map<number, Line>();

  async take<Result>(number: number, task: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(number) ?? { turns: new AsyncLock(), length: 0 };
    this.#lines.set(number, line);
    line.length++;
    try {
      return await line.turns.take(task);
    } finally {
      if (--line.length === 0) this.#lines.delete(number);
    }
  }
}

/** Says what is wrong with a file once, and again only when the file has changed. */
import { BoundedCache } from "../../bounded-cache.js";
import type { Logger } from "../../logger.js";

const REMEMBERED = 10_000;

export class Complaints {
  readonly #logger: Logger;
  readonly #made = new BoundedCache<string, string>(REMEMBERED);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `sign` is what tells one version of the file from another. */
  make(path: string, problem: string, sign = ""): void {
    const complaint = `${sign} ${problem}`;
    if (this.#made.get(path) === complaint) return;
    this.#made.set(path, complaint);
    this.#logger.warn(`Skipped a file of work: ${path} ${problem}.`);
  }
}

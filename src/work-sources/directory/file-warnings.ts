/** Logs why a file was skipped: once, and again only after the file has changed. */
import { BoundedCache } from "../../bounded-cache.js";
import type { Logger } from "../../logger.js";

const REMEMBERED = 10_000;

export class FileWarnings {
  readonly #logger: Logger;
  readonly #logged = new BoundedCache<string, string>(REMEMBERED);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `version` differs after a change of the file. */
  warn(path: string, problem: string, version = ""): void {
    const warning = `${version} ${problem}`;
    if (this.#logged.get(path) === warning) return;
    this.#logged.set(path, warning);
    this.#logger.warn(`Skipped a work file: ${path} ${problem}.`);
  }
}

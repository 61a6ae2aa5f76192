/** Repeats the upkeep of a store's job log while the store is open, off the path of jobs. */
import { type Clock, wakeAfter } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";

/** How often records are closed that no claim belongs to, and old jobs are removed. */
export const UPKEEP_INTERVAL_MS = 300_000;

export interface UpkeepOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stops early when the signal fires. */
  readonly task: (signal: AbortSignal) => Promise<void>;
}

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #stopped = new AbortController();
  #callOff: () => void = () => {};
  #running: Promise<void> = Promise.resolve();
  #isTold = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#rest();
  }

  /** Resolves when no run is under way. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#callOff();
    await this.#running;
  }

  #rest(): void {
    this.#callOff = wakeAfter(this.#options.clock, UPKEEP_INTERVAL_MS, () => {
      this.#running = this.#once();
    });
  }

  async #once(): Promise<void> {
    const { task, logger } = this.#options;
    const { signal } = this.#stopped;
    try {
      await task(signal);
      this.#isTold = false;
    } catch (error) {
      if (!this.#isTold && !signal.aborted) logger.warn(`Could not tidy the job log: ${messageOf(error)}`);
      this.#isTold = true;
    }
    if (!signal.aborted) this.#rest();
  }
}

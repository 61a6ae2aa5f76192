/**
 * Shows that this node lives, and keeps its claims alive however long a pass of its scheduler takes. Three times in a
 * lease, in real time: where a clock was given, whoever moves that renews.
 */
import { unrefClock, wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";

const BEATS_IN_A_LEASE = 3;

export class Heartbeat {
  readonly #intervalMs: number;
  readonly #beat: () => Promise<void>;
  readonly #logger: Logger;
  #isStopped = false;
  #callOff: () => void = () => {};
  #beating: Promise<void> = Promise.resolve();

  constructor(leaseMs: number, beat: () => Promise<void>, logger: Logger) {
    this.#intervalMs = leaseMs / BEATS_IN_A_LEASE;
    this.#beat = beat;
    this.#logger = logger;
    this.#rest();
  }

  /** Resolves when no beat is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff();
    await this.#beating;
  }

  #rest(): void {
    this.#callOff = wakeAfter(unrefClock, this.#intervalMs, () => {
      this.#beating = this.#once();
    });
  }

  async #once(): Promise<void> {
    try {
      await this.#beat();
    } catch (error) {
      this.#logger.warn(`Could not renew what this node holds: ${messageOf(error)}`);
    }
    if (!this.#isStopped) this.#rest();
  }
}

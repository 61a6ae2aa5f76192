/**
 * Calls `beat` three times in a lease, in real time. It renews no claims: the scheduler does, because it stops jobs whose
 * leases run out (scheduler/claims/lease-guard.ts).
 */
import { unrefClock, wakeAfter } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";

const BEATS_IN_A_LEASE = 3;

export class Heartbeat {
  readonly #intervalMs: number;
  readonly #beat: () => Promise<void>;
  readonly #logger: Logger;
  #isStopped = false;
  #callOff: () => void = () => {};
  #beating: Promise<void> = Promise.resolve();
  #isTold = false;

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
      this.#isTold = false;
    } catch (error) {
      if (!this.#isTold) this.#logger.warn(`Could not show a sign of life: ${messageOf(error)}`);
      this.#isTold = true;
    }
    if (!this.#isStopped) this.#rest();
  }
}

/** The clock of a store: the one it was made with, else the one given to `open`. */
import { type Clock, systemClock } from "../clock.js";

export class StoreClock implements Clock {
  readonly #isGiven: boolean;
  #clock: Clock;

  constructor(given: Clock | undefined) {
    this.#isGiven = given !== undefined;
    this.#clock = given ?? systemClock;
  }

  /** Two clocks in one scheduler would never agree on what is due. */
  adopt(clock: Clock | undefined): void {
    if (!this.#isGiven && clock !== undefined) this.#clock = clock;
  }

  now(): Date {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }
}

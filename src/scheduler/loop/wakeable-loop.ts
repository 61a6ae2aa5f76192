/** A loop of passes that never overlap: after each it sleeps for as long as the pass said, or until it is woken. */
import { type Clock, wakeAfter } from "../../clock.js";

/** Returns how long to sleep, in milliseconds, or `undefined` to end the loop. Does not reject. */
type RunPass = () => Promise<number | undefined>;

export class WakeableLoop {
  readonly #clock: Clock;
  readonly #pass: RunPass;
  /** Ends the sleep under way. */
  #rouse: () => void = () => {};
  #isWoken = false;
  #isStopped = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(clock: Clock, pass: RunPass) {
    this.#clock = clock;
    this.#pass = pass;
  }

  /** Resolves when the loop has ended. */
  run(): Promise<void> {
    this.#ended = this.#run();
    return this.#ended;
  }

  /** Ends the sleep, also one that is still to begin. */
  wake(): void {
    // Every job of a burst wakes the loop when it ends, and once is enough.
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#rouse();
  }

  /** No pass begins from now on. Resolves when the one under way has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    return this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#isWoken = false;
      const ms = await this.#pass();
      if (ms === undefined) return;
      await this.#sleep(ms);
    }
  }

  async #sleep(ms: number): Promise<void> {
    // What happened during the pass may be news to it.
    if (this.#isWoken) return;
    await new Promise<void>((resolve) => {
      const callOff = wakeAfter(this.#clock, ms, resolve);
      this.#rouse = () => {
        callOff();
        resolve();
      };
    });
    this.#rouse = () => {};
  }
}

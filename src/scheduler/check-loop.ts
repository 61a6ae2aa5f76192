/** A loop of passes that never overlap: after each it sleeps for as long as the pass said, or until somebody wakes it. */
import type { Clock } from "../clock.js";

export class CheckLoop {
  readonly #clock: Clock;
  readonly #pass: () => Promise<number | undefined>;
  #alarm: AbortController | undefined;
  #isWoken = false;
  #isStopped = false;
  #ended: Promise<void> = Promise.resolve();

  /** `pass` answers how long to sleep, in milliseconds, or `undefined` when the loop is to end. It does not throw. */
  constructor(clock: Clock, pass: () => Promise<number | undefined>) {
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
    // Every job of a burst wakes the loop when it ends, and each abort would make an exception.
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#alarm?.abort();
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
    const alarm = new AbortController();
    this.#alarm = alarm;
    try {
      await this.#clock.sleep(ms, alarm.signal);
    } catch (error) {
      if (!alarm.signal.aborted) throw error;
    } finally {
      this.#alarm = undefined;
    }
  }
}

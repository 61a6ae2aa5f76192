/** A loop of passes that never overlap: after each it sleeps for as long as the pass said, or until it is woken. */
import { type Clock, wakeAfter } from "../../clock.js";

/** What the loop repeats. */
export interface Repeated {
  /** Returns how long to sleep, in milliseconds, or `undefined` to end the loop. Does not reject. */
  run(): Promise<number | undefined>;
  /** How long nothing will be due, in milliseconds, when nothing runs either. */
  readonly idleMs?: number | undefined;
  /** Counts runs that were left out, because nothing would have been due in them. */
  readonly skip?: ((count: number) => void) | undefined;
}

/** One run at a time; it may be run again after it has ended. */
export class WakeableLoop {
  readonly #clock: Clock;
  /** Ends the sleep under way. */
  #endSleep: (() => void) | undefined;
  #isWoken = false;
  #isStopped = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the loop has ended. */
  run(repeated: Repeated): Promise<void> {
    this.#isStopped = false;
    this.#ended = this.#run(repeated);
    return this.#ended;
  }

  /** Ends the sleep, also one that is still to begin. */
  wake(): void {
    // Every job of a burst wakes the loop when it ends, and once is enough.
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#endSleep?.();
  }

  /** No pass begins from now on. Resolves when the one under way has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    return this.#ended;
  }

  async #run(repeated: Repeated): Promise<void> {
    while (!this.#isStopped) {
      this.#isWoken = false;
      const ms = await repeated.run();
      if (ms === undefined) return;
      await this.#sleep(ms, repeated);
    }
  }

  async #sleep(ms: number, { idleMs, skip }: Repeated): Promise<void> {
    // A wake during the pass means that it may have missed something.
    if (this.#isWoken) return;
    let cancel: (() => void) | undefined;
    await new Promise<void>((wake) => {
      if (idleMs === undefined || skip === undefined || this.#clock.wakeWhenIdle === undefined)
        cancel = wakeAfter(this.#clock, ms, wake);
      else cancel = this.#clock.wakeWhenIdle({ owner: this, periodMs: ms, idleMs, wake, skip });
      this.#endSleep = wake;
    });
    this.#endSleep = undefined;
    cancel?.();
  }
}

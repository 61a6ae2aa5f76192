/** A clock that stands still while there is something to do, and leaps over the time in which there is not. */
export class LeapingClock {
  #ms = Date.UTC(2026, 0, 1);
  #mayLeap;
  #sleepers = new Set();

  /** `mayLeap` is asked when somebody goes to sleep; `true` takes them to the end of the sleep at once. */
  constructor(mayLeap) {
    this.#mayLeap = mayLeap;
  }

  now() {
    return new Date(this.#ms);
  }

  monotonic() {
    return this.#ms;
  }

  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      const sleeper = { ms, resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => this.#sleepers.delete(sleeper) && reject(signal.reason));
      this.ask();
    });
  }

  /** Asks `mayLeap` again, for those who sleep. */
  ask() {
    for (const sleeper of this.#sleepers) {
      if (!this.#mayLeap()) return;
      this.#sleepers.delete(sleeper);
      this.#ms += sleeper.ms;
      setImmediate(() => sleeper.resolve());
    }
  }
}

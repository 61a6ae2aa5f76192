/** Ctrl-C for a job in the foreground: the first cancels the job, the second exits immediately. */
import { type RunHost, STOP_SIGNALS } from "./host.js";

export class StopSignals implements Disposable {
  readonly #controller = new AbortController();
  readonly #stopListening: () => void;

  constructor(host: RunHost) {
    this.#stopListening = host.onSignal((signal) => {
      if (signal === "SIGHUP") return;
      if (this.signal.aborted) host.exit(128 + STOP_SIGNALS[signal]);
      else this.#controller.abort(new DOMException(`Stopped by ${signal}`, "AbortError"));
    });
  }

  /** Aborts at the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#stopListening();
  }
}

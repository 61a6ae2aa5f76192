/** The process around a run, for a test: sends signals, sets the terminal's size, and records the exit. */
import type { RunHost, RunSignal } from "../../../src/cli/run/host.js";

export class FakeHost implements RunHost {
  /** The exit code of an immediate exit. */
  exitCode: number | undefined = undefined;
  height = 24;
  readonly #signalled = new Set<(signal: RunSignal) => void>();
  readonly #resized = new Set<() => void>();
  readonly #exiting = new Set<() => void>();

  /** The number of listeners. */
  get listeners(): number {
    return this.#signalled.size + this.#resized.size + this.#exiting.size;
  }

  signal(signal: RunSignal): void {
    for (const listener of this.#signalled) listener(signal);
  }

  resize(height: number): void {
    this.height = height;
    for (const listener of this.#resized) listener();
  }

  readonly onSignal: RunHost["onSignal"] = (listener) => added(this.#signalled, listener);
  readonly onResize: RunHost["onResize"] = (listener) => added(this.#resized, listener);
  readonly onExit: RunHost["onExit"] = (listener) => added(this.#exiting, listener);
  readonly rows = (): number => this.height;
  readonly exit = (code: number): void => {
    this.exitCode = code;
    for (const listener of this.#exiting) listener();
  };
}

function added<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

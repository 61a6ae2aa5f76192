/**
 * The listeners to changes that came from outside a store object. A listener that throws does not affect the rest.
 */
import type { Logger } from "../logger.js";
import type { OutsideChange } from "./store.js";

type OutsideListener = (changes: readonly OutsideChange[]) => void;

export class OutsideListeners {
  readonly #logger: Logger;
  readonly #listeners = new Set<OutsideListener>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns a function that removes the listener. */
  add(listener: OutsideListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(changes: readonly OutsideChange[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(changes);
      } catch (error) {
        this.#logger.error(`A listener to outside changes threw: ${String(error)}`);
      }
    }
  }
}

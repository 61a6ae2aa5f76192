/** Stores on state directories that belong to others: shared while somebody uses them, and let go of afterwards. */
import { resolve } from "node:path";
import type { Clock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { FileStore } from "./file-store.js";
import { inTime } from "../../runner/time-limit.js";

interface Guest {
  readonly store: FileStore;
  users: number;
}

export class GuestStores {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #closeTimeoutMs: number;
  readonly #guests = new Map<string, Guest>();

  constructor(clock: Clock, logger: Logger, closeTimeoutMs: number) {
    this.#clock = clock;
    this.#logger = logger;
    this.#closeTimeoutMs = closeTimeoutMs;
  }

  /** Owns nothing: whoever owns the directory goes on beside it. */
  async use<Result>(stateDir: string, act: (store: FileStore) => Promise<Result>): Promise<Result> {
    const path = resolve(stateDir);
    const guest = this.#guests.get(path) ?? this.#enter(path);
    guest.users++;
    try {
      return await act(guest.store);
    } finally {
      guest.users--;
      if (guest.users === 0) await this.#leave(path, guest);
    }
  }

  #enter(stateDir: string): Guest {
    const guest = { store: new FileStore({ stateDir, clock: this.#clock, logger: this.#logger }), users: 0 };
    this.#guests.set(stateDir, guest);
    return guest;
  }

  async #leave(path: string, { store }: Guest): Promise<void> {
    this.#guests.delete(path);
    try {
      await inTime(this.#clock, this.#closeTimeoutMs, store.close(), "it did not close");
    } catch (error) {
      this.#logger.warn(`Could not let go of ${path}: ${messageOf(error)}`);
    }
  }
}

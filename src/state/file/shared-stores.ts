/**
 * File stores, each shared by the calls that use the same file at the same time. These stores never own their
 * directory, so a scheduler may run on it meanwhile.
 */
import { resolve } from "node:path";
import { type Clock, systemClock, withTimeout } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { FileStore, type FileStoreOptions } from "./file-store.js";

export interface SharedStoresOptions {
  /** @default systemClock */
  readonly clock?: Clock | undefined;
  /**
   * How many stores stay in memory after their last call, with no file open; the oldest make room for new ones.
   * @default 0: a store closes after its last call
   */
  readonly kept?: number | undefined;
  /** How long closing a store may take, in milliseconds. @default 30_000 */
  readonly closeTimeoutMs?: number | undefined;
}

interface SharedStore {
  readonly store: FileStore;
  /** The loggers of the calls under way. */
  readonly loggers: Logger[];
}

export class SharedStores {
  readonly #options: SharedStoresOptions;
  readonly #kept: number;
  /** By the path of their file, the oldest first. */
  readonly #stores = new Map<string, SharedStore>();

  constructor(options: SharedStoresOptions = {}) {
    this.#options = options;
    this.#kept = options.kept ?? 0;
  }

  /** Calls `act` with the store of a state file. `logger` gets what the store logs meanwhile. */
  async use<Result>(
    file: Pick<FileStoreOptions, "stateDir" | "fileName">,
    logger: Logger,
    act: (store: FileStore) => Promise<Result>,
  ): Promise<Result> {
    const path = resolve(file.stateDir, file.fileName ?? ".");
    const shared = this.#stores.get(path) ?? this.#add(path, file);
    const { store, loggers } = shared;
    loggers.push(logger);
    try {
      return await act(store);
    } finally {
      const isLast = loggers.length === 1;
      if (isLast && this.#kept === 0) await this.#close(path, shared, logger);
      else {
        loggers.splice(loggers.indexOf(logger), 1);
        if (isLast) await store.rest();
      }
    }
  }

  #add(path: string, file: Pick<FileStoreOptions, "stateDir" | "fileName">): SharedStore {
    for (const oldest of this.#stores.keys()) {
      if (this.#kept === 0 || this.#stores.size < this.#kept) break;
      this.#stores.delete(oldest);
    }
    const loggers: Logger[] = [];
    const { stateDir, fileName } = file;
    const store = new FileStore({
      stateDir,
      fileName,
      clock: this.#options.clock,
      logger: loggerOfAll(loggers),
    });
    const shared = { store, loggers };
    this.#stores.set(path, shared);
    return shared;
  }

  async #close(path: string, { store }: SharedStore, logger: Logger): Promise<void> {
    const { clock = systemClock, closeTimeoutMs = 30_000 } = this.#options;
    this.#stores.delete(path);
    try {
      await withTimeout(clock, closeTimeoutMs, store.close(), () => {
        throw new Error(`it did not close in ${closeTimeoutMs} ms.`);
      });
    } catch (error) {
      logger.warn(`Could not close the store of ${path}: ${messageOf(error)}`);
    }
  }
}

/** Passes each line on to every logger that the list holds at that time, once. */
function loggerOfAll(loggers: readonly Logger[]): Logger {
  const logTo =
    (level: keyof Logger) =>
    (message: string): void => {
      for (const logger of new Set(loggers)) logger[level]?.(message);
    };
  return { debug: logTo("debug"), info: logTo("info"), warn: logTo("warn"), error: logTo("error") };
}

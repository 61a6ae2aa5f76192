/**
 * Reads a configuration again when one of its files changes, and reports the differences. An invalid configuration
 * changes nothing: the last valid one stays in use.
 */
import { dirname, resolve } from "node:path";
import { type Clock, unrefClock, wakeAfter } from "../../clock.js";
import { type Duration, readDuration } from "../../duration.js";
import { messageOf } from "../../errors.js";
import { guarded, type Logger, processLogger } from "../../logger.js";
import { AsyncLock } from "../../async-lock.js";
import type { Config } from "../config.js";
import { type ConfigChanges, configChanges } from "./config-changes.js";
import { type WatchDirectory, watchDirectory } from "./directory-watch.js";
import { ConfigError } from "../../scheduler/definition/errors.js";
import { areSame, hasVanished, type Identities, identitiesOf } from "./file-identities.js";
import { loadConfig } from "../load-config.js";
import type { ConfigOptions } from "../parse-config.js";

export interface WatchOptions extends ConfigOptions {
  /** Called with each configuration that differs from the one before. */
  readonly onChange: (config: Config, changes: ConfigChanges) => unknown;
  /** Called when a changed configuration is invalid. @default logs a warning */
  readonly onProblem?: ((error: ConfigError) => unknown) | undefined;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the files must stay unchanged before they are read: milliseconds, or text such as "1s".
   * @default 200
   */
  readonly debounceMs?: Duration | undefined;
  /**
   * How often the files are polled, for changes that the system did not report: milliseconds, or text such as "5s".
   * @default 5000
   */
  readonly pollMs?: Duration | undefined;
  /** @default the system clock, with timers that do not keep the process alive */
  readonly clock?: Clock | undefined;
  /** Receives the errors of listeners. @default process warnings */
  readonly logger?: Logger | undefined;
}

export interface ConfigWatch extends Disposable {
  /** The last valid configuration. */
  readonly config: Config;
  /** Reads the files now, changed or not. Resolves when they are read and the listener is called. */
  reload(): Promise<void>;
  /** May be called again. */
  close(): void;
}

/**
 * Reads the file, and reads it again after changes until the watch is closed or its signal fires. Rejects with ConfigError
 * when the first configuration is invalid. Does not keep the process alive.
 */
export async function watchConfig(file: string, options: WatchOptions): Promise<ConfigWatch> {
  options.signal?.throwIfAborted();
  return ConfigWatcher.open(file, options, watchDirectory);
}

const DEFAULT_DEBOUNCE_MS = 200;
const DEFAULT_POLL_MS = 5_000;
/** A missing file may come back at once, as after a rename: it must be missing for so many debounce times. */
const MISSING_ROUNDS = 10;

/** A result, and the identities of the files before they were read: the next check finds changes during the read. */
interface Reading {
  readonly result: Config | ConfigError;
  readonly seen: Identities;
}

export class ConfigWatcher implements ConfigWatch {
  readonly #file: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #debounceMs: number;
  readonly #pollMs: number;
  readonly #watchDirectory: WatchDirectory;
  readonly #lock = new AsyncLock();
  readonly #ended = new AbortController();
  #config: Config;
  #seen: Identities;
  #checking: "idle" | "once" | "again" = "idle";
  #stopWatching: readonly (() => void)[] = [];
  #callOffPoll: () => void = () => {};

  static async open(file: string, options: WatchOptions, watch: WatchDirectory): Promise<ConfigWatcher> {
    const { result, seen } = await read(file, options, [resolve(file)]);
    if (result instanceof ConfigError) throw result;
    options.signal?.throwIfAborted();
    const watcher = new ConfigWatcher(file, options, watch, { config: result, seen });
    options.signal?.addEventListener("abort", watcher.#close, { once: true });
    watcher.#watch();
    watcher.#check();
    watcher.#poll();
    return watcher;
  }

  private constructor(
    file: string,
    options: WatchOptions,
    watch: WatchDirectory,
    { config, seen }: { readonly config: Config; readonly seen: Identities },
  ) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? unrefClock;
    this.#log = guarded(options.logger ?? processLogger);
    this.#debounceMs = readDuration(options.debounceMs ?? DEFAULT_DEBOUNCE_MS, "debounceMs");
    this.#pollMs = readDuration(options.pollMs ?? DEFAULT_POLL_MS, "pollMs");
    this.#watchDirectory = watch;
    this.#config = config;
    this.#seen = seen;
  }

  get config(): Config {
    return this.#config;
  }

  async reload(): Promise<void> {
    await this.#lock.take(() => this.#read());
  }

  close(): void {
    this.#ended.abort();
    this.#options.signal?.removeEventListener("abort", this.#close);
    this.#callOffPoll();
    this.#stopAll();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  readonly #close = (): void => this.close();

  get #isClosed(): boolean {
    return this.#ended.signal.aborted;
  }

  #poll(): void {
    this.#callOffPoll = wakeAfter(this.#clock, this.#pollMs, () => {
      this.#check();
      this.#poll();
    });
  }

  /** Call it whenever something may have changed: one check runs at a time, and calls meanwhile cause one more. */
  #check(): void {
    if (this.#isClosed) return;
    if (this.#checking !== "idle") {
      this.#checking = "again";
      return;
    }
    this.#checking = "once";
    void this.#readIfChanged();
  }

  async #readIfChanged(): Promise<void> {
    try {
      // Outside the lock, so that `reload` does not wait until the files stay unchanged.
      if (await this.#haveChanged()) await this.reload();
    } catch (error) {
      if (!this.#isClosed) this.#log.error(`Could not watch ${this.#file}: ${messageOf(error)}`);
    }
    const isDueAgain = this.#checking === "again";
    this.#checking = "idle";
    if (isDueAgain) this.#check();
  }

  /** Whether the files differ from the ones that were read. Resolves when they stay unchanged. */
  async #haveChanged(): Promise<boolean> {
    let before = await this.#identities();
    for (let unchangedRounds = 0; !areSame(before, this.#seen);) {
      await this.#clock.sleep(this.#debounceMs, this.#ended.signal);
      const now = await this.#identities();
      unchangedRounds = areSame(before, now) ? unchangedRounds + 1 : 0;
      before = now;
      if (unchangedRounds >= (hasVanished(this.#seen, now) ? MISSING_ROUNDS : 1)) return true;
    }
    return false;
  }

  #identities(): Promise<Identities> {
    return identitiesOf([...this.#seen.keys()]);
  }

  async #read(): Promise<void> {
    const { result, seen } = await read(this.#file, this.#options, [...this.#seen.keys()]);
    if (this.#isClosed) return;
    this.#seen = seen;
    this.#watch();
    if (result instanceof ConfigError) {
      this.#notify(() => this.#refuse(result));
    } else {
      const changes = configChanges(this.#config, result);
      this.#config = result;
      if (changes !== undefined) this.#notify(() => this.#options.onChange(result, changes));
    }
    // A file may have changed before its directory was watched.
    this.#check();
  }

  #refuse(error: ConfigError): unknown {
    const { onProblem } = this.#options;
    if (onProblem !== undefined) return onProblem(error);
    this.#log.warn(`Kept the last valid configuration, because the changed one is invalid. ${error.message}`);
    return undefined;
  }

  /** Does not wait for the listener, which may call `reload`. */
  #notify(listener: () => unknown): void {
    const call = async (): Promise<void> => {
      try {
        await listener();
      } catch (error) {
        this.#log.error(`A listener for changes of ${this.#file} failed: ${messageOf(error)}`);
      }
    };
    void call();
  }

  /** Starts all watches anew, because a directory may have been replaced. */
  #watch(): void {
    this.#stopAll();
    const directories = new Set(Array.from(this.#seen.keys(), (path) => dirname(path)));
    this.#stopWatching = Array.from(directories, (directory) =>
      this.#watchDirectory(directory, () => this.#check()),
    );
  }

  #stopAll(): void {
    for (const stop of this.#stopWatching) stop();
    this.#stopWatching = [];
  }
}

/** `known` are the files of the last read. When the read finds a new file, it is repeated with the identity of that file. */
async function read(file: string, options: WatchOptions, known: readonly string[]): Promise<Reading> {
  const first = await readOnce(file, options, known);
  const { files } = first.result;
  // Problems may have kept some of the files from being read.
  const paths = new Set(first.result instanceof ConfigError ? [...known, ...files] : files);
  if ([...paths].some((path) => !first.seen.has(path))) return readOnce(file, options, [...paths]);
  return { ...first, seen: new Map([...first.seen].filter(([path]) => paths.has(path))) };
}

async function readOnce(file: string, options: WatchOptions, paths: readonly string[]): Promise<Reading> {
  const seen = await identitiesOf(paths);
  try {
    return { result: await loadConfig(file, options), seen };
  } catch (error) {
    if (error instanceof ConfigError) return { result: error, seen };
    throw error;
  }
}

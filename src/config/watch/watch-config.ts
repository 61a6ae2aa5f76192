/**
 * Reads a configuration again when one of its files changes, and tells what is different. A bad one changes nothing: the
 * last good one counts until there is a better.
 */
import { dirname, resolve } from "node:path";
import { type Clock, unrefClock, wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { guarded, type Logger, processLogger } from "../../logger.js";
import { Turns } from "../../async-lock.js";
import type { Config } from "../config.js";
import { type ConfigChanges, configChanges } from "./config-changes.js";
import { type WatchDirectory, watchDirectory } from "./directory-watch.js";
import { ConfigError } from "../../scheduler/definition/errors.js";
import { areSame, hasVanished, type Identities, identitiesOf } from "./file-identities.js";
import { loadConfig } from "../load-config.js";
import type { ConfigOptions } from "../parse-config.js";

export interface WatchOptions extends ConfigOptions {
  /** Told of each configuration that differs from the one before. */
  readonly onChange: (config: Config, changes: ConfigChanges) => unknown;
  /** Told why a changed file is not used. @default a warning in the log */
  readonly onProblem?: ((error: ConfigError) => unknown) | undefined;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the files must have been left alone before they are read, in milliseconds.
   * @default 200
   */
  readonly debounceMs?: number | undefined;
  /**
   * How often the files are looked at, for changes of which the system did not tell, in milliseconds.
   * @default 5000
   */
  readonly pollMs?: number | undefined;
  /** @default the machine's time, by which nothing keeps the process from ending */
  readonly clock?: Clock | undefined;
  /** Where a listener that throws is reported. @default process warnings */
  readonly logger?: Logger | undefined;
}

export interface ConfigWatch extends Disposable {
  /** The last good configuration. */
  readonly config: Config;
  /** Reads the files now, whether they have changed or not. Resolves when that is done and told. */
  reload(): Promise<void>;
  /** May be called again. */
  close(): void;
}

/**
 * Reads the file, and goes on reading it until it is closed or its signal fires. Rejects with ConfigError when the file is
 * bad to begin with. It does not keep the process from ending.
 */
export async function watchConfig(file: string, options: WatchOptions): Promise<ConfigWatch> {
  options.signal?.throwIfAborted();
  return ConfigWatcher.open(file, options, watchDirectory);
}

const DEFAULT_DEBOUNCE_MS = 200;
const DEFAULT_POLL_MS = 5_000;
/** A file that is gone may be on its way back: so many times as long it is waited for. */
const PATIENCE = 10;

/** What was read, and the files as they were before: what changes meanwhile is found by the next look. */
interface Reading {
  readonly result: Config | ConfigError;
  readonly seen: Identities;
}

export class ConfigWatcher implements ConfigWatch {
  readonly #file: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #watchDirectory: WatchDirectory;
  readonly #turns = new Turns();
  readonly #ended = new AbortController();
  #config: Config;
  #seen: Identities;
  #looking: "idle" | "once" | "again" = "idle";
  #stopWatching: readonly (() => void)[] = [];
  #callOffPoll: () => void = () => {};

  static async open(file: string, options: WatchOptions, watch: WatchDirectory): Promise<ConfigWatcher> {
    const { result, seen } = await read(file, options, [resolve(file)]);
    if (result instanceof ConfigError) throw result;
    options.signal?.throwIfAborted();
    const watcher = new ConfigWatcher(file, options, watch, { config: result, seen });
    options.signal?.addEventListener("abort", watcher.#close, { once: true });
    watcher.#watch();
    watcher.#look();
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
    this.#watchDirectory = watch;
    this.#config = config;
    this.#seen = seen;
  }

  get config(): Config {
    return this.#config;
  }

  async reload(): Promise<void> {
    await this.#turns.take(() => this.#read());
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
    this.#callOffPoll = wakeAfter(this.#clock, this.#options.pollMs ?? DEFAULT_POLL_MS, () => {
      this.#look();
      this.#poll();
    });
  }

  /** To be called whenever something may have changed; what comes while one looks is looked at afterwards. */
  #look(): void {
    if (this.#isClosed) return;
    if (this.#looking !== "idle") {
      this.#looking = "again";
      return;
    }
    this.#looking = "once";
    void this.#readIfChanged();
  }

  async #readIfChanged(): Promise<void> {
    try {
      // Without a turn: whoever asks for a reload does not wait for writers.
      if (await this.#haveChanged()) await this.reload();
    } catch (error) {
      if (!this.#isClosed) this.#log.error(`Could not watch ${this.#file}: ${messageOf(error)}`);
    }
    const isAsked = this.#looking === "again";
    this.#looking = "idle";
    if (isAsked) this.#look();
  }

  /** Whether the files are others than those that were read; resolves when they are left alone. */
  async #haveChanged(): Promise<boolean> {
    const { debounceMs = DEFAULT_DEBOUNCE_MS } = this.#options;
    let before = await this.#identities();
    for (let quiet = 0; !areSame(before, this.#seen);) {
      await this.#clock.sleep(debounceMs, this.#ended.signal);
      const now = await this.#identities();
      quiet = areSame(before, now) ? quiet + 1 : 0;
      before = now;
      if (quiet >= (hasVanished(this.#seen, now) ? PATIENCE : 1)) return true;
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
      this.#tell(() => this.#refuse(result));
    } else {
      const changes = configChanges(this.#config, result);
      this.#config = result;
      if (changes !== undefined) this.#tell(() => this.#options.onChange(result, changes));
    }
    // Nobody heard of what changed while nobody watched.
    this.#look();
  }

  #refuse(error: ConfigError): unknown {
    const { onProblem } = this.#options;
    if (onProblem !== undefined) return onProblem(error);
    this.#log.warn(`The configuration was not reloaded. ${error.message}`);
    return undefined;
  }

  /** Not waited for: a listener may want to reload. */
  #tell(listener: () => unknown): void {
    const call = async (): Promise<void> => {
      try {
        await listener();
      } catch (error) {
        this.#log.error(`A listener for changes of ${this.#file} failed: ${messageOf(error)}`);
      }
    };
    void call();
  }

  /** All anew, because a directory may be another than it was. */
  #watch(): void {
    this.#stopAll();
    const directories = new Set(Array.from(this.#seen.keys(), (path) => dirname(path)));
    this.#stopWatching = Array.from(directories, (directory) =>
      this.#watchDirectory(directory, () => this.#look()),
    );
  }

  #stopAll(): void {
    for (const stop of this.#stopWatching) stop();
    this.#stopWatching = [];
  }
}

/** `known` are the files it was read from before. One that comes to be known only now is read once more. */
async function read(file: string, options: WatchOptions, known: readonly string[]): Promise<Reading> {
  const first = await readOnce(file, options, known);
  const { files } = first.result;
  // A bad one may have been read only in part.
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

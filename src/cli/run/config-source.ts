/** Where a run's configuration comes from: read at the start, and again when a file changes or somebody asks for it. */
import type { Clock } from "../../clock.js";
import type { Config } from "../../config/config.js";
import type { ConfigError } from "../../scheduler/definition/errors.js";
import { type WatchDirectory, watchDirectory } from "../../config/watch/directory-watch.js";
import { type ConfigWatch, ConfigWatcher } from "../../config/watch/watch-config.js";
import type { Logger } from "../../logger.js";
import type { CliContext } from "../context.js";

export interface ConfigListener {
  readonly onChange: (config: Config) => void;
  readonly onProblem: (error: ConfigError) => void;
}

export interface SourceOptions extends ConfigListener {
  readonly isWatching: boolean;
  readonly env: CliContext["env"];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Hears of nothing, for who does not want to. */
const deaf: WatchDirectory = () => () => {};

/** Rejects with ConfigError when the file is bad to begin with. */
export function openConfig(file: string, { isWatching, ...options }: SourceOptions): Promise<ConfigWatch> {
  return isWatching
    ? ConfigWatcher.open(file, options, watchDirectory)
    : ConfigWatcher.open(file, { ...options, pollMs: Infinity }, deaf);
}

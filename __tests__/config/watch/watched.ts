import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import type { ConfigChanges } from "../../../src/config/watch/config-changes.js";
import type { WatchDirectory } from "../../../src/config/watch/directory-watch.js";
import type { ConfigError } from "../../../src/scheduler/definition/errors.js";
import { ConfigWatcher, type WatchOptions } from "../../../src/config/watch/watch-config.js";

/** A watched configuration, what was told of it, and a clock that stands still until it is moved. */
export interface Watched {
  readonly watch: ConfigWatcher;
  readonly clock: FakeClock;
  readonly changes: ConfigChanges[];
  readonly problems: ConfigError[];
}

/** Tells of nothing, as a network disk does. */
export const deaf: WatchDirectory = () => () => {};

export async function watched(
  directory: string,
  watchDirectory: WatchDirectory,
  options: Partial<WatchOptions> = {},
): Promise<Watched> {
  const clock = new FakeClock();
  const changes: ConfigChanges[] = [];
  const problems: ConfigError[] = [];
  const watch = await ConfigWatcher.open(
    join(directory, "rota.yaml"),
    {
      clock,
      env: {},
      onChange: (_, change) => changes.push(change),
      onProblem: (error) => problems.push(error),
      ...options,
    },
    watchDirectory,
  );
  onTestFinished(() => watch.close());
  return { watch, clock, changes, problems };
}

/** Lets time pass, a little at a time, until something has come about; files take turns of the event loop, not time. */
export async function passUntil(clock: FakeClock, isDone: () => boolean): Promise<void> {
  while (!isDone()) await clock.advance(50);
}

/** Lets so much time pass that whatever was to happen has. */
export async function passLong(clock: FakeClock): Promise<void> {
  for (let step = 0; step < 400; step++) await clock.advance(50);
}

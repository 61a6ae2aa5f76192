/** Hears of changes in directories, as far as the system tells of them; who must not miss one looks now and then as well. */
import { type FSWatcher, watch } from "node:fs";

/** Calls `onEvent` when something may have changed in a directory, and answers how to stop. Does not throw. */
export type WatchDirectory = (directory: string, onEvent: () => void) => () => void;

/** Directories, because an editor that renames over a file leaves nobody watching the new one. */
export const watchDirectory: WatchDirectory = (directory, onEvent) => {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(directory, { persistent: false }, () => onEvent());
    // The directory is gone, or the system has no more watches.
    watcher.on("error", () => watcher?.close());
  } catch {
    // Looking now and then has to do.
  }
  return () => watcher?.close();
};

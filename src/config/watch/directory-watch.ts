/** Watches directories for changes. The system may lose an event, so a caller that needs every change polls as well. */
import { type FSWatcher, watch } from "node:fs";

/** Calls `onEvent` when something may have changed in the directory. Returns a function that stops the watch. Never throws. */
export type WatchDirectory = (directory: string, onEvent: () => void) => () => void;

/** Watches the directory, because a watch of a file ends when an editor replaces the file by a rename. */
export const watchDirectory: WatchDirectory = (directory, onEvent) => {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(directory, { persistent: false }, () => onEvent());
    // The directory was removed, or the system is out of watches.
    watcher.on("error", () => watcher?.close());
  } catch {
    // The caller's polling finds the changes.
  }
  return () => watcher?.close();
};

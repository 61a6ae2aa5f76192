/** Paths for messages. */
import { relative } from "node:path";

/** Relative to the working directory for a path inside it, as compilers print paths. */
export function shownPath(file: string): string {
  const way = relative("", file);
  return way === "" || way.startsWith("..") ? file : way;
}

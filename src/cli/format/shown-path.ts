/** A path as people read it. */
import { relative } from "node:path";

/** As short as it can be said from here, which is how compilers say it. */
export function shownPath(file: string): string {
  const way = relative("", file);
  return way === "" || way.startsWith("..") ? file : way;
}

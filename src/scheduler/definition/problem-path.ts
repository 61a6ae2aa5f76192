/** A path as people say it: `agents[2] "writer", schedule "nightly", expression`. Pure. */
import { quote } from "../../errors.js";
import type { Path } from "../../config/yaml/located-value.js";

export function pathInWords(path: Path, nameOfAgent: (index: number) => string | undefined): string {
  const words: string[] = [];
  for (const [index, step] of path.entries()) {
    const before = path[index - 1];
    if (typeof step === "number") {
      const name = index === 1 && before === "agents" ? nameOfAgent(step) : undefined;
      words.push(`${words.pop() ?? ""}[${step}]${name === undefined ? "" : ` ${quote(name)}`}`);
    } else if (before === "schedules" && isOfAgent(path, index - 1)) {
      words[words.length - 1] = `schedule ${quote(step)}`;
    } else words.push(keyInWords(step));
  }
  return words.join(", ");
}

/** The key at the end of a path, with the indexes behind it: `command[1]`. */
export function lastKey(path: Path): string {
  const from = path.findLastIndex((step) => typeof step === "string");
  const indexes = path.slice(from + 1).map((index) => `[${index}]`);
  return `${keyInWords(String(path[from] ?? "configuration"))}${indexes.join("")}`;
}

function isOfAgent(path: Path, index: number): boolean {
  return index === 2 && path[0] === "agents";
}

function keyInWords(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : quote(key);
}

/** How the problems of a configuration are shown: each with its place, its sentence and its frame. Pure. */
import type { ConfigProblem } from "./errors.js";

/** A file with more mistakes than this is the wrong file. */
const MOST_SHOWN = 100;

export function showProblems(problems: readonly ConfigProblem[], file: string | undefined): string {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const shown = problems.slice(0, MOST_SHOWN).map(showProblem);
  const rest = problems.length - shown.length;
  const more = rest === 0 ? [] : [`… and ${rest} more.`];
  return [`${file ?? "The configuration"} has ${count}.`, ...shown, ...more].join("\n\n");
}

function showProblem({ file, line, column, where, message, frame }: ConfigProblem): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(":");
  const head = [position, where].filter((part) => part !== "").join(" ");
  const lines = head === "" ? [message] : [head, `  ${message}`];
  return (frame === undefined ? lines : [...lines, frame]).join("\n");
}

/**
 * A fault is what a check finds wrong with a value: a sentence and the path of keys that leads to it. Pure.
 * Lines and columns are unknown here: a reader of files adds them when it makes problems of the faults.
 */
import { quote } from "../../errors.js";
import type { ConfigProblem, ConfigProblemCode } from "./errors.js";

export type Path = readonly (string | number)[];

export interface Fault {
  readonly code: ConfigProblemCode;
  readonly message: string;
  readonly path: Path;
  readonly given?: string | undefined;
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
  /** The text may hold a password, so a problem does not show it. */
  readonly isSecret?: boolean | undefined;
}

/** What a reader of files knows about the value at a path below the subject. */
export interface ValueOrigin {
  /** The text of a scalar before variables were put in; `undefined` where it has none. */
  writtenText(path: Path): string | undefined;
  /** Whether variables were put into the value or a part of it, so that it may be secret. */
  isInterpolated(path: Path): boolean;
  /** Whether the reader reported a problem with the value or a part of it. */
  hasProblem(path: Path): boolean;
}

/** The name of an agent by its index, as far as it is known. */
export type AgentNames = (index: number) => string | undefined;

export type ProblemPosition = Pick<ConfigProblem, "column" | "file" | "frame" | "line">;

/** Explaining a fault takes most of a millisecond, so the checks stop after this many. */
export const MOST_FAULTS = 2_000;

const NO_POSITION: ProblemPosition = {
  file: undefined,
  line: undefined,
  column: undefined,
  frame: undefined,
};

export function problemOf(
  fault: Fault,
  nameOfAgent: AgentNames,
  position: ProblemPosition = NO_POSITION,
): ConfigProblem {
  const { code, message, path, given, expected, suggestion } = fault;
  const { file, line, column, frame } = position;
  const where = pathText(path, nameOfAgent);
  return { code, message, where, path, given, expected, suggestion, file, line, column, frame };
}

/** A path as a message shows it: `agents[2] "writer", schedule "nightly", expression`. */
function pathText(path: Path, nameOfAgent: AgentNames): string {
  const parts: string[] = [];
  for (const [index, step] of path.entries()) {
    const before = path[index - 1];
    if (typeof step === "number") {
      const name = index === 1 && before === "agents" ? nameOfAgent(step) : undefined;
      parts.push(`${parts.pop() ?? ""}[${step}]${name === undefined ? "" : ` ${quote(name)}`}`);
    } else if (index === 3 && before === "schedules" && path[0] === "agents") {
      parts[parts.length - 1] = `schedule ${quote(step)}`;
    } else parts.push(keyText(step));
  }
  return parts.join(", ");
}

/** The last key of a path, with the indexes behind it: `command[1]`. */
export function lastKey(path: Path): string {
  const from = path.findLastIndex((step) => typeof step === "string");
  const indexes = path.slice(from + 1).map((index) => `[${index}]`);
  return `${keyText(String(path[from] ?? "configuration"))}${indexes.join("")}`;
}

function keyText(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : quote(key);
}

/** What is wrong with a configuration: every problem with its position, and one error whose message shows them all. */
import { RotaError } from "../../errors.js";

export type ConfigErrorCode =
  /** The file, or a file that it names, has problems. */
  | "INVALID_CONFIG"
  /** The file itself could not be read. */
  | "UNREADABLE_CONFIG";

export type ConfigProblemCode =
  | "DUPLICATE_KEY"
  | "DUPLICATE_NAME"
  | "FILE_CYCLE"
  | "INVALID_VALUE"
  | "MISSING_KEY"
  | "SYNTAX"
  | "TOO_LARGE"
  | "UNKNOWN_KEY"
  | "UNKNOWN_TYPE"
  | "UNREADABLE_FILE"
  | "UNSET_VARIABLE";

/** One mistake, and where it is. It shows the text as written, never a value from the environment. */
export interface ConfigProblem {
  readonly code: ConfigProblemCode;
  /** What is wrong, and what was expected. */
  readonly message: string;
  /** The path as text: `agents[2] "writer", schedule "nightly", expression`. Empty for a whole file. */
  readonly where: string;
  /** The path as keys and indexes. */
  readonly path: readonly (string | number)[];
  readonly given: string | undefined;
  readonly expected: string | undefined;
  /** The key, type or value that the author probably meant. */
  readonly suggestion: string | undefined;
  /** `undefined` for a configuration that was not read from a file. */
  readonly file: string | undefined;
  /** Counts from 1. */
  readonly line: number | undefined;
  /** Counts from 1, in UTF-16 units. */
  readonly column: number | undefined;
  /** The line with carets under the text; `undefined` where it may hold a password. */
  readonly frame: string | undefined;
}

export interface ConfigErrorOptions {
  readonly code?: ConfigErrorCode | undefined;
  /** What has the problems, where they are in no file. @default "The configuration" */
  readonly subject?: string | undefined;
  readonly file?: string | undefined;
  readonly files?: readonly string[] | undefined;
}

/** Its message shows all problems. */
export class ConfigError extends RotaError<ConfigErrorCode> {
  /** In the order of their positions in the files. */
  readonly problems: readonly ConfigProblem[];
  /** The absolute paths of the files that were read or looked for. */
  readonly files: readonly string[];

  constructor(problems: readonly ConfigProblem[], options: ConfigErrorOptions = {}) {
    const { code = "INVALID_CONFIG", subject = "The configuration", file = subject, files = [] } = options;
    super(messageFor(problems, file), { code });
    this.problems = problems;
    this.files = files;
  }
}
ConfigError.prototype.name = "ConfigError";

/** A file with more mistakes than this is probably not a configuration. */
const MOST_SHOWN = 100;

function messageFor(problems: readonly ConfigProblem[], subject: string): string {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const shown = problems.slice(0, MOST_SHOWN).map(problemText);
  const rest = problems.length - shown.length;
  const more = rest === 0 ? [] : [`… and ${rest} more.`];
  return [`${subject} has ${count}.`, ...shown, ...more].join("\n\n");
}

function problemText({ file, line, column, where, message, frame }: ConfigProblem): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(":");
  const head = [position, where].filter((part) => part !== "").join(" ");
  const lines = head === "" ? [message] : [head, `  ${message}`];
  return (frame === undefined ? lines : [...lines, frame]).join("\n");
}

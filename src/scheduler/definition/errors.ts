/**
 * What is wrong with a configuration: every problem with its place, and one error that carries them all.
 * How they are shown is decided in show-problems.ts.
 */
import { RotaError } from "../../errors.js";
import { showProblems } from "./show-problems.js";

export type ConfigErrorCode =
  /** The file was read, and it or one that it names has problems. */
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

/** One mistake, and where it is. What comes from the environment is never shown, only the text as it was written. */
export interface ConfigProblem {
  readonly code: ConfigProblemCode;
  /** What is wrong, and what was expected. */
  readonly message: string;
  /** The place in words: `agents[2] "writer", schedule "nightly", expression`. Empty for a file as a whole. */
  readonly where: string;
  /** The same as keys and indexes. */
  readonly path: readonly (string | number)[];
  readonly given: string | undefined;
  readonly expected: string | undefined;
  /** The key, type or value that was probably meant. */
  readonly suggestion: string | undefined;
  /** `undefined` where the configuration is no file. */
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
  readonly file?: string | undefined;
  readonly files?: readonly string[] | undefined;
}

/** Its message has all problems. */
export class ConfigError extends RotaError<ConfigErrorCode> {
  /** In the order in which they stand in their files. */
  readonly problems: readonly ConfigProblem[];
  /** The absolute paths of the files that were read or looked for. */
  readonly files: readonly string[];

  constructor(problems: readonly ConfigProblem[], options: ConfigErrorOptions = {}) {
    const { code = "INVALID_CONFIG", file, files = [] } = options;
    super(showProblems(problems, file), { code });
    this.problems = problems;
    this.files = files;
  }
}
ConfigError.prototype.name = "ConfigError";

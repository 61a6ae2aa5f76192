/** The errors of the command itself, and which exit code each error of Rota ends it with. */
import { ConfigError } from "../scheduler/definition/errors.js";
import { RotaError } from "../errors.js";
import { EXIT, type ExitCode } from "./exit-codes.js";

export type CliErrorCode = "NOT_FOUND" | "REFUSED" | "USAGE";

export class CliError extends RotaError<CliErrorCode> {}
CliError.prototype.name = "CliError";

/** The command was called in a way it cannot be. */
export function usageError(message: string, cause?: unknown): CliError {
  return new CliError(message, { code: "USAGE", cause });
}

/** What was named is not there. */
export function notFoundError(message: string): CliError {
  return new CliError(message, { code: "NOT_FOUND" });
}

/** It could be done, but would do harm. */
export function refusedError(message: string, cause?: unknown): CliError {
  return new CliError(message, { code: "REFUSED", cause });
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof ConfigError) return EXIT.usage;
  if (!(error instanceof CliError)) return EXIT.failure;
  if (error.code === "USAGE") return EXIT.usage;
  return error.code === "NOT_FOUND" ? EXIT.notFound : EXIT.failure;
}

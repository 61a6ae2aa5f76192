/** The errors of the command line, and the exit code for each error of Rota. */
import { ConfigError } from "../scheduler/definition/errors.js";
import { messageOf, RotaError } from "../errors.js";
import { SchedulerError } from "../scheduler/errors.js";
import { EXIT, type ExitCode } from "./exit-codes.js";

export type CliErrorCode = "NOT_FOUND" | "REFUSED" | "USAGE";

export class CliError extends RotaError<CliErrorCode> {}
CliError.prototype.name = "CliError";

/** Invalid arguments or options. */
export function usageError(message: string, cause?: unknown): CliError {
  return new CliError(message, { code: "USAGE", cause });
}

/** Calls a function. What the scheduler's rules refuse is a mistake in the call. */
export function asUsage<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (error instanceof SchedulerError) throw usageError(messageOf(error), error);
    throw error;
  }
}

/** A named agent, schedule, job or state does not exist. */
export function notFoundError(message: string): CliError {
  return new CliError(message, { code: "NOT_FOUND" });
}

/** The call is valid, but the current state does not allow it. */
export function refusedError(message: string, cause?: unknown): CliError {
  return new CliError(message, { code: "REFUSED", cause });
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof ConfigError) return EXIT.usage;
  if (!(error instanceof CliError)) return EXIT.failure;
  if (error.code === "USAGE") return EXIT.usage;
  return error.code === "NOT_FOUND" ? EXIT.notFound : EXIT.failure;
}

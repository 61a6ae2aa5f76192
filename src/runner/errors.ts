/** What can be wrong with how an agent's jobs are to run. */
import { RotaError } from "../errors.js";

export type RunnerErrorCode =
  /** No runtime of this type is registered. */
  | "UNKNOWN_RUNTIME"
  /** A runtime of this type is registered already. */
  | "DUPLICATE_RUNTIME"
  /** The configuration of a runtime is wrong. */
  | "INVALID_RUNTIME"
  /** The agent does not say how its jobs run. */
  | "NO_RUNTIME"
  /** The store did not reply in time. */
  | "STORE_TIMEOUT"
  /** An argument or option is wrong. */
  | "INVALID_ARGUMENT";

export class RunnerError extends RotaError<RunnerErrorCode> {}
RunnerError.prototype.name = "RunnerError";

export function invalidArgument(message: string): RunnerError {
  return new RunnerError(message, { code: "INVALID_ARGUMENT" });
}

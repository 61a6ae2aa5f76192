/** The errors of work sources: a wrong configuration, or a source that rejects or fails. */
import { RotaError } from "../errors.js";

export type WorkSourceErrorCode =
  /** No type of the name is registered. */
  | "UNKNOWN_WORK_SOURCE"
  /** A type of the name is registered already. */
  | "DUPLICATE_WORK_SOURCE"
  /** The configuration of a known type is wrong. */
  | "INVALID_WORK_SOURCE"
  /** The agent never claimed the item through this manager. */
  | "UNKNOWN_WORK_ITEM"
  /** The source denies access: a token or a permission is missing or wrong. */
  | "WORK_SOURCE_FORBIDDEN"
  /** The source could not be reached, or sent an invalid response. A retry may succeed. */
  | "WORK_SOURCE_UNAVAILABLE";

export class WorkSourceError extends RotaError<WorkSourceErrorCode> {}
WorkSourceError.prototype.name = "WorkSourceError";

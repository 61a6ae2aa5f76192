/** What can be wrong with a work source: its configuration, or the source itself. */
import { RotaError } from "../errors.js";

export type WorkSourceErrorCode =
  /** No type of this name is registered. */
  | "UNKNOWN_WORK_SOURCE"
  /** A type of this name is registered already. */
  | "DUPLICATE_WORK_SOURCE"
  /** The configuration of a known type is wrong. */
  | "INVALID_WORK_SOURCE"
  /** Nobody has claimed an item of this id here. */
  | "UNKNOWN_WORK_ITEM"
  /** The source refuses whoever asks: a token is missing, wrong, or may not do this. */
  | "WORK_SOURCE_FORBIDDEN"
  /** The source could not be reached, or gave no sensible answer. Later it may. */
  | "WORK_SOURCE_UNAVAILABLE";

export class WorkSourceError extends RotaError<WorkSourceErrorCode> {}
WorkSourceError.prototype.name = "WorkSourceError";

/** The errors of the state layer, one class per decision a caller can make. */
import { RotaError } from "../errors.js";

export type StateErrorCode =
  | "INVALID_STATE"
  | "STATE_CLOSED"
  | "STATE_DATABASE"
  | "STATE_FILE"
  | "STATE_LOCKED"
  | "UNSUPPORTED_SYSTEM";

export class StateError extends RotaError<StateErrorCode> {}
StateError.prototype.name = "StateError";

/** A value from a caller that no store could keep. */
export function invalidState(message: string, cause?: unknown): StateError {
  return new StateError(message, { code: "INVALID_STATE", cause });
}

/** What was being done to a file when the system refused. */
export type FileOperation =
  | "append"
  | "create"
  | "link"
  | "list"
  | "lock"
  | "open"
  | "read"
  | "remove"
  | "rename"
  | "stat"
  | "sync"
  | "sync directory"
  | "write";

/** The disk refused: nothing was changed, and the same call may work once the cause is gone. */
export class StateFileError extends StateError {
  readonly path: string;
  readonly operation: FileOperation;

  constructor(path: string, operation: FileOperation, cause: unknown, advice = "") {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`Could not ${operation} ${path}: ${reason}${advice === "" ? "" : `. ${advice}`}`, {
      code: "STATE_FILE",
      cause,
    });
    this.path = path;
    this.operation = operation;
  }
}
StateFileError.prototype.name = "StateFileError";

/** Who holds a state directory. */
export interface StateOwner {
  readonly pid: number;
  readonly host: string;
  readonly since: Date;
}

/** A second process owns the state directory or took it over from this process, or the directory was deleted. */
export class StateLockedError extends StateError {
  readonly path: string;
  /** `undefined` where the one who took over is gone again. */
  readonly owner: StateOwner | undefined;
  /** Whether the directory was deleted under this process, so that no second process is involved. */
  readonly isDeleted: boolean;

  constructor(message: string, path: string, owner: StateOwner | undefined, isDeleted = false) {
    super(message, { code: "STATE_LOCKED" });
    this.path = path;
    this.owner = owner;
    this.isDeleted = isDeleted;
  }
}
StateLockedError.prototype.name = "StateLockedError";

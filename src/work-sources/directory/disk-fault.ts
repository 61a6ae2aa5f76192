/** Errors of the disk as errors of a work source: the path, the operation and the remedy. */
import { messageOf } from "../../errors.js";
import { errorCode } from "../../state/file/disk.js";
import { WorkSourceError } from "../errors.js";

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: " Let this user read, write and enter it.",
  EPERM: " Let this user read, write and enter it.",
  EROFS: " It must be writable.",
  ENOSPC: " Free some space.",
  EDQUOT: " Free some space.",
  ENOTDIR: " It must be a directory.",
  EXDEV: " The directories ready, working, done and failed must be on one file system.",
};
const FORBIDDEN = new Set(["EACCES", "EPERM", "EROFS"]);

export function diskFault(path: string, operation: string, cause: unknown): WorkSourceError {
  const code = errorCode(cause) ?? "";
  return new WorkSourceError(`Could not ${operation} ${path}: ${messageOf(cause)}.${ADVICE[code] ?? ""}`, {
    code: FORBIDDEN.has(code) ? "WORK_SOURCE_FORBIDDEN" : "WORK_SOURCE_UNAVAILABLE",
    cause,
  });
}

/** The result of the call; rejects with a WorkSourceError that names the path and the operation. */
export async function attempt<T>(path: string, operation: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw diskFault(path, operation, error);
  }
}

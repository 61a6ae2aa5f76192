/** What a failing disk means to who uses a directory of work: which path, what was tried, and what would help. */
import { messageOf } from "../../errors.js";
import { errorCode } from "../../state/file/disk.js";
import { WorkSourceError } from "../errors.js";

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: " Let this user read, write and enter it.",
  EPERM: " Let this user read, write and enter it.",
  EROFS: " It has to be writable.",
  ENOSPC: " Make space.",
  EDQUOT: " Make space.",
  ENOTDIR: " It has to be a directory.",
  EXDEV: " The directories ready, working, done and failed have to be on one file system.",
};
const FORBIDDEN = new Set(["EACCES", "EPERM", "EROFS"]);

export function diskFault(path: string, doing: string, cause: unknown): WorkSourceError {
  const code = errorCode(cause) ?? "";
  return new WorkSourceError(`Could not ${doing} ${path}: ${messageOf(cause)}.${ADVICE[code] ?? ""}`, {
    code: FORBIDDEN.has(code) ? "WORK_SOURCE_FORBIDDEN" : "WORK_SOURCE_UNAVAILABLE",
    cause,
  });
}

/** What the call returned, or a WorkSourceError that says which path and what was being done. */
export async function attempt<T>(path: string, doing: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw diskFault(path, doing, error);
  }
}

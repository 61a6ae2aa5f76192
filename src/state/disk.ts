/** The file system as the state layer uses it, passed in so that a test can make any single step fail. */
import * as fs from "node:fs/promises";
import { type FileOperation, StateFileError } from "./errors.js";

export type Disk = Pick<
  typeof fs,
  "link" | "lstat" | "mkdir" | "open" | "readdir" | "rename" | "rm" | "unlink" | "utimes"
>;

export const nodeDisk: Disk = fs;

/** The code of a system error: "ENOENT". */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What the call returned, or a StateFileError that says which path and which operation failed. */
export async function attempt<T>(path: string, operation: FileOperation, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw new StateFileError(path, operation, error);
  }
}

/** What the call returned, or `undefined` where the system answered with one of these codes. */
export async function unless<T>(codes: readonly string[], call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codes.includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** Makes the entries of a directory (its created, renamed and removed files) survive a power failure. */
export async function syncDirectory(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file system as the state layer uses it, passed in so that a test can make any single step fail. */
import { lstatSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { type FileOperation, StateFileError } from "../errors.js";

type PatientDisk = Pick<
  typeof fs,
  | "chmod"
  | "copyFile"
  | "link"
  | "lstat"
  | "mkdir"
  | "open"
  | "readdir"
  | "rename"
  | "rm"
  | "statfs"
  | "unlink"
  | "utimes"
>;

export interface Disk extends PatientDisk {
  /** Keeps the whole process waiting: only for disks that answer at once. */
  lstatSync: typeof lstatSync;
}

export const nodeDisk: Disk = { ...fs, lstatSync };

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

/** The result of the call, or `undefined` where it failed with one of the codes. */
export async function unless<T>(codes: readonly string[], call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codes.includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** What a file system answers that syncs files only. */
const NO_DIRECTORY_SYNC = ["EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"];

/** Makes the entries of a directory (its created, renamed and removed files) survive a power failure. */
export async function syncDirectory(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, "r");
  try {
    await unless(NO_DIRECTORY_SYNC, handle.sync());
  } finally {
    await handle.close();
  }
}

/**
 * Makes a directory, and missing ones above it, that only its owner can enter. One that is there already stays as it
 * is.
 */
export async function makePrivateDirectory(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path);
  const making = (): Promise<unknown> => disk.mkdir(path, 0o700);
  try {
    await making();
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    if (errorCode(error) !== "ENOENT") throw new StateFileError(path, "create", error);
    await makePrivateDirectory(disk, parent);
    await attempt(path, "create", unless(["EEXIST"], making()));
  }
  // Whatever the umask; by its path, for one that its owner cannot open.
  await attempt(path, "create", disk.chmod(path, 0o700));
  await attempt(parent, "sync directory", syncDirectory(disk, parent));
}

/** What had to be safe was synced before: a failing close takes nothing back. */
export async function closeQuietly(handle: FileHandle): Promise<void> {
  try {
    await handle.close();
  } catch {}
}

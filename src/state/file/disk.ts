/**
 * The file system as the state layer uses it, passed in so that a test can make any single step fail; and how a file is
 * replaced so that it is, at any moment and after any failure, wholly the old one or wholly the new one.
 */
import { type BigIntStats, constants, lstatSync, renameSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { type FileOperation, StateFileError } from "../errors.js";
import type { HeldLock } from "./lock/lock-directory.js";

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
  /** As `lstatSync`. */
  renameSync: typeof renameSync;
}

export const nodeDisk: Disk = { ...fs, lstatSync, renameSync };

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

/** The code with which the call failed, where it is one of `codes`; `undefined` where the call worked. */
export async function failureAmong(
  codes: ReadonlySet<string>,
  call: Promise<unknown>,
): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined || !codes.has(code)) throw error;
    return code;
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
  try {
    await disk.mkdir(path, 0o700);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    if (errorCode(error) !== "ENOENT") throw new StateFileError(path, "create", error);
    await makePrivateDirectory(disk, parent);
    await attempt(path, "create", unless(["EEXIST"], disk.mkdir(path, 0o700)));
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

/**
 * Takes one's own file out of a lock. A file that cannot be removed falls silent, and other processes remove it then.
 */
export async function removeQuietly(disk: Disk, file: string): Promise<void> {
  try {
    await disk.unlink(file);
  } catch {}
}

/** A version of a file: identified by its stats while the handle keeps its inode from being used again. */
export interface FileVersion {
  readonly stats: Pick<BigIntStats, "ino" | "size" | "mtimeNs">;
  /** `undefined` for a version so old that any later version has a different time. */
  readonly handle: FileHandle | undefined;
}

/** Whether the stats are those of the version. `undefined` stands for a file that does not exist. */
export function isVersion(
  stats: FileVersion["stats"] | undefined,
  version: FileVersion | undefined,
): boolean {
  const known = version?.stats;
  return known?.ino === stats?.ino && known?.size === stats?.size && known?.mtimeNs === stats?.mtimeNs;
}

/** What a file system answers that has no hard links, or not for this file. */
export const NO_HARD_LINKS: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
]);
const NO_OLD_VERSION: ReadonlySet<string> = new Set(["ENOENT", ...NO_HARD_LINKS]);

/** How a file is to be replaced. */
export interface Replacement {
  readonly bytes: Uint8Array;
  /** The version that the bytes were made from. */
  readonly from: FileVersion | undefined;
  /** The time that the file is given. */
  readonly now: Date;
  /** Whether the disk answers at once. */
  readonly isLocal: boolean;
}

/**
 * Writes the bytes into the lock's own file and renames that over `path`, which also gives the lock back. Changes nothing
 * and returns "lost" when a process took this one for dead and removed its lock, and "edited" when the file at `path` is
 * no longer the version that the bytes were made from.
 * `write-file-atomic` is not used: it takes a file cut short by a full disk for a success, and its names can be guessed.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  { bytes, from, now, isLocal }: Replacement,
  { file, handle }: HeldLock,
): Promise<FileVersion | "edited" | "lost"> {
  await attempt(path, "write", handle.writeFile(bytes));
  // A whole millisecond: the system gives no file such a time, so a later edit in place is always seen by its time.
  await attempt(path, "write", handle.utimes(now, now));
  await attempt(path, "sync", handle.sync());
  const stats = await attempt(path, "stat", handle.stat({ bigint: true }));
  if (stats.size !== BigInt(bytes.length)) {
    throw new StateFileError(path, "write", new Error(`${stats.size} of ${bytes.length} bytes were kept`));
  }
  // The old version stays at hand, in the lock, until the new one is safe.
  const old = `${file}.old`;
  const withoutOld = await attempt(path, "link", failureAmong(NO_OLD_VERSION, disk.link(path, old)));
  try {
    try {
      const present = isLocal
        ? disk.lstatSync(path, { bigint: true, throwIfNoEntry: false })
        : await unless(["ENOENT"], disk.lstat(path, { bigint: true }));
      if (!isVersion(present, from)) return "edited";
      // Where the disk answers at once, no other work of this process comes between comparing and replacing.
      if (isLocal) disk.renameSync(file, path);
      else await disk.rename(file, path);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return "lost";
      throw new StateFileError(path, "rename", error);
    }
    // Text that was written into the old version until now would be lost with it. The lock is still held: `old` is in it.
    const replaced =
      withoutOld === undefined ? disk.lstat(old, { bigint: true }).catch(putBack) : from?.stats;
    if (!isVersion(await attempt(path, "stat", Promise.resolve(replaced)), from)) {
      await attempt(path, "rename", disk.rename(old, path));
      return "edited";
    }
    await attempt(path, "sync directory", syncDirectory(disk, dirname(path)).catch(putBack));
  } finally {
    await removeQuietly(disk, old);
  }
  return { stats, handle };

  async function putBack(error: unknown): Promise<never> {
    if (withoutOld === undefined) await unless(["ENOENT"], disk.rename(old, path));
    throw error;
  }
}

/**
 * Opens a regular file for reading; never follows a link, never waits for a pipe. `undefined` when it does not exist.
 */
export async function openRegular(disk: Disk, path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return attempt(path, "open", unless(["ENOENT"], disk.open(path, flags)));
}

/**
 * Replacing a file so that it is, at any moment and after any failure, wholly the old one or wholly the new one.
 * `write-file-atomic` is not used: it takes a file cut short by a full disk for a success, and its names can be guessed.
 */
import { constants, type BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { attempt, type Disk, errorCode, syncDirectory, unless } from "./disk.js";
import { StateFileError } from "../errors.js";
import { type HeldLock, removeQuietly } from "./lock/lock-directory.js";

/** Identifies a version of a file as long as a handle holds it open: the system does not reuse an inode in use. */
export interface FileIdentity {
  readonly inode: bigint;
  readonly size: bigint;
  readonly modifiedNs: bigint;
}

/** A version of a file: its identity, and the handle that keeps its inode from being used again. */
export interface FileVersion {
  readonly identity: FileIdentity;
  /** `undefined` for a version so old that any later version has a different time. */
  readonly handle: FileHandle | undefined;
}

export function identityOf({ ino, size, mtimeNs }: BigIntStats): FileIdentity {
  return { inode: ino, size, modifiedNs: mtimeNs };
}

export function isSame(a: FileIdentity, b: FileIdentity): boolean {
  return a.inode === b.inode && a.size === b.size && a.modifiedNs === b.modifiedNs;
}

/** What a file system answers that has no hard links, or not for this file. */
export const NO_HARD_LINKS: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
]);

/**
 * Writes the bytes into the lock's own file and renames that over `path`, which also gives the lock back. Returns
 * `undefined`, and changes nothing, when the lock was lost because a process took this one for dead.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  { file, handle }: HeldLock,
): Promise<FileVersion | undefined> {
  await attempt(path, "write", handle.writeFile(bytes));
  await attempt(path, "sync", handle.sync());
  const stats = await attempt(path, "stat", handle.stat({ bigint: true }));
  if (stats.size !== BigInt(bytes.length)) {
    throw new StateFileError(path, "write", new Error(`${stats.size} of ${bytes.length} bytes were kept`));
  }
  // The old version stays at hand, in the lock, until the new one is safe.
  const old = `${file}.old`;
  const hasOld = await attempt(path, "link", linkOld(disk, path, old));
  try {
    if (!(await attempt(path, "rename", moveOver(disk, file, path)))) return undefined;
    await attempt(path, "sync directory", syncDirectory(disk, dirname(path)).catch(putBack));
  } finally {
    await removeQuietly(disk, old);
  }
  return { identity: identityOf(stats), handle };

  async function putBack(error: unknown): Promise<never> {
    if (hasOld) await unless(["ENOENT"], disk.rename(old, path));
    throw error;
  }
}

/** Whether there was an old version that could be linked. */
async function linkOld(disk: Disk, path: string, old: string): Promise<boolean> {
  try {
    await disk.link(path, old);
    return true;
  } catch (error) {
    const code = errorCode(error) ?? "";
    if (code === "ENOENT" || NO_HARD_LINKS.has(code)) return false;
    throw error;
  }
}

async function moveOver(disk: Disk, from: string, to: string): Promise<boolean> {
  try {
    await disk.rename(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
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

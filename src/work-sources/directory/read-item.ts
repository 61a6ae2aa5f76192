/** Reads an item's file, which must be a regular file, not a link, not too large, and valid UTF-8. */
import { constants, type Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { messageOf } from "../../errors.js";
import { closeQuietly, type Disk, errorCode } from "../../state/file/disk.js";
import type { FieldsProblem } from "../item-fields.js";
import type { WrittenItem } from "./item-text.js";

const LARGEST_BYTES = 1_048_576;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface ReadItem extends WrittenItem {
  readonly modifiedAt: Date;
}

/** The item, or why the file is invalid; `undefined` for a missing file. Never rejects, so a bad file affects no other item. */
export async function readItem(
  disk: Disk,
  path: string,
  name: string,
): Promise<ReadItem | FieldsProblem | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await disk.open(path, FLAGS);
    const stats = await handle.stat();
    const problem = fileProblem(stats);
    if (problem !== undefined) return { problem };
    const text = await textOf(handle, stats.size);
    // Loaded with the first item, because the YAML parser takes as long to load as the rest of Rota.
    const { readItemText } = await import("./item-text.js");
    const item = typeof text === "string" ? readItemText(name, text) : text;
    return "problem" in item ? item : { ...item, modifiedAt: stats.mtime };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    const problem = errorCode(error) === "ELOOP" ? "is a link" : `cannot be read: ${messageOf(error)}`;
    return { problem, isPassing: true };
  } finally {
    if (handle !== undefined) await closeQuietly(handle);
  }
}

/** Why the file cannot be an item's. */
export function fileProblem(stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return "is a link";
  if (stats.isDirectory()) return "is a directory";
  if (!stats.isFile()) return "is not a regular file";
  return stats.size > LARGEST_BYTES ? `is larger than ${LARGEST_BYTES} bytes` : undefined;
}

async function textOf(handle: FileHandle, size: number): Promise<FieldsProblem | string> {
  const bytes = Buffer.alloc(size + 1);
  let length = 0;
  for (let bytesRead = -1; bytesRead !== 0 && length <= size; length += bytesRead)
    ({ bytesRead } = await handle.read(bytes, length, bytes.length - length, length));
  if (length > size)
    return {
      problem:
        "grew while it was read: write the file in a different directory, and move it here when it is complete",
    };
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } catch {
    return { problem: "is not valid UTF-8" };
  }
}

/** Checks that the state directory exists, is private and writable, and has free space. Reads only. */
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../errors.js";
import { errorCode } from "../../state/file/disk.js";
import { failure, fine, type Finding, warning } from "./finding.js";

const ABOUT = "state directory";
const MEGABYTE = 1_000_000;
/** Room for a second copy of the state file while it is replaced, and for growing outputs. */
const LITTLE_ROOM_BYTES = 100 * MEGABYTE;
const NO_ROOM_BYTES = 5 * MEGABYTE;

export interface DirectoryFindings {
  readonly findings: readonly Finding[];
  /** Whether the content can be checked. */
  readonly isUsable: boolean;
}

export async function checkStateDirectory(path: string): Promise<DirectoryFindings> {
  let mode: number;
  try {
    const stats = await stat(path);
    if (!stats.isDirectory())
      return unusable(failure(ABOUT, `${path} is not a directory: remove it, or choose a different path`));
    ({ mode } = stats);
  } catch (error) {
    if (errorCode(error) === "ENOENT")
      return unusable(fine(ABOUT, `${path} does not exist yet: the first scheduler creates it`));
    return unusable(failure(ABOUT, `${path}: ${messageOf(error)}`));
  }
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return unusable(failure(ABOUT, `${path} is not accessible to this user: ${messageOf(error)}`));
  }
  return { findings: [privacy(path, mode), await room(path), ...(await damaged(path))], isUsable: true };
}

function unusable(finding: Finding): DirectoryFindings {
  return { findings: [finding], isUsable: false };
}

function privacy(path: string, mode: number): Finding {
  const shown = (mode & 0o777).toString(8);
  const isOpen = process.platform !== "win32" && (mode & 0o077) !== 0;
  if (!isOpen) return fine(ABOUT, `${path}, mode ${shown}`);
  return warning(ABOUT, `${path} has mode ${shown}: other users can read it. \`chmod 700\` makes it private`);
}

async function room(path: string): Promise<Finding> {
  const about = "free space";
  try {
    const { bavail, bsize, files, ffree } = await statfs(path);
    return judgeRoom({ freeBytes: bavail * bsize, hasNames: files === 0 || ffree > 0 });
  } catch (error) {
    return warning(about, `unknown: ${messageOf(error)}`);
  }
}

/** `hasNames`: whether the file system has a free inode, so that a file can be created. */
export function judgeRoom({
  freeBytes,
  hasNames,
}: {
  readonly freeBytes: number;
  readonly hasNames: boolean;
}): Finding {
  const about = "free space";
  const shown = formatBytes(freeBytes);
  if (!hasNames) return failure(about, "the file system has no free inodes: remove some files");
  if (freeBytes < NO_ROOM_BYTES) return failure(about, `${shown}: too little to write the state`);
  return freeBytes < LITTLE_ROOM_BYTES ? warning(about, `only ${shown}`) : fine(about, shown);
}

/** State files that a scheduler has renamed because it could not read them. */
async function damaged(path: string): Promise<readonly Finding[]> {
  const names = (await readdir(path)).filter((name) => name.includes(".corrupt-")).toSorted();
  const latest = names.at(-1);
  if (latest === undefined) return [];
  const count = names.length === 1 ? "a damaged state file was" : `${names.length} damaged state files were`;
  return [
    warning(
      "damaged files",
      `${count} kept, the latest is ${join(path, latest)}: inspect it, then remove it`,
    ),
  ];
}

/** "1.5 MB". */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  const shown = unit === 0 || size >= 10 ? String(Math.round(size)) : size.toFixed(1);
  return `${shown} ${units[unit] ?? ""}`;
}

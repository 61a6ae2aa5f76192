/** Whether a directory is on a disk of this machine: that answers at once, where a network may not for minutes. */
import type { Disk } from "./disk.js";

/** What Linux calls them. Any other disk is taken for one that may be far away. */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
]);

export async function isLocal(disk: Disk, directory: string): Promise<boolean> {
  try {
    const { type } = await disk.statfs(directory);
    // Some systems answer with a signed number.
    return LOCAL_TYPES.has(type >>> 0);
  } catch {
    return false;
  }
}

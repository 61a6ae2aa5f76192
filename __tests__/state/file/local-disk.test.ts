import { describe, expect, it } from "vitest";
import { type Disk, nodeDisk } from "../../../src/state/file/disk.js";
import { isLocal } from "../../../src/state/file/local-disk.js";

const diskOf = (statfs: () => Promise<unknown>): Disk => ({ ...nodeDisk, statfs: statfs as Disk["statfs"] });

describe("a disk", () => {
  it.each([
    ["ext4", 0xef53],
    ["xfs", 0x58465342],
    ["btrfs", 0x9123683e],
    ["btrfs, as a signed number", 0x9123683e | 0],
    ["tmpfs", 0x01021994],
    ["overlayfs", 0x794c7630],
  ])("of this machine is %s", async (_, type) => {
    expect(
      await isLocal(
        diskOf(async () => ({ type })),
        "/",
      ),
    ).toBe(true);
  });

  it.each([
    ["NFS", 0x6969],
    ["SMB", 0xff534d42],
    ["FUSE", 0x65735546],
    ["9p", 0x01021997],
    ["something that says nothing of itself", 0],
  ])("that may be far away is %s", async (_, type) => {
    expect(
      await isLocal(
        diskOf(async () => ({ type })),
        "/",
      ),
    ).toBe(false);
  });

  it("that cannot be asked may be far away", async () => {
    const failing = diskOf(() => Promise.reject(new Error("ENOSYS")));
    expect(await isLocal(failing, "/")).toBe(false);
  });
});

/** What a directory of work does when the disk refuses: it says which path and why, and loses nothing. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import { systemError, WatchedDisk } from "../../state/watched-disk.js";
import { HOUR_MS, WorkDirectory } from "./work-directory.js";

const SUCCESS = { outcome: "success", summary: "All done" } as const;
const isRoot = process.getuid?.() === 0;

/** A directory with one file, and a source on a disk of which any step can be made to fail. */
function scene(): { directory: WorkDirectory; disk: WatchedDisk; source: DirectorySource; id: string } {
  const directory = new WorkDirectory();
  directory.write("a.md", "# a");
  const disk = new WatchedDisk();
  return { directory, disk, source: directory.connect(disk.disk), id: directory.id("a.md") };
}

/** Makes every step fail that is called like this. */
function failing(disk: WatchedDisk, pattern: RegExp, code: string): void {
  disk.before = (step) => {
    if (pattern.test(step)) throw systemError(code);
  };
}

const heal = (disk: WatchedDisk): void => {
  disk.before = () => {};
};

describe("a disk that refuses", () => {
  it.each([
    ["EACCES", "WORK_SOURCE_FORBIDDEN", "Let this user read, write and enter it."],
    ["ENOSPC", "WORK_SOURCE_UNAVAILABLE", "Make space."],
    ["EXDEV", "WORK_SOURCE_UNAVAILABLE", "have to be on one file system."],
    ["EIO", "WORK_SOURCE_UNAVAILABLE", "EIO: made to fail."],
  ])("a claim with %s is named, and the file stays", async (code, kind, advice) => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^rename a\.md/, code);
    await expect(source.claimWork(id)).rejects.toMatchObject({
      name: "WorkSourceError",
      code: kind,
      message: expect.stringMatching(
        new RegExp(`^Could not rename ${directory.file("ready", "a.md")}: .*${advice}$`),
      ),
      cause: { code },
    });
    heal(disk);
    expect(await source.claimWork(id)).toMatchObject({ isClaimed: true });
  });

  it.each([
    /^open \..*outcome/,
    /^writeFile \./,
    /^sync \./,
    /^stat \./,
    /^link /,
    /^sync done/,
    /^unlink 2026/,
  ])("to complete an item at %s lets it be completed later, with one outcome", async (step) => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, step, "ENOSPC");
    await expect(source.completeWork(id, SUCCESS)).rejects.toMatchObject({
      code: "WORK_SOURCE_UNAVAILABLE",
      message: expect.stringContaining(directory.path),
    });
    heal(disk);
    expect(await source.completeWork(id, SUCCESS)).toBe(true);
    expect(directory.list("done")).toEqual(["a.md", "a.md.outcome.yaml"]);
    expect([...directory.list("ready"), ...directory.list("working")]).toEqual([]);
    expect(disk.open).toBe(0);
  });

  it("keeps an outcome that was cut short from being taken for a whole one", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    disk.bytesTaken = () => 5;
    await expect(source.completeWork(id, SUCCESS)).rejects.toThrow("bytes were kept");
    expect(directory.list("done")).toEqual([]);
    expect(directory.list("working")).toHaveLength(1);
  });

  it("to give an outcome its name has the item done all the same, and says so", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^rename \..*outcome/, "EIO");
    await expect(source.completeWork(id, SUCCESS)).rejects.toThrow("a.md.outcome.yaml: EIO");
    heal(disk);
    expect(await source.completeWork(id, SUCCESS)).toBe(false);
    // The outcome is there, under its hidden name.
    expect(directory.list("done")).toEqual([expect.stringMatching(/^\..*\.outcome\.yaml\.tmp$/), "a.md"]);
  });

  it("to give back an item lets it be given back later", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^link /, "ENOSPC");
    await expect(source.releaseWork(id)).rejects.toThrow(directory.file("ready", "a.md"));
    heal(disk);
    expect(await source.releaseWork(id)).toBe(true);
    expect(directory.list("ready")).toEqual(["a.md"]);
  });

  it("after an item was given back has it available once, and ends the claim", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^sync ready/, "EIO");
    await expect(source.releaseWork(id)).rejects.toThrow("EIO");
    heal(disk);
    expect(await source.releaseWork(id)).toBe(false);
    await directory.clock.advance(HOUR_MS);
    await source.fetchAvailableWork();
    expect(await source.fetchAvailableWork()).toHaveLength(1);
    expect([directory.list("ready"), directory.list("working")]).toEqual([["a.md"], []]);
  });

  it("after an item was given back does not give it back a second time", async () => {
    const { disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^sync ready/, "EIO");
    const answers = await Promise.allSettled([source.releaseWork(id), source.releaseWork(id)]);
    expect(answers).toMatchObject([{ status: "rejected" }, { status: "fulfilled", value: false }]);
    expect(disk.count(/^link /)).toBe(1);
  });

  it("to put one expired item back harms no other", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    directory.write("b.md");
    await directory.clock.advance(HOUR_MS);
    failing(disk, /^rename 2026.*~a\.md/, "EIO");
    expect((await source.fetchAvailableWork()).map(({ externalId }) => externalId)).toEqual(["b.md"]);
    expect(directory.warnings).toEqual([expect.stringContaining("could not be put back")]);
    await source.fetchAvailableWork();
    expect(directory.warnings).toHaveLength(1);
    heal(disk);
    expect(await source.fetchAvailableWork()).toHaveLength(2);
  });

  it("to read a file for a while has it as soon as it can", async () => {
    const { directory, disk, source } = scene();
    failing(disk, /^open a\.md/, "EMFILE");
    expect(await source.fetchAvailableWork()).toEqual([]);
    expect(await source.fetchAvailableWork()).toEqual([]);
    expect(directory.warnings).toEqual([expect.stringContaining("cannot be read: EMFILE")]);
    heal(disk);
    expect(await source.fetchAvailableWork()).toHaveLength(1);
  });

  it("to list a directory is named", async () => {
    const { directory, disk, source } = scene();
    failing(disk, /^readdir ready/, "EIO");
    await expect(source.fetchAvailableWork()).rejects.toThrow(
      `Could not list ${directory.file("ready", "")}: EIO`.replace("/:", ":"),
    );
  });

  it("to make a directory is named", async () => {
    const { directory, disk, source } = scene();
    rmSync(directory.file("done", ""), { recursive: true });
    failing(disk, /^mkdir done/, "EACCES");
    await expect(source.fetchAvailableWork()).rejects.toMatchObject({
      code: "WORK_SOURCE_FORBIDDEN",
      message: expect.stringMatching(/^Could not create .*done: EACCES/),
    });
  });
});

describe("a disk without hard links", () => {
  it.each(["EPERM", "ENOTSUP"])("(%s) takes a file through all its places", async (code) => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, code);
    await source.claimWork(id);
    expect(await source.releaseWork(id)).toBe(true);
    await source.claimWork(id);
    expect(await source.completeWork(id, SUCCESS)).toBe(true);
    expect(directory.list("done")).toEqual(["a.md", "a.md.outcome.yaml"]);
  });

  it("keeps a file of the same name as it is", async () => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, "EPERM");
    await source.claimWork(id);
    directory.write("a.md", "# other", "done");
    await source.completeWork(id, SUCCESS);
    expect(directory.read("done", "a.md")).toBe("# other");
    expect(directory.read("done", "a-2.md")).toBe("# a");
  });

  it("knows that a claim was lost", async () => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, "EPERM");
    await source.claimWork(id);
    rmSync(directory.file("working", directory.list("working")[0] ?? ""));
    expect(await source.completeWork(id, SUCCESS)).toBe(false);
  });
});

describe("a directory that is none", () => {
  it("because a file is in its place is named", async () => {
    const directory = new WorkDirectory();
    rmSync(directory.path, { recursive: true });
    writeFileSync(directory.path, "a file");
    await expect(directory.connect().fetchAvailableWork()).rejects.toMatchObject({
      code: "WORK_SOURCE_UNAVAILABLE",
      message: expect.stringMatching(/inbox.*It has to be a directory\.$/s),
    });
  });

  it("because a file is in the place of `ready` is named", async () => {
    const directory = new WorkDirectory();
    rmSync(directory.file("ready", ""), { recursive: true });
    writeFileSync(join(directory.path, "ready"), "a file");
    await expect(directory.connect().fetchAvailableWork()).rejects.toThrow("It has to be a directory.");
  });

  it.skipIf(isRoot)("because it may not be entered is named", async () => {
    const directory = new WorkDirectory();
    const locked = join(dirname(directory.path), "locked");
    mkdirSync(locked, { mode: 0o000 });
    try {
      const path = join(locked, "inbox");
      const source = Object.assign(new WorkDirectory(), { path }).connect();
      await expect(source.fetchAvailableWork()).rejects.toMatchObject({ code: "WORK_SOURCE_FORBIDDEN" });
    } finally {
      chmodSync(locked, 0o700);
    }
  });
});

/** A work directory on a failing disk: its errors name the path and the reason, and no item is lost. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import { systemError, WatchedDisk } from "../../state/watched-disk.js";
import { HOUR_MS, WorkDirectory } from "./work-directory.js";

const SUCCESS = { outcome: "success", summary: "All done" } as const;
const isRoot = process.getuid?.() === 0;

/** A directory with one file, and a source on a disk whose operations a test can make fail. */
function scene(): { directory: WorkDirectory; disk: WatchedDisk; source: DirectorySource; id: string } {
  const directory = new WorkDirectory();
  directory.write("a.md", "# a");
  const disk = new WatchedDisk();
  return { directory, disk, source: directory.connect(disk.disk), id: directory.id("a.md") };
}

/** Makes every operation of the name fail. */
function failing(disk: WatchedDisk, pattern: RegExp, code: string): void {
  disk.before = (step) => {
    if (pattern.test(step)) throw systemError(code);
  };
}

const heal = (disk: WatchedDisk): void => {
  disk.before = () => {};
};

describe("a disk that fails", () => {
  it.each([
    ["EACCES", "WORK_SOURCE_FORBIDDEN", "Let this user read, write and enter it."],
    ["ENOSPC", "WORK_SOURCE_UNAVAILABLE", "Free some space."],
    ["EXDEV", "WORK_SOURCE_UNAVAILABLE", "must be on one file system."],
    ["EIO", "WORK_SOURCE_UNAVAILABLE", "EIO: made to fail."],
  ])(
    "with %s during a claim is an error with advice, and the file stays in ready",
    async (code, kind, advice) => {
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
    },
  );

  it.each([
    /^open \..*outcome/,
    /^writeFile \./,
    /^sync \./,
    /^stat \./,
    /^link /,
    /^sync done/,
    /^unlink 2026/,
  ])("at %s of a completion leaves an item that can be completed later, with one outcome", async (step) => {
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

  it("with a short write of an outcome leaves no outcome", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    disk.bytesTaken = () => 5;
    await expect(source.completeWork(id, SUCCESS)).rejects.toThrow("bytes were written");
    expect(directory.list("done")).toEqual([]);
    expect(directory.list("working")).toHaveLength(1);
  });

  it("at the rename of an outcome is an error, and the item is in done", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^rename \..*outcome/, "EIO");
    await expect(source.completeWork(id, SUCCESS)).rejects.toThrow("a.md.outcome.yaml: EIO");
    heal(disk);
    expect(await source.completeWork(id, SUCCESS)).toBe(false);
    // The outcome is there, under its hidden name.
    expect(directory.list("done")).toEqual([expect.stringMatching(/^\..*\.outcome\.yaml\.tmp$/), "a.md"]);
  });

  it("at a release leaves an item that can be released later", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^link /, "ENOSPC");
    await expect(source.releaseWork(id)).rejects.toThrow(directory.file("ready", "a.md"));
    heal(disk);
    expect(await source.releaseWork(id)).toBe(true);
    expect(directory.list("ready")).toEqual(["a.md"]);
  });

  it("after the move of a release leaves the item available once, and ends the claim", async () => {
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

  it("after the move of a release does not release the item twice", async () => {
    const { disk, source, id } = scene();
    await source.claimWork(id);
    failing(disk, /^sync ready/, "EIO");
    const answers = await Promise.allSettled([source.releaseWork(id), source.releaseWork(id)]);
    expect(answers).toMatchObject([{ status: "rejected" }, { status: "fulfilled", value: false }]);
    expect(disk.count(/^link /)).toBe(1);
  });

  it("at the return of one expired item does not affect the other items", async () => {
    const { directory, disk, source, id } = scene();
    await source.claimWork(id);
    directory.write("b.md");
    await directory.clock.advance(HOUR_MS);
    failing(disk, /^rename 2026.*~a\.md/, "EIO");
    expect((await source.fetchAvailableWork()).map(({ externalId }) => externalId)).toEqual(["b.md"]);
    expect(directory.warnings).toEqual([expect.stringContaining("could not be moved back")]);
    await source.fetchAvailableWork();
    expect(directory.warnings).toHaveLength(1);
    heal(disk);
    expect(await source.fetchAvailableWork()).toHaveLength(2);
  });

  it("at reading a file for a while returns the item when reading works again", async () => {
    const { directory, disk, source } = scene();
    failing(disk, /^open a\.md/, "EMFILE");
    expect(await source.fetchAvailableWork()).toEqual([]);
    expect(await source.fetchAvailableWork()).toEqual([]);
    expect(directory.warnings).toEqual([expect.stringContaining("cannot be read: EMFILE")]);
    heal(disk);
    expect(await source.fetchAvailableWork()).toHaveLength(1);
  });

  it("at listing a directory is an error that names the directory", async () => {
    const { directory, disk, source } = scene();
    failing(disk, /^readdir ready/, "EIO");
    await expect(source.fetchAvailableWork()).rejects.toThrow(
      `Could not list ${directory.file("ready", "")}: EIO`.replace("/:", ":"),
    );
  });

  it("at creating a directory is an error that names the directory", async () => {
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
  it.each(["EPERM", "ENOTSUP"])("(%s) moves a file through all folders", async (code) => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, code);
    await source.claimWork(id);
    expect(await source.releaseWork(id)).toBe(true);
    await source.claimWork(id);
    expect(await source.completeWork(id, SUCCESS)).toBe(true);
    expect(directory.list("done")).toEqual(["a.md", "a.md.outcome.yaml"]);
  });

  it("does not overwrite a file of the same name", async () => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, "EPERM");
    await source.claimWork(id);
    directory.write("a.md", "# other", "done");
    await source.completeWork(id, SUCCESS);
    expect(directory.read("done", "a.md")).toBe("# other");
    expect(directory.read("done", "a-2.md")).toBe("# a");
  });

  it("detects that a claim was lost", async () => {
    const { directory, disk, source, id } = scene();
    failing(disk, /^link /, "EPERM");
    await source.claimWork(id);
    rmSync(directory.file("working", directory.list("working")[0] ?? ""));
    expect(await source.completeWork(id, SUCCESS)).toBe(false);
  });
});

describe("a path that is not a usable directory", () => {
  it("because it is a file is an error that names the path", async () => {
    const directory = new WorkDirectory();
    rmSync(directory.path, { recursive: true });
    writeFileSync(directory.path, "a file");
    await expect(directory.connect().fetchAvailableWork()).rejects.toMatchObject({
      code: "WORK_SOURCE_UNAVAILABLE",
      message: expect.stringMatching(/inbox.*It must be a directory\.$/s),
    });
  });

  it("because `ready` is a file is an error that names the path", async () => {
    const directory = new WorkDirectory();
    rmSync(directory.file("ready", ""), { recursive: true });
    writeFileSync(join(directory.path, "ready"), "a file");
    await expect(directory.connect().fetchAvailableWork()).rejects.toThrow("It must be a directory.");
  });

  it.skipIf(isRoot)("because of its permissions is an error that names the path", async () => {
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

/** Files that are not items: each is skipped with one warning, and all other items stay available. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, it } from "vitest";
import type { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import { WatchedDisk } from "../../state/watched-disk.js";
import { WorkDirectory } from "./work-directory.js";

const titles = async (source: DirectorySource): Promise<string[]> =>
  (await source.fetchAvailableWork()).map(({ title }) => title);

describe("a file that is not an item", () => {
  const BAD: readonly (readonly [string, string, (directory: WorkDirectory) => void])[] = [
    ["bad YAML", "cannot be parsed", (directory) => directory.write("bad.yaml", "a: [")],
    ["empty", "is empty", (directory) => directory.write("bad.md", "")],
    [
      "invalid UTF-8",
      "is not valid UTF-8",
      (directory) => directory.write("bad.md", Buffer.from([0x23, 0xff])),
    ],
    [
      "too large",
      "is larger than 1048576 bytes",
      (directory) => directory.write("bad.md", Buffer.alloc(1_048_577, "x")),
    ],
    ["a directory", "is a directory", (directory) => mkdirSync(directory.file("ready", "bad.md"))],
    [
      "a link",
      "is a link",
      (directory) =>
        symlinkSync(directory.write("good.md", "# no", "done"), directory.file("ready", "bad.md")),
    ],
    [
      "a pipe",
      "is not a regular file",
      (directory) => execFileSync("mkfifo", [directory.file("ready", "bad.md")]),
    ],
    ["unknown extension", "does not end in", (directory) => directory.write("bad.txt")],
    ["an outcome", "reserved for outcomes", (directory) => directory.write("bad.md.outcome.yaml", "a: 1")],
    ["too long a name", "more than 200 bytes", (directory) => directory.write(`${"x".repeat(198)}.md`)],
    [
      "a name that is not UTF-8",
      "is not valid UTF-8",
      (directory) => {
        const path = Buffer.concat([
          Buffer.from(directory.file("ready", "/")),
          Buffer.from([0xff]),
          Buffer.from(".md"),
        ]);
        writeFileSync(path, "# bad");
      },
    ],
  ];

  it.each(BAD)(
    "(%s) is skipped with one warning, and all other items stay available",
    async (_, why, make) => {
      const directory = new WorkDirectory();
      make(directory);
      directory.write("fine.md");
      const source = directory.connect();
      for (let pass = 0; pass < 3; pass++) expect(await titles(source)).toEqual(["fine.md"]);
      expect(directory.warnings).toEqual([expect.stringContaining(why)]);
      expect(directory.warnings[0]).toContain(directory.file("ready", ""));
    },
  );

  it.each(BAD.slice(0, 7))("(%s) cannot be claimed, and stays in ready", async (_, __, make) => {
    const directory = new WorkDirectory();
    make(directory);
    const [name = ""] = directory.list("ready");
    const claim = await directory.connect().claimWork(directory.id(name));
    expect(claim).toEqual({ isClaimed: false, reason: "gone" });
    expect(directory.list("ready")).toEqual([name]);
    expect(directory.list("working")).toEqual([]);
  });

  it.each(BAD.slice(4, 7))("(%s) is not moved by a claim", async (_, __, make) => {
    const directory = new WorkDirectory();
    make(directory);
    const disk = new WatchedDisk();
    await directory.connect(disk.disk).claimWork(directory.id("bad.md"));
    expect(disk.count(/^rename/)).toBe(0);
  });

  it.each(BAD.slice(5, 7))("(replaced by %s before it is opened) is not read", async (_, why, make) => {
    const directory = new WorkDirectory();
    directory.write("bad.md");
    const disk = new WatchedDisk();
    disk.before = (step) => {
      if (step !== "open bad.md") return;
      rmSync(directory.file("ready", "bad.md"));
      make(directory);
    };
    expect(await titles(directory.connect(disk.disk))).toEqual([]);
    expect(directory.warnings).toEqual([expect.stringContaining(why)]);
  });

  it("(grows while it is read) becomes an item when it is complete", async () => {
    const directory = new WorkDirectory();
    const file = directory.write("a.md", "# a");
    const disk = new WatchedDisk();
    disk.before = (step) => {
      if (step === "read a.md") appendFileSync(file, "bc");
    };
    const source = directory.connect(disk.disk);
    expect(await titles(source)).toEqual([]);
    expect(directory.warnings).toEqual([expect.stringContaining("grew while it was read")]);
    disk.before = () => {};
    expect(await titles(source)).toHaveLength(1);
  });

  it("is warned about again after a change that does not repair it", async () => {
    const directory = new WorkDirectory();
    const source = directory.connect();
    const file = directory.write("bad.yaml", "a: [");
    await source.fetchAvailableWork();
    utimesSync(file, 1, 1);
    await source.fetchAvailableWork();
    expect(directory.warnings).toHaveLength(2);
  });

  it("becomes an item when it is repaired", async () => {
    const directory = new WorkDirectory();
    const source = directory.connect();
    directory.write("bad.yaml", "title: [");
    await source.fetchAvailableWork();
    directory.write("bad.yaml", "title: good");
    expect(await titles(source)).toEqual(["good"]);
  });

  it.each([".hidden.md", "a.md.tmp", ".a.md.swp"])(
    "(called %s) is skipped without a warning",
    async (name) => {
      const directory = new WorkDirectory();
      directory.write(name);
      expect(await titles(directory.connect())).toEqual([]);
      expect(directory.warnings).toEqual([]);
    },
  );

  it("stays in working when a person put it there, with one warning", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md", "# a", "working");
    const source = directory.connect();
    await source.fetchAvailableWork();
    await source.fetchAvailableWork();
    expect(directory.list("working")).toEqual(["a.md"]);
    expect(directory.warnings).toEqual([expect.stringContaining("does not have the name of a claimed file")]);
  });

  it.skipIf(process.getuid?.() === 0)("(unreadable) becomes an item when it is readable", async () => {
    const directory = new WorkDirectory();
    const file = directory.write("a.md");
    chmodSync(file, 0o000);
    const source = directory.connect();
    expect(await titles(source)).toEqual([]);
    expect(directory.warnings).toEqual([expect.stringContaining("cannot be read")]);
    chmodSync(file, 0o600);
    expect(await titles(source)).toEqual(["a.md"]);
  });
});

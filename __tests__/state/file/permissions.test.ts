/** State is for its owner's eyes: modes under any umask, names that cannot be guessed, links that are not followed. */
import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { StateFileError } from "../../../src/state/errors.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { updateScheduleState } from "../../../src/state/file/state-functions.js";
import { programPath } from "../child.js";
import { temporaryDirectory } from "../temporary-directory.js";
import { WatchedDisk } from "../watched-disk.js";

const run = promisify(execFile);
const KEY = { agent: "a", schedule: "s" };

describe("a umask", () => {
  it.each(["000", "022", "077", "0777"])("of %s leaves directories 0700 and files 0600", async (umask) => {
    using temporary = temporaryDirectory();
    chmodSync(temporary.path, 0o777);
    const stateDir = join(temporary.path, "above", "state");
    const program = programPath("store-under-umask.js");
    const { stdout } = await run(process.execPath, [program, temporary.path, stateDir, umask]);
    const { failure_count, modes } = JSON.parse(stdout) as { failure_count: number; modes: object };
    expect(failure_count).toBe(1);
    expect(modes).toEqual({
      above: "700",
      "above/state": "700",
      "above/state/jobs": "700",
      "above/state/jobs/day.jsonl": "600",
      "above/state/owner.lock": "700",
      "above/state/owner.lock/held": "600",
      "above/state/state.yaml": "600",
      "above/state/state.yaml.lock": "700",
    });
  });

  it("of 022 opens nothing to other users, not even for a moment", async () => {
    using temporary = temporaryDirectory();
    const stateDir = join(temporary.path, "state");
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir }, { disk: watched.disk });
    const modes = new Set<number>();
    watched.before = () => {
      for (const name of readdirSync(temporary.path, { recursive: true, encoding: "utf8" }))
        modes.add(lstatSync(join(temporary.path, name)).mode & 0o777);
    };
    const before = process.umask(0o022);
    try {
      await store.open();
      await store.update(KEY, { failure_count: 1 });
    } finally {
      process.umask(before);
    }
    expect(modes).toEqual(new Set([0o700, 0o600]));
  });

  it("changes nothing about a directory that was there", async () => {
    using temporary = temporaryDirectory();
    chmodSync(temporary.path, 0o750);
    await updateScheduleState(temporary.path, "a", "s", { failure_count: 1 });
    expect(statSync(temporary.path).mode & 0o777).toBe(0o750);
  });

  it("has no say, nor has the mode that a file had, when that is written", async () => {
    using temporary = temporaryDirectory();
    const file = join(temporary.path, "state.yaml");
    writeFileSync(file, "agents: {}\n");
    chmodSync(file, 0o644);
    await updateScheduleState(temporary.path, "a", "s", { failure_count: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe("a temporary name", () => {
  it("is another one each time, with 24 random digits", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { disk: watched.disk });
    await store.open();
    for (let number = 0; number < 10; number++) await store.update(KEY, { failure_count: number });
    const made = watched.steps.filter((step) => /^(?:mkdir|open) .*lock-|^open \d/.test(step));
    const tokens = made.map((step) => /-([0-9a-f]{24})$/.exec(step)?.[1]);
    expect(tokens).not.toContain(undefined);
    // Each lock has a directory and a file in it by the same name: the owner's, one of the opening, ten updates.
    expect(new Set(tokens).size).toBe(12);
    expect(tokens).toHaveLength(24);
    // Nothing is created under any other name.
    const created = watched.steps.filter((step) => /^(?:mkdir|link) /.test(step) && !made.includes(step));
    expect(new Set(created)).toEqual(
      new Set([`mkdir ${temporary.path.split("/").at(-1)}`, "link state.yaml"]),
    );
  });
});

describe("a symbolic link", () => {
  const names = ["state.yaml", "state.yaml.lock", "owner.lock", "jobs"];

  /** What an attacker hopes to see changed. */
  function target(directory: string, kind: string): string {
    const path = join(directory, "target");
    if (kind === "directory") {
      mkdirSync(path, { mode: 0o755 });
      writeFileSync(join(path, "kept"), "kept");
    }
    if (kind === "empty directory") mkdirSync(path, { mode: 0o755 });
    if (kind === "file") writeFileSync(path, "agents: {}\n", { mode: 0o644 });
    return path;
  }

  function describeTarget(path: string): unknown {
    if (!existsSync(path)) return "nothing";
    const { mode, mtimeMs, ino } = lstatSync(path);
    const content = lstatSync(path).isDirectory() ? readdirSync(path) : readFileSync(path, "utf8");
    return { mode, mtimeMs, ino, content };
  }

  it.each(
    names.flatMap((name) => ["nothing", "file", "directory", "empty directory"].map((kind) => [name, kind])),
  )("in the place of %s to %s is refused, and what it leads to stays", async (name = "", kind = "") => {
    using temporary = temporaryDirectory();
    const stateDir = join(temporary.path, "state");
    mkdirSync(stateDir);
    const path = target(temporary.path, kind);
    const before = describeTarget(path);
    symlinkSync(path, join(stateDir, name));
    await using store = new FileStore({ stateDir });
    await expect(store.open()).rejects.toThrow(StateFileError);
    expect(describeTarget(path)).toEqual(before);
    expect(readlinkSync(join(stateDir, name))).toBe(path);
    // Not even a part of a lock is left.
    const left = readdirSync(stateDir, { recursive: true, encoding: "utf8" });
    expect(left.filter((entry) => /\d+-\d+-/.test(entry))).toEqual([]);
  });

  it.each(["state.yaml", "state.yaml.lock"])("in the place of %s stops an update too", async (name) => {
    using temporary = temporaryDirectory();
    const stateDir = join(temporary.path, "state");
    mkdirSync(stateDir);
    const path = target(temporary.path, "file");
    symlinkSync(path, join(stateDir, name));
    const updating = updateScheduleState(stateDir, "a", "s", { failure_count: 1 });
    await expect(updating).rejects.toThrow(StateFileError);
    expect(readFileSync(path, "utf8")).toBe("agents: {}\n");
  });

  it("put there between a look and the reading is refused", async () => {
    using temporary = temporaryDirectory();
    const file = join(temporary.path, "state.yaml");
    const path = target(temporary.path, "file");
    writeFileSync(file, "agents: {}\n");
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { disk: watched.disk });
    watched.before = (step) => {
      if (step !== "open state.yaml") return;
      rmSync(file);
      symlinkSync(path, file);
    };
    await expect(store.read(KEY)).rejects.toThrow(StateFileError);
  });

  it("put there while the store is at work is replaced, not followed", async () => {
    using temporary = temporaryDirectory();
    const stateDir = join(temporary.path, "state");
    const path = target(temporary.path, "file");
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir }, { disk: watched.disk });
    watched.before = (step) => {
      if (/^rename \d/.test(step)) symlinkSync(path, join(stateDir, "state.yaml"));
    };
    await store.update(KEY, { failure_count: 1 });
    expect(readFileSync(path, "utf8")).toBe("agents: {}\n");
    expect(lstatSync(join(stateDir, "state.yaml")).isFile()).toBe(true);
  });
});

describe("a pipe", () => {
  it("where the file should be is refused without waiting for it", async () => {
    using temporary = temporaryDirectory();
    execFileSync("mkfifo", [join(temporary.path, "state.yaml")]);
    await using store = new FileStore({ stateDir: temporary.path });
    await expect(store.read(KEY)).rejects.toThrow("not a regular file");
    await expect(store.update(KEY, { failure_count: 1 })).rejects.toThrow(StateFileError);
    expect(lstatSync(join(temporary.path, "state.yaml")).isFIFO()).toBe(true);
  });
});

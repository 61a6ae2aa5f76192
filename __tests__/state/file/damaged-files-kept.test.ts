/** Damaged files are kept beside the state file, the newest five; what is no file is not touched at all. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { getScheduleState, updateScheduleState } from "../../../src/state/file/state-functions.js";
import { around } from "./yaml/hostile-file.js";
import { listening } from "../listening.js";
import { temporaryDirectory } from "../temporary-directory.js";
import { systemError, WatchedDisk } from "../watched-disk.js";

const { logger } = listening();
const KEY = { agent: "a", schedule: "daily" };
const damaged = (number: number): string => `agents:\n  a:\n    number: ${number}\n    schedules: broken\n`;

function keptIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith("state.yaml.corrupt-"));
}

function contents(directory: string): string[] {
  return keptIn(directory)
    .map((name) => readFileSync(join(directory, name), "utf8"))
    .toSorted();
}

describe("damaged files", () => {
  /** Damages the file eight times, and lets so much time pass after each. */
  async function damageEightTimes(directory: string, stepMs: number): Promise<void> {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    for (let number = 1; number <= 8; number++) {
      writeFileSync(join(directory, "state.yaml"), damaged(number));
      await using store = new FileStore({ stateDir: directory, clock, logger });
      await store.update(KEY, { failure_count: number });
      expect(contents(directory)).toContain(damaged(number));
      clock.jumpTo(clock.now().getTime() + stepMs);
    }
  }

  it("are kept, the newest five of eight", async () => {
    using directory = temporaryDirectory();
    await damageEightTimes(directory.path, 60_000);
    expect(contents(directory.path)).toEqual([4, 5, 6, 7, 8].map(damaged));
  });

  it.each([
    ["stands still", 0],
    ["is set back", -3_600_000],
  ])("are kept, five of eight and always the newest, while the clock %s", async (_, stepMs) => {
    using directory = temporaryDirectory();
    await damageEightTimes(directory.path, stepMs);
    expect(keptIn(directory.path)).toHaveLength(5);
  });

  it("of other names are left alone", async () => {
    using directory = temporaryDirectory();
    const names = Array.from({ length: 7 }, (_, index) => `state.yaml.corrupt-notes-${index}`);
    for (const name of names) writeFileSync(join(directory.path, name), "mine");
    writeFileSync(join(directory.path, "state.yaml"), damaged(1));
    await updateScheduleState(directory.path, "a", "daily", { failure_count: 1 }, { logger });
    expect(keptIn(directory.path)).toEqual(expect.arrayContaining(names));
  });

  it("are kept once, however often the write after it fails", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), damaged(1));
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: directory.path, logger }, { disk: watched.disk });
    watched.before = (step) => {
      if (step.startsWith("sync")) throw systemError("ENOSPC");
    };
    for (let attempt = 0; attempt < 7; attempt++)
      await expect(store.update(KEY, { failure_count: 1 })).rejects.toThrow(/ENOSPC/);
    expect(contents(directory.path)).toEqual([damaged(1)]);
    expect(readFileSync(join(directory.path, "state.yaml"), "utf8")).toBe(damaged(1));
    watched.before = () => {};
    await store.update(KEY, { failure_count: 1 });
    expect(contents(directory.path)).toEqual([damaged(1)]);
  });

  it("are copied where there are no hard links, and stay in place until they are replaced", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, damaged(1));
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: directory.path, logger }, { disk: watched.disk });
    let isThere = false;
    watched.before = (step) => {
      if (step.startsWith("link")) throw systemError("EPERM");
      if (step.startsWith("rename") && keptIn(directory.path).length > 0)
        isThere = readFileSync(path, "utf8") === damaged(1);
    };
    await store.update(KEY, { failure_count: 1 });
    expect(contents(directory.path)).toEqual([damaged(1)]);
    expect(isThere).toBe(true);
  });

  it("are set aside by an update that changes nothing", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), damaged(1));
    await updateScheduleState(directory.path, "a", "daily", {}, { logger });
    expect(contents(directory.path)).toEqual([damaged(1)]);
    expect(readFileSync(join(directory.path, "state.yaml"), "utf8")).toContain("number: 1\n");
  });
});

describe("what is no file in the place of the state file", () => {
  /** What it must look like afterwards, as before. */
  function looks(path: string): unknown {
    const { ino, mode, mtimeMs } = lstatSync(path);
    return { ino, mode, mtimeMs };
  }

  it.each<[string, (path: string) => void]>([
    ["a directory", (path) => mkdirSync(path)],
    ["a directory with files in it", (path) => mkdirSync(join(path, "inner"), { recursive: true })],
    [
      "a link to a file beside it",
      (path) => {
        writeFileSync(join(path, "..", "beside.yaml"), around(""));
        symlinkSync("beside.yaml", path);
      },
    ],
    ["a link that points out", (path) => symlinkSync("/etc/passwd", path)],
    ["a link that points nowhere", (path) => symlinkSync("/nowhere/at/all", path)],
    ["a pipe", (path) => void execFileSync("mkfifo", [path])],
  ])("is refused and left as it is: %s", async (_, make) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    make(path);
    const before = { looks: looks(path), names: readdirSync(directory.path) };
    const refusal = { name: "StateFileError", code: "STATE_FILE", path, operation: "read" };
    await expect(getScheduleState(directory.path, "a", "b", { logger })).rejects.toMatchObject(refusal);
    await expect(
      updateScheduleState(directory.path, "a", "b", { failure_count: 1 }, { logger }),
    ).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining("not a regular file") as unknown,
    });
    const names = readdirSync(directory.path).filter((name) => name !== "state.yaml.lock");
    expect({ looks: looks(path), names }).toEqual(before);
  });

  it("is refused when it takes the place of the file at the last moment", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, around(""));
    renameSync(path, join(directory.path, "elsewhere.yaml"));
    writeFileSync(path, around(""));
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: directory.path, logger }, { disk: watched.disk });
    watched.before = (step) => {
      if (step !== "open state.yaml") return;
      rmSync(path);
      symlinkSync("elsewhere.yaml", path);
    };
    await expect(store.read(KEY)).rejects.toMatchObject({ name: "StateFileError", operation: "open", path });
    watched.before = (step) => {
      if (step !== "open state.yaml") return;
      rmSync(path);
      execFileSync("mkfifo", [path]);
    };
    rmSync(path);
    writeFileSync(path, around(""));
    await expect(store.read(KEY)).rejects.toMatchObject({ name: "StateFileError", operation: "read", path });
    expect(watched.open).toBe(0);
  });

  it("is read again once a file is there", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    mkdirSync(path);
    await expect(getScheduleState(directory.path, "first", "daily", { logger })).rejects.toThrow(path);
    rmSync(path, { recursive: true });
    writeFileSync(path, around(""));
    expect(await getScheduleState(directory.path, "first", "daily", { logger })).toMatchObject({
      failure_count: 2,
    });
  });
});

describe("a file that may not be read", () => {
  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)("is refused and left as it is", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, around(""));
    chmodSync(path, 0o000);
    const refusal = { name: "StateFileError", path, operation: "open" };
    await expect(getScheduleState(directory.path, "a", "b", { logger })).rejects.toMatchObject(refusal);
    await expect(updateScheduleState(directory.path, "a", "b", {}, { logger })).rejects.toMatchObject(
      refusal,
    );
    chmodSync(path, 0o600);
    expect(readFileSync(path, "utf8")).toBe(around(""));
  });
});

describe("a directory that is a file", () => {
  it("is refused", async () => {
    using directory = temporaryDirectory();
    const stateDir = join(directory.path, "file");
    writeFileSync(stateDir, "");
    await expect(getScheduleState(stateDir, "a", "b", { logger })).rejects.toMatchObject({
      name: "StateFileError",
    });
    await expect(updateScheduleState(stateDir, "a", "b", {}, { logger })).rejects.toMatchObject({
      name: "StateFileError",
    });
  });
});

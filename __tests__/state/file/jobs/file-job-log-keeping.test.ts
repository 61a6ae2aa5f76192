/** What a file log keeps and what it lets go: retention, recovery, outputs, permissions, and days it need not open. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { StateFileError } from "../../../../src/state/errors.js";
import { FileJobLog, type FileJobLogOptions } from "../../../../src/state/file/jobs/file-job-log.js";
import type { NewJob } from "../../../../src/state/job-log/job-log.js";
import { signedName, thisProcess } from "../../../../src/state/file/lock/process-identity.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { systemError, WatchedDisk } from "../../watched-disk.js";

const job: NewJob = { agent: "writer", schedule: "hourly", trigger: "interval" };

interface Subject extends AsyncDisposable {
  readonly parent: string;
  readonly directory: string;
  readonly clock: FakeClock;
  readonly watched: WatchedDisk;
  readonly warnings: string[];
  readonly log: FileJobLog;
  open(options?: Partial<FileJobLogOptions>): FileJobLog;
  /** From here on the steps count, when what the log does by itself is done. */
  beginWatching(): Promise<void>;
  /** What is in the directory. */
  files(): string[];
  /** Some jobs of a day, ended as they are told. */
  fill(log: FileJobLog, day: string, jobs: number, end?: boolean): Promise<string[]>;
}

function subject(options: Partial<FileJobLogOptions> = {}): Subject {
  const temporary = temporaryDirectory();
  const directory = join(temporary.path, "jobs");
  const clock = new FakeClock("2026-11-15T09:00:00Z");
  const watched = new WatchedDisk();
  const warnings: string[] = [];
  const warn = (message: string): unknown => warnings.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const logs: FileJobLog[] = [];
  const open = (more: Partial<FileJobLogOptions> = {}): FileJobLog => {
    const log = new FileJobLog({ directory, clock, logger, disk: watched.disk, ...options, ...more });
    logs.push(log);
    return log;
  };
  return {
    parent: temporary.path,
    directory,
    clock,
    watched,
    warnings,
    log: open(),
    open,
    async beginWatching() {
      for (const log of logs) await log.prune();
      watched.steps.length = 0;
    },
    files: () => readdirSync(directory).toSorted(),
    async fill(log, day, jobs, end = true) {
      const ids: string[] = [];
      for (let count = 0; count < jobs; count++) {
        const { id } = await log.start({ ...job, started_at: `${day}T12:00:00Z` });
        if (end) await log.finish(id, { status: "completed" });
        ids.push(id);
      }
      return ids;
    },
    async [Symbol.asyncDispose]() {
      for (const log of logs) await log.close();
      temporary[Symbol.dispose]();
    },
  };
}

describe("the list of a file log", () => {
  it("opens the newest day alone when that has enough", async () => {
    await using here = subject();
    await here.fill(here.log, "2026-11-13", 3);
    await here.fill(here.log, "2026-11-14", 3);
    await here.fill(here.log, "2026-11-15", 3);
    await here.beginWatching();
    expect(await here.log.list({ limit: 3 })).toHaveLength(3);
    expect(here.watched.steps.filter((step) => step.startsWith("open"))).toEqual(["open 2026-11-15.jsonl"]);
    expect(await here.log.list({ limit: 4 })).toHaveLength(4);
    expect(here.watched.steps.filter((step) => step.startsWith("open"))).toEqual([
      "open 2026-11-15.jsonl",
      "open 2026-11-15.jsonl",
      "open 2026-11-14.jsonl",
    ]);
  });

  it("opens no day before the time that is asked for", async () => {
    await using here = subject();
    for (const day of ["2026-11-13", "2026-11-14", "2026-11-15"]) await here.fill(here.log, day, 1);
    await here.beginWatching();
    expect(await here.log.list({ since: new Date("2026-11-14T12:00:00Z") })).toHaveLength(2);
    expect(here.watched.count(/^open/)).toBe(2);
    expect(here.watched.count(/^open 2026-11-13/)).toBe(0);
  });

  it("opens none for a limit of 0, and one for a single job", async () => {
    await using here = subject();
    const [id = ""] = await here.fill(here.log, "2026-11-14", 1);
    await here.fill(here.log, "2026-11-15", 1);
    await here.beginWatching();
    await here.log.list({ limit: 0 });
    expect(here.watched.count(/^open/)).toBe(0);
    await here.log.get(id);
    expect(here.watched.steps.filter((step) => step.startsWith("open"))).toEqual(["open 2026-11-14.jsonl"]);
  });

  it("is not disturbed by files that are not its own", async () => {
    await using here = subject();
    const [id] = await here.fill(here.log, "2026-11-15", 1);
    for (const name of [
      "notes.txt",
      "2026-11-15.jsonl.bak",
      "2026-1-1.jsonl",
      "x.log",
      ".log",
      "2026.jsonl",
    ]) {
      writeFileSync(join(here.directory, name), "not a job\n");
    }
    expect((await here.log.list()).map((record) => record.id)).toEqual([id]);
    await here.log.prune();
    expect(here.files()).toHaveLength(7);
  });
});

describe("a log of many days", () => {
  it("keeps the ids of the latest few days in memory, and reads older days again", async () => {
    await using here = subject();
    const first = await here.fill(here.log, "2026-11-01", 1, false);
    for (const day of ["02", "03", "04", "05", "06"]) await here.fill(here.log, `2026-11-${day}`, 1);
    await here.beginWatching();
    for (const id of first) expect(await here.log.finish(id, { status: "completed" })).toBe(true);
    expect(here.watched.count(/^read 2026-11-01/)).toBe(1);
    await here.fill(here.log, "2026-11-06", 1);
    expect(here.watched.count(/^read 2026-11-06/)).toBe(0);
  });
});

describe("retention", () => {
  it("removes days past the age with their outputs, when a new day begins", async () => {
    await using here = subject({ maxAgeDays: 2 });
    here.clock.jumpTo("2026-11-11T12:00:00Z");
    for (const day of ["2026-11-11", "2026-11-12", "2026-11-13", "2026-11-14"]) {
      const [id = ""] = await here.fill(here.log, day, 1);
      await (await here.log.openOutput(id)).close();
    }
    here.clock.jumpTo("2026-11-15T09:00:00Z");
    await here.log.start(job);
    await here.log.close();
    const days = new Set(here.files().map((name) => /\d{4}-\d\d-\d\d/.exec(name)?.[0] ?? name));
    expect([...days].toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      "2026-11-13",
      "2026-11-14",
      "2026-11-15",
    ]);
    expect(here.files()).toHaveLength(5);
  });

  it("removes days that the newer ones leave no room for", async () => {
    await using here = subject({ maxJobs: 4 });
    const filling = here.open({ maxJobs: 1000 });
    await here.fill(filling, "2026-11-12", 1);
    await here.fill(filling, "2026-11-13", 5);
    await here.fill(filling, "2026-11-14", 3);
    await here.fill(filling, "2026-11-15", 1);
    expect(await here.log.prune()).toEqual(["2026-11-13", "2026-11-12"]);
    expect(here.files()).toEqual(["2026-11-14.jsonl", "2026-11-15.jsonl"]);
    expect(await here.log.list()).toHaveLength(4);
  });

  it("never removes today, nor a day with a job that is still open", async () => {
    await using here = subject({ maxJobs: 0, maxAgeDays: 0 });
    // Nothing is removed before the clock says that it is past.
    here.clock.jumpTo("2026-11-13T12:00:00Z");
    const [open = ""] = await here.fill(here.log, "2026-11-13", 1, false);
    await here.fill(here.log, "2026-11-14", 1);
    here.clock.jumpTo("2026-11-15T12:00:00Z");
    await here.fill(here.log, "2026-11-15", 1);
    await here.log.prune();
    expect(here.files()).toEqual(["2026-11-13.jsonl", "2026-11-15.jsonl"]);
    expect(await here.log.finish(open, { status: "completed" })).toBe(true);
    expect(await here.log.prune()).toEqual(["2026-11-13"]);
    expect(here.files()).toEqual(["2026-11-15.jsonl"]);
  });

  it("counts a day again only when its size has changed", async () => {
    await using here = subject();
    await here.fill(here.log, "2026-11-13", 2);
    const [open = ""] = await here.fill(here.log, "2026-11-14", 1, false);
    await here.log.prune();
    await here.beginWatching();
    await here.log.prune();
    expect(here.watched.count(/^open/)).toBe(0);
    await here.open().finish(open, { status: "completed" });
    here.watched.steps.length = 0;
    await here.log.prune();
    expect(here.watched.steps.filter((step) => step.startsWith("open"))).toEqual(["open 2026-11-14.jsonl"]);
  });

  it("removes outputs whose day is gone, but none of today or of a job that is writing", async () => {
    await using here = subject();
    await here.log.start(job);
    await here.beginWatching();
    const names = ["job-2026-11-01-aaaaaa", "job-2026-11-15-bbbbbb", "job-2026-11-16-cccccc"];
    for (const id of names) writeFileSync(join(here.directory, `${id}.log`), "left behind");
    const writing = await here.log.openOutput("job-2026-11-01-dddddd");
    await here.log.prune();
    expect(here.files()).toEqual([
      "2026-11-15.jsonl",
      "job-2026-11-01-dddddd.log",
      "job-2026-11-15-bbbbbb.log",
      "job-2026-11-16-cccccc.log",
    ]);
    await writing.close();
    await here.log.prune();
    expect(here.files()).not.toContain("job-2026-11-01-dddddd.log");
  });

  it("never removes a day that is being written to", async () => {
    await using here = subject({ maxAgeDays: 1 });
    here.clock.jumpTo("2026-11-01T12:00:00Z");
    await here.fill(here.log, "2026-11-01", 1);
    await here.beginWatching();
    here.clock.jumpTo("2026-11-15T09:00:00Z");
    let removed: readonly string[] | undefined;
    here.watched.before = async (step) => {
      if (step.startsWith("write")) removed = await here.log.prune();
    };
    const { id } = await here.log.start({ ...job, id: "job-2026-11-01-k3x9qa" });
    expect(removed).toEqual([]);
    expect(await here.log.get(id)).toMatchObject({ id });
  });

  it("that fails by itself is a warning, and harms no start", async () => {
    await using here = subject();
    await here.fill(here.log, "2026-11-01", 1);
    here.watched.before = (step) => {
      if (step.startsWith("readdir")) throw systemError("EIO");
    };
    await here.log.start(job);
    await here.log.close();
    expect(here.warnings).toEqual([expect.stringContaining("Could not remove old jobs: Could not list")]);
    await expect(here.log.prune()).rejects.toBeInstanceOf(StateFileError);
  });
});

describe("recovery", () => {
  /** A job that another process started: the line of a job of this one, with another signature. */
  const startedBy = async (here: Subject, signature: string, log = here.open()): Promise<string> => {
    const { id } = await log.start(job);
    const file = join(here.directory, "2026-11-15.jsonl");
    const text = readFileSync(file, "utf8");
    const line = text.split("\n").find((candidate) => candidate.includes(id)) ?? "";
    const signed = line.replace(/"process":"[^"]+"/, `"process":"${signature}"`);
    writeFileSync(
      file,
      text.replace(line, () => signed),
    );
    return id;
  };
  const token = "0".repeat(24);
  const { machine, started } = thisProcess();
  /** No system gives out pids as large as this. */
  const DEAD = `999999999-${started}-${machine}-${token}`;
  const ELSEWHERE = `${process.pid}-${started}-${"0".repeat(12)}-${token}`;

  it("closes what a dead process left open as interrupted, and says why", async () => {
    await using here = subject();
    const id = await startedBy(here, DEAD);
    await here.clock.advance("1h");
    expect(await here.log.recover()).toEqual([id]);
    expect(await here.log.get(id)).toMatchObject({
      status: "interrupted",
      error: "Interrupted: process 999999999 ended before it did.",
      finished_at: "2026-11-15T10:00:00.000Z",
      duration_ms: null,
    });
    expect(await here.log.recover()).toEqual([]);
  });

  it("closes what a process of another machine left open", async () => {
    await using here = subject();
    const id = await startedBy(here, ELSEWHERE);
    expect(await here.log.recover()).toEqual([id]);
    expect((await here.log.get(id))?.error).toContain("another machine");
  });

  it("closes what says nothing of its process", async () => {
    await using here = subject();
    const id = await startedBy(here, "");
    expect(await here.log.recover()).toEqual([id]);
  });

  it("knows a pid that was given out again", async () => {
    await using here = subject();
    const id = await startedBy(here, `${process.pid}-1-${machine}-${token}`);
    expect(await here.log.recover()).toEqual(started === "0" ? [] : [id]);
  });

  it("leaves alone what is open here, in a process that lives, or has ended", async () => {
    await using here = subject();
    const own = await here.log.start(job);
    const ofParent = await startedBy(here, signedName(token).replace(/^\d+-\d+/, `${process.ppid}-0`));
    const ended = await here.log.start(job);
    await here.log.finish(ended.id, { status: "failed" });
    expect(await here.log.recover()).toEqual([]);
    expect(await here.log.get(own.id)).toMatchObject({ status: "running" });
    expect(await here.log.get(ofParent)).toMatchObject({ status: "running" });
    expect(await here.log.get(ended.id)).toMatchObject({ status: "failed" });
  });

  it("closes jobs of all days, all of a day in one write", async () => {
    await using here = subject();
    const first = here.open();
    for (const day of ["2026-11-14", "2026-11-15"]) await here.fill(first, day, 50, false);
    for (const day of ["2026-11-14", "2026-11-15"]) {
      const file = join(here.directory, `${day}.jsonl`);
      writeFileSync(file, readFileSync(file, "utf8").replaceAll(/"process":"[^"]+"/g, `"process":"${DEAD}"`));
    }
    await first.close();
    await here.beginWatching();
    expect(await here.log.recover()).toHaveLength(100);
    expect(here.watched.count(/^write/)).toBe(2);
    expect(await here.log.list({ status: "interrupted" })).toHaveLength(100);
  });

  it("does not open days again that have nothing open", async () => {
    await using here = subject();
    await here.fill(here.log, "2026-11-15", 3);
    await here.log.recover();
    await here.beginWatching();
    await here.log.recover();
    expect(here.watched.count(/^open/)).toBe(0);
  });
});

describe("an output in its file", () => {
  const id = "job-2026-11-15-k3x9qa";
  const pathOf = (here: Subject): string => join(here.directory, `${id}.log`);

  it("is there without being closed, and never larger than head and two tails", async () => {
    await using here = subject({ maxOutputBytes: 1000 });
    const output = await here.log.openOutput(id);
    let written = "";
    for (let line = 0; line < 1000; line++) {
      const text = `line ${line}\n`;
      written += text;
      await output.write(text);
      const now = readFileSync(pathOf(here), "utf8");
      expect(now.endsWith(written.slice(-500))).toBe(true);
      expect(now.startsWith(written.slice(0, 500))).toBe(true);
      expect(now.length).toBeLessThanOrEqual(500 + 64 + 2 * 500);
    }
  });

  it.each([
    { maxOutputBytes: 1000, piece: 97 },
    { maxOutputBytes: 60, piece: 10 },
  ])(
    "keeps its last bytes at every step of a compaction, as a crash would leave them: %o",
    async (limits) => {
      await using here = subject(limits);
      const output = await here.log.openOutput(id);
      const half = limits.maxOutputBytes / 2;
      let recent = "";
      let looked = 0;
      let isClosing = false;
      // Only part of a write reaches the file at a time, and before each step the file is what a crash would leave.
      here.watched.bytesTaken = (_, length) => Math.min(length, limits.piece);
      here.watched.before = (step) => {
        if (!/^(write|truncate) /.test(step)) return;
        looked++;
        const left = readFileSync(pathOf(here), "latin1");
        const lines = recent
          .slice(12 - half)
          .split("\n")
          .slice(1, -1);
        const lost = lines.filter((line) => !left.includes(`${line}\n`));
        // The last compaction has less room, and moves the tail over itself: a line may be in two pieces for a moment.
        expect(lost.length).toBeLessThanOrEqual(isClosing ? 1 : 0);
      };
      for (let line = 0; line < 500; line++) {
        const text = `line ${line}\n`;
        await output.write(text);
        recent += text;
      }
      isClosing = true;
      await output.close();
      expect(looked).toBeGreaterThan(500);
      const text = readFileSync(pathOf(here), "utf8");
      expect(text.split(/\n\[\d+ bytes of output were cut here\]\n/)).toEqual([
        recent.slice(0, half),
        recent.slice(-half),
      ]);
    },
  );

  it.each(["ENOSPC", "EIO"])("goes on when the disk answered %s and has room again", async (code) => {
    await using here = subject({ maxOutputBytes: 100 });
    const output = await here.log.openOutput(id);
    await output.write("a".repeat(200));
    for (const failing of [/^write/, /^truncate/, /^read job/]) {
      here.watched.before = (step) => {
        if (failing.test(step)) throw systemError(code);
      };
      const failure = { operation: expect.stringMatching(/^(read|write)$/) as string, path: pathOf(here) };
      await expect(output.write("b".repeat(200))).rejects.toMatchObject(failure);
      here.watched.before = () => {};
    }
    await output.write("c".repeat(60));
    await output.close();
    expect(readFileSync(pathOf(here), "utf8")).toMatch(
      /^a{50}\n\[\d+ bytes of output were cut here\]\nc{50}$/,
    );
  });

  it("is closed even where it cannot be cut", async () => {
    await using here = subject({ maxOutputBytes: 100 });
    const output = await here.log.openOutput(id);
    await output.write("a".repeat(200));
    here.watched.before = (step) => {
      if (step.startsWith("truncate")) throw systemError("EIO");
    };
    await expect(output.close()).rejects.toBeInstanceOf(StateFileError);
    expect(here.watched.open).toBe(0);
  });
});

describe("a symbolic link", () => {
  const day = "2026-11-15";
  const id = `job-${day}-k3x9qa`;
  const refused = (call: Promise<unknown>): Promise<void> =>
    expect(call).rejects.toBeInstanceOf(StateFileError);

  it("in the place of the directory is refused, and nothing is written where it leads", async () => {
    await using here = subject();
    const elsewhere = join(here.parent, "elsewhere");
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, here.directory);
    await refused(here.log.start(job));
    await refused(here.log.finish(id, { status: "completed" }));
    await refused(here.log.get(id));
    await refused(here.log.list());
    await refused(here.log.openOutput(id));
    await refused(here.log.readOutput(id));
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it.each([true, false])("in the place of a day is refused, to a file that exists: %s", async (exists) => {
    await using here = subject();
    const elsewhere = join(here.parent, "elsewhere");
    if (exists) writeFileSync(elsewhere, "precious");
    mkdirSync(here.directory);
    symlinkSync(elsewhere, join(here.directory, `${day}.jsonl`));
    await refused(here.log.start(job));
    await refused(here.log.finish(id, { status: "completed" }));
    await refused(here.log.get(id));
    await refused(here.log.list());
    expect(existsSync(elsewhere) && readFileSync(elsewhere, "utf8")).toBe(exists && "precious");
  });

  it.each([true, false])(
    "in the place of an output is refused, to a file that exists: %s",
    async (exists) => {
      await using here = subject();
      const elsewhere = join(here.parent, "elsewhere");
      if (exists) writeFileSync(elsewhere, "precious");
      mkdirSync(here.directory);
      symlinkSync(elsewhere, join(here.directory, `${id}.log`));
      await expect(here.log.openOutput(id)).rejects.toMatchObject({ code: "INVALID_STATE" });
      await refused(here.log.readOutput(id));
      expect(existsSync(elsewhere) && readFileSync(elsewhere, "utf8")).toBe(exists && "precious");
    },
  );

  it("that takes the place of a day at the last moment is refused", async () => {
    await using here = subject();
    const elsewhere = join(here.parent, "elsewhere");
    mkdirSync(here.directory);
    here.watched.before = () => {
      // The first time the log looks whether the day is there, the second time it creates it.
      const path = join(here.directory, `${day}.jsonl`);
      if (here.watched.count(/^open/) === 2 && !existsSync(path)) symlinkSync(elsewhere, path);
    };
    await refused(here.log.start(job));
    expect(here.watched.count(/^open/)).toBe(2);
    expect(existsSync(elsewhere)).toBe(false);
  });

  it("in the place of the directory is refused where it is a file as well", async () => {
    await using here = subject();
    writeFileSync(here.directory, "");
    await expect(here.log.start(job)).rejects.toThrow("it is not a directory");
  });
});

describe("a directory that was there before", () => {
  it("keeps the mode its owner gave it", async () => {
    await using here = subject();
    mkdirSync(here.directory);
    chmodSync(here.directory, 0o750);
    await here.log.start(job);
    expect(statSync(here.directory).mode & 0o777).toBe(0o750);
  });
});

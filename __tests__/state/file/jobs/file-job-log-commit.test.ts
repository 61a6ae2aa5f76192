/** How lines reach a day's file: together, durably, and without harm to what is there when the disk refuses. */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { seededRandom } from "../../../../src/random.js";
import { StateFileError } from "../../../../src/state/errors.js";
import { FileJobLog } from "../../../../src/state/file/jobs/file-job-log.js";
import type { EndedJobRecord, JobRecord, NewJob } from "../../../../src/state/job-log/job-log.js";
import { endedRecord, startedRecord } from "../../../contract/records.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { systemError, WatchedDisk } from "../../watched-disk.js";

const DAY = "2026-11-15";
const job: NewJob = { agent: "writer", schedule: "hourly", trigger: "interval", prompt: "é" };

interface Subject extends AsyncDisposable {
  readonly directory: string;
  readonly file: string;
  readonly clock: FakeClock;
  readonly watched: WatchedDisk;
  readonly warnings: string[];
  readonly log: FileJobLog;
  /** Another log on the same directory, as another process would have. */
  other(): FileJobLog;
}

let seed = 0;

function subject(): Subject {
  const temporary = temporaryDirectory();
  const directory = join(temporary.path, "jobs");
  const clock = new FakeClock(`${DAY}T09:00:00Z`);
  const watched = new WatchedDisk();
  const warnings: string[] = [];
  const warn = (message: string): unknown => warnings.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const logs: FileJobLog[] = [];
  const create = (disk: WatchedDisk): FileJobLog => {
    const log = new FileJobLog({ directory, clock, logger, disk: disk.disk, random: seededRandom(seed++) });
    logs.push(log);
    return log;
  };
  return {
    directory,
    file: join(directory, `${DAY}.jsonl`),
    clock,
    watched,
    warnings,
    log: create(watched),
    other: () => create(new WatchedDisk()),
    async [Symbol.asyncDispose]() {
      for (const log of logs) await log.close();
      temporary[Symbol.dispose]();
    },
  };
}

const named = (suffix: string): JobRecord => startedRecord(`job-${DAY}-${suffix}`);
const completed = (suffix: string): EndedJobRecord => endedRecord(`job-${DAY}-${suffix}`);

const lines = (file: string): string[] => readFileSync(file, "utf8").split("\n").filter(Boolean);

describe("a day's file", () => {
  it("has a line for a start and a line for an end, both on the day of the start", async () => {
    await using here = subject();
    here.clock.jumpTo(`${DAY}T23:59:59Z`);
    const { id } = await here.log.start(job);
    await here.clock.advance("2m");
    await here.log.finish(id, { status: "completed" });
    expect(readdirSync(here.directory)).toEqual([`${DAY}.jsonl`]);
    expect(lines(here.file).map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id, status: "running", started_at: `${DAY}T23:59:59.000Z`, agent: "writer" },
      { id, status: "completed", finished_at: "2026-11-16T00:01:59.000Z", duration_ms: 120_000 },
    ]);
    expect(await here.log.get(id)).toMatchObject({ status: "completed" });
  });

  it("takes a hundred starts and ends at once in a few writes", async () => {
    await using here = subject();
    const started = await Promise.all(Array.from({ length: 100 }, () => here.log.start(job)));
    expect(here.watched.count(/^write/)).toBeLessThanOrEqual(2);
    expect(here.watched.count(/^datasync/)).toBe(here.watched.count(/^write/));
    const ended = await Promise.all(started.map(({ id }) => here.log.finish(id, { status: "completed" })));
    expect(here.watched.count(/^write/)).toBeLessThanOrEqual(4);
    expect(ended).toEqual(started.map(() => true));
    expect(lines(here.file)).toHaveLength(200);
  });

  it("takes jobs that start or end together in one write each", async () => {
    await using here = subject();
    const suffixes = Array.from({ length: 100 }, (_, i) => String(i).padStart(6, "0"));
    await here.log.openRecords(suffixes.map(named));
    expect(here.watched.count(/^write/)).toBe(1);
    await here.log.closeRecords(suffixes.map(completed));
    expect([here.watched.count(/^write/), here.watched.count(/^datasync/)]).toEqual([2, 2]);
    expect(lines(here.file)).toHaveLength(200);
  });

  it("takes what waits while a write is under way in the next one", async () => {
    await using here = subject();
    const first = here.log.start(job);
    const later: Promise<unknown>[] = [];
    here.watched.before = (step) => {
      if (!step.startsWith("datasync") || later.length > 0) return;
      for (let start = 0; start < 50; start++) later.push(here.log.start(job));
    };
    await first;
    await Promise.all(later);
    expect(here.watched.count(/^write/)).toBe(2);
    expect(lines(here.file)).toHaveLength(51);
  });

  it("is synced before a start or an end is acknowledged, and its directory before the first", async () => {
    await using here = subject();
    const { id } = await here.log.start(job);
    const order = here.watched.steps.filter((step) => /^(write|datasync|sync) /.test(step));
    // The parent comes first, for the entry of the directory that was made.
    expect(order.slice(1)).toEqual([`write ${DAY}.jsonl`, `datasync ${DAY}.jsonl`, "sync jobs"]);
    expect(order[0]).toMatch(/^sync /);
    here.watched.steps.length = 0;
    await here.log.finish(id, { status: "completed" });
    const again = here.watched.steps.filter((step) => /^(write|datasync|sync) /.test(step));
    expect(again).toEqual([`write ${DAY}.jsonl`, `datasync ${DAY}.jsonl`]);
  });

  it("has its directory synced by each log once, since who created it may have died before", async () => {
    await using here = subject();
    await here.other().start(job);
    await here.log.start(job);
    expect(here.watched.count(/^sync jobs/)).toBe(1);
  });

  it("is not created, nor its directory, by an end or a question", async () => {
    await using here = subject();
    expect(await here.log.finish(`job-${DAY}-aaaaaa`, { status: "completed" })).toBe(false);
    expect(await here.log.get(`job-${DAY}-aaaaaa`)).toBeUndefined();
    expect(await here.log.list()).toEqual([]);
    expect(await here.log.recover()).toEqual([]);
    expect(await here.log.prune()).toEqual([]);
    expect(() => statSync(here.directory)).toThrow("ENOENT");
  });

  it("begins anew after it was removed, and its directory is synced again", async () => {
    await using here = subject();
    const first = await here.log.start(job);
    rmSync(here.directory, { recursive: true });
    const syncs = here.watched.count(/^sync jobs/);
    const second = await here.log.start(job);
    expect(here.watched.count(/^sync jobs/)).toBe(syncs + 1);
    expect(await here.log.finish(first.id, { status: "completed" })).toBe(false);
    expect(await here.log.list()).toEqual([second]);
  });

  it("is read anew when another has taken its place", async () => {
    await using here = subject();
    await here.log.start(job);
    // Renamed, not removed: a file that is there keeps its inode from being given out again.
    renameSync(here.file, join(here.directory, "kept"));
    const { id } = await here.other().start({ ...job, prompt: "x".repeat(5000) });
    expect(await here.log.finish(id, { status: "completed" })).toBe(true);
  });

  it("is left as it is by an end that comes too late", async () => {
    await using here = subject();
    const { id } = await here.log.start(job);
    await here.log.finish(id, { status: "completed" });
    const before = readFileSync(here.file);
    expect(await here.log.finish(id, { status: "failed" })).toBe(false);
    expect(readFileSync(here.file)).toEqual(before);
  });

  it("leaves no handle open", async () => {
    await using here = subject();
    const { id } = await here.log.start(job);
    await here.log.finish(id, { status: "completed" });
    await here.log.list();
    await here.log.close();
    expect(here.watched.open).toBe(0);
  });
});

describe("two logs on one directory", () => {
  it("see each other's jobs, and one ends what the other started", async () => {
    await using here = subject();
    const other = here.other();
    const { id } = await here.log.start(job);
    await here.clock.advance(2500);
    expect(await other.finish(id, { status: "interrupted" })).toBe(true);
    expect(await here.log.finish(id, { status: "completed" })).toBe(false);
    expect(await here.log.get(id)).toMatchObject({ status: "interrupted", duration_ms: 2500 });
  });

  it("agree on the first of two ends, by the order of the file", async () => {
    await using here = subject();
    const other = here.other();
    const { id } = await here.log.start(job);
    let otherFirst: boolean | undefined;
    here.watched.before = async (step) => {
      // After the log has looked and before it writes.
      if (step.startsWith("write")) otherFirst = await other.finish(id, { status: "timeout" });
    };
    expect(await here.log.finish(id, { status: "completed" })).toBe(false);
    expect(otherFirst).toBe(true);
    expect(await here.log.get(id)).toMatchObject({ status: "timeout" });
    expect(await other.get(id)).toMatchObject({ status: "timeout" });
  });

  it("never have the same id, also when both draw it at the same moment", async () => {
    await using here = subject();
    const other = here.other();
    const { id } = await here.log.start(job);
    const taken = `job-${DAY}-bbbbbbbb`;
    const drawn = [Number.parseInt("bbbbbbbb", 36) / 36 ** 8 + 1e-14, 0.5];
    const drawing = new FileJobLog({
      directory: here.directory,
      clock: here.clock,
      disk: here.watched.disk,
      random: () => drawn.shift() ?? 0,
    });
    let raced = false;
    here.watched.before = async (step) => {
      if (!step.startsWith("write") || raced) return;
      raced = true;
      await other.start({ ...job, id: taken, prompt: "first" });
    };
    const started = await drawing.start(job);
    expect(started.id).toBe(`job-${DAY}-i0000000`);
    expect(await here.log.get(taken)).toMatchObject({ prompt: "first" });
    expect((await here.log.list()).map((record) => record.id)).toEqual([started.id, taken, id]);
    await drawing.close();
  });

  it("keep of several together what the other wrote first", async () => {
    await using here = subject();
    const other = here.other();
    await here.log.openRecords([named("aaaaaa")]);
    let raced = false;
    const before =
      (act: () => Promise<unknown>) =>
      async (step: string): Promise<void> => {
        if (!step.startsWith("write") || raced) return;
        raced = true;
        await act();
      };
    const allThere = [undefined, undefined, undefined];
    here.watched.before = before(() => other.openRecords([{ ...named("cccccc"), prompt: "first" }]));
    expect(await here.log.openRecords(["bbbbbb", "cccccc", "dddddd"].map(named))).toEqual(allThere);
    raced = false;
    here.watched.before = before(() => other.closeRecords([{ ...completed("bbbbbb"), status: "failed" }]));
    const ends = ["aaaaaa", "bbbbbb", "dddddd"].map(completed);
    expect(await here.log.closeRecords(ends)).toEqual(allThere);
    expect(await here.log.list()).toMatchObject([
      { id: named("dddddd").id, status: "completed" },
      { id: named("bbbbbb").id, status: "failed" },
      { id: named("cccccc").id, status: "running", prompt: "first" },
      { id: named("aaaaaa").id, status: "completed" },
    ]);
  });

  it("know the ids that the other took since they looked", async () => {
    await using here = subject();
    const other = here.other();
    await here.log.start(job);
    const { id } = await other.start(job);
    await expect(here.log.start({ ...job, id })).rejects.toMatchObject({ code: "INVALID_STATE" });
  });
});

describe("a line cut short by a crash", () => {
  const torn = async (here: Subject): Promise<string> => {
    const { id } = await here.log.start(job);
    const text = readFileSync(here.file, "utf8");
    appendFileSync(here.file, text.replaceAll(id, `job-${DAY}-tttttt`).slice(0, -20));
    return id;
  };

  it("is ignored, without a warning", async () => {
    await using here = subject();
    const id = await torn(here);
    expect((await here.log.list()).map((record) => record.id)).toEqual([id]);
    expect(here.warnings).toEqual([]);
  });

  it("does not spoil the line after it, and none of the bytes is taken away", async () => {
    await using here = subject();
    await torn(here);
    const before = readFileSync(here.file);
    const { id } = await here.other().start(job);
    expect(await here.log.get(id)).toMatchObject({ id });
    expect(readFileSync(here.file).subarray(0, before.length)).toEqual(before);
    expect(await here.log.list()).toHaveLength(2);
  });

  it("is noticed by a log that has written before", async () => {
    await using here = subject();
    await torn(here);
    const { id } = await here.log.start(job);
    expect(await here.log.get(id)).toMatchObject({ id });
  });

  it("leaves its id free", async () => {
    await using here = subject();
    await torn(here);
    await here.log.start({ ...job, id: `job-${DAY}-tttttt`, prompt: "again" });
    expect(await here.log.get(`job-${DAY}-tttttt`)).toMatchObject({ prompt: "again" });
  });

  it("counts when only its newline is missing, before and after the next line", async () => {
    await using here = subject();
    const { id } = await here.log.start(job);
    const other = `job-${DAY}-tttttt`;
    appendFileSync(here.file, readFileSync(here.file, "utf8").replaceAll(id, other).trimEnd());
    expect(await here.log.get(other)).toMatchObject({ status: "running" });
    await expect(here.log.start({ ...job, id: other })).rejects.toMatchObject({ code: "INVALID_STATE" });
    await here.log.start(job);
    expect(await here.log.get(other)).toMatchObject({ status: "running" });
    expect(await here.log.finish(other, { status: "completed" })).toBe(true);
    expect(await here.log.list()).toHaveLength(3);
  });
});

describe("a damaged line", () => {
  it("in the middle is skipped with one warning that says where, its neighbours stay", async () => {
    await using here = subject();
    const first = await here.log.start(job);
    appendFileSync(here.file, 'not json\n{"id":7}\n\n[]\n\0\0\0\n');
    const second = await here.log.start(job);
    for (let time = 0; time < 3; time++) expect(await here.log.list()).toEqual([second, first]);
    expect(here.warnings).toEqual([expect.stringContaining(`Skipped line 2 and 3 more of ${here.file}`)]);
  });

  it("that looks whole from outside is skipped with a warning as well", async () => {
    await using here = subject();
    const { id } = await here.log.start(job);
    const damaged = readFileSync(here.file, "utf8").replaceAll(id, `job-${DAY}-dddddd`);
    appendFileSync(here.file, damaged.replace('"agent":"writer"', '"agent":"wri'));
    expect((await here.log.list()).map((record) => record.id)).toEqual([id]);
    expect(here.warnings).toEqual([expect.stringContaining("Skipped line 2 of")]);
  });

  it("is none where another hand wrote the same in another way", async () => {
    await using here = subject();
    mkdirSync(here.directory);
    const id = `job-${DAY}-hhhhhh`;
    const start = {
      started_at: `${DAY}T08:00:00+01:00`,
      trigger: "manual",
      agent: "hand",
      status: "running",
      id,
    };
    const end = { status: "failed", id, newer: true, finished_at: `${DAY}T08:00:00Z`, error: "tired" };
    writeFileSync(
      here.file,
      `${JSON.stringify(start, null, 1).replaceAll("\n", "")}\r\n${JSON.stringify(end)}\n`,
    );
    expect(await here.log.list()).toMatchObject([
      { id, agent: "hand", status: "failed", error: "tired", started_at: `${DAY}T07:00:00.000Z`, attempt: 1 },
    ]);
    expect(here.warnings).toEqual([]);
  });

  it("costs a newer version's reason, not the record", async () => {
    await using here = subject();
    const { id } = await here.log.start({ ...job, source: "manual" });
    writeFileSync(
      here.file,
      readFileSync(here.file, "utf8").replace('"source":"manual"', '"source":"a-newer-one"'),
    );
    expect(await here.log.get(id)).toMatchObject({ source: null, agent: "writer" });
  });
});

const CODES = ["ENOSPC", "EIO", "EACCES", "EROFS", "EBUSY"];
const STEPS: readonly (readonly [step: string, operation: string])[] = [
  [`open ${DAY}.jsonl`, "open"],
  [`stat ${DAY}.jsonl`, "stat"],
  [`read ${DAY}.jsonl`, "read"],
  [`write ${DAY}.jsonl`, "append"],
  [`datasync ${DAY}.jsonl`, "sync"],
  ["open jobs", "sync directory"],
  ["sync jobs", "sync directory"],
  ["lstat jobs", "stat"],
];

describe.each(CODES)("a disk that answers %s", (code) => {
  it.each(STEPS)("at %s leaves the old bytes, says so, and may recover", async (failing, operation) => {
    await using here = subject();
    const first = await here.other().start(job);
    const before = readFileSync(here.file);
    const failure = systemError(code);
    here.watched.before = (step) => {
      if (step === failing) throw failure;
    };
    const starts = await Promise.allSettled([here.log.start(job), here.log.start(job)]);
    for (const start of starts) {
      expect(start).toMatchObject({
        status: "rejected",
        reason: { operation, cause: failure, code: "STATE_FILE" },
      });
      expect((start as PromiseRejectedResult).reason).toBeInstanceOf(StateFileError);
    }
    await expect(here.log.finish(first.id, { status: "completed" })).rejects.toMatchObject({ operation });
    const failed = { error: { operation } };
    expect(await here.log.openRecords([named("aaaaaa"), named("bbbbbb")])).toMatchObject([failed, failed]);
    expect(await here.log.closeRecords([endedRecord(first.id)])).toMatchObject([failed]);
    expect(readFileSync(here.file)).toEqual(before);
    expect(here.watched.open).toBe(0);

    here.watched.before = () => {};
    const second = await here.log.start(job);
    expect(await here.log.finish(first.id, { status: "completed" })).toBe(true);
    expect(await here.log.list()).toMatchObject([second, { id: first.id, status: "completed" }]);
  });

  it.each(["mkdir jobs", "chmod jobs", `open ${DAY}.jsonl`, `chmod ${DAY}.jsonl`, "sync jobs"])(
    "at %s for the first job says so, and may recover",
    async (failing) => {
      await using here = subject();
      here.watched.before = (step) => {
        if (step === failing) throw systemError(code);
      };
      await expect(here.log.start(job)).rejects.toBeInstanceOf(StateFileError);
      expect(here.watched.open).toBe(0);
      here.watched.before = () => {};
      const record = await here.log.start(job);
      expect(await here.log.list()).toEqual([record]);
      expect(statSync(here.directory).mode & 0o777).toBe(0o700);
      expect(statSync(here.file).mode & 0o777).toBe(0o600);
      expect(here.watched.count(/^sync jobs/)).toBeGreaterThan(0);
    },
  );
});

describe("a write that is cut short", () => {
  it.each([0, 1, 50, 400])("after %i bytes is taken back and reported", async (taken) => {
    await using here = subject();
    const first = await here.log.start(job);
    const before = readFileSync(here.file);
    here.watched.bytesTaken = () => taken;
    await expect(Promise.all([here.log.start(job), here.log.start(job)])).rejects.toMatchObject({
      operation: "append",
      message: expect.stringMatching(`only ${taken} of \\d+ bytes`) as string,
    });
    expect(readFileSync(here.file)).toEqual(before);
    const failed = { error: { operation: "append" } };
    const together = ["aaaaaa", "bbbbbb"].map(named);
    expect(await here.log.openRecords(together)).toMatchObject([failed, failed]);
    expect(readFileSync(here.file)).toEqual(before);
    here.watched.bytesTaken = (_, length) => length;
    const second = await here.log.start(job);
    expect(await here.log.list()).toEqual([second, first]);
    expect(await here.log.openRecords(together)).toEqual([undefined, undefined]);
  });

  it("stays where another process has appended after it, and spoils nothing", async () => {
    await using here = subject();
    const other = here.other();
    await here.log.start(job);
    await here.log.prune(); // which began by itself, and would come between
    let acknowledged = "";
    let isWritten = false;
    here.watched.bytesTaken = () => {
      isWritten = true;
      return 50;
    };
    here.watched.before = async (step) => {
      if (!isWritten || acknowledged !== "") return;
      // The first step after the short write.
      expect(step).toBe(`stat ${DAY}.jsonl`);
      acknowledged = (await other.start(job)).id;
    };
    await expect(here.log.start(job)).rejects.toMatchObject({ operation: "append" });
    here.watched.bytesTaken = (_, length) => length;
    here.watched.before = () => {};
    expect(await here.log.get(acknowledged)).toMatchObject({ id: acknowledged });
    const { id } = await here.log.start(job);
    expect((await here.log.list()).map((record) => record.id).slice(0, 2)).toEqual([id, acknowledged]);
  });

  it("is forgotten, also when another process has filled its place", async () => {
    await using here = subject();
    const other = here.other();
    const id = `job-${DAY}-ffffff`;
    await here.log.start(job);
    here.watched.before = (step) => {
      if (step.startsWith("datasync")) throw systemError("EIO");
    };
    await expect(here.log.start({ ...job, id })).rejects.toMatchObject({ operation: "sync" });
    here.watched.before = () => {};
    await other.start({ ...job, prompt: "x".repeat(5000) });
    expect(await here.log.start({ ...job, id })).toMatchObject({ id });
    expect(await here.log.list()).toHaveLength(3);
  });

  it("is reported when it is another process that takes it back", async () => {
    await using here = subject();
    const first = await here.log.start(job);
    await here.log.prune(); // which began by itself, and would come between
    const { size } = statSync(here.file);
    let isWritten = false;
    here.watched.bytesTaken = (_, length) => {
      isWritten = true;
      return length;
    };
    here.watched.before = () => {
      if (isWritten) truncateSync(here.file, size);
      isWritten = false;
    };
    await expect(here.log.start(job)).rejects.toMatchObject({ operation: "append" });
    here.watched.before = () => {};
    const second = await here.log.start(job);
    expect(await here.log.list()).toEqual([second, first]);
  });

  it("that cannot be taken back either leaves a line that is ignored", async () => {
    await using here = subject();
    const first = await here.log.start(job);
    here.watched.bytesTaken = () => 50;
    here.watched.before = (step) => {
      if (step.startsWith("truncate")) throw systemError("EIO");
    };
    await expect(here.log.start(job)).rejects.toMatchObject({ operation: "append" });
    here.watched.bytesTaken = (_, length) => length;
    const second = await here.log.start(job);
    expect(await here.log.list()).toEqual([second, first]);
  });
});

describe("a closed job log", () => {
  it("is closed when what was under way is safe, not before", async () => {
    await using here = subject();
    const starting = here.log.start(job);
    await here.log.close();
    expect(here.watched.count(/^datasync/)).toBe(1);
    expect(here.watched.open).toBe(0);
    await starting;
  });

  it("has finished what was under way, takes nothing more, and may be closed again", async () => {
    await using here = subject();
    const starting = here.log.start(job);
    const output = await here.log.openOutput(`job-${DAY}-aaaaaa`);
    await output.write("kept");
    await here.log.close();
    await here.log.close();
    const { id } = await starting;
    const closed = { code: "STATE_CLOSED" };
    await expect(here.log.start(job)).rejects.toMatchObject(closed);
    await expect(here.log.finish(id, { status: "completed" })).rejects.toMatchObject(closed);
    await expect(here.log.openOutput(id)).rejects.toMatchObject(closed);
    await expect(output.write("more")).rejects.toMatchObject(closed);
    expect(here.watched.open).toBe(0);
    expect(await here.other().readOutput(`job-${DAY}-aaaaaa`)).toBe("kept");
  });
});

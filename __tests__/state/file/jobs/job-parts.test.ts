/** The parts of a day: when the next one begins, where the lines of a job go, and what is left of an older part. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { FileStore } from "../../../../src/state/file/file-store.js";
import { FileJobLog, type FileJobLogOptions } from "../../../../src/state/file/jobs/file-job-log.js";
import type { NewJob } from "../../../../src/state/job-log/job-log.js";
import { endedRecord, startedRecord } from "../../../contract/records.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { systemError, WatchedDisk } from "../../watched-disk.js";

const DAY = "2026-11-15";
const rare: NewJob = { agent: "writer", schedule: "daily", trigger: "cron" };
const busy: NewJob = { agent: "poller", schedule: "often", trigger: "interval" };

interface Subject extends AsyncDisposable {
  readonly directory: string;
  readonly clock: FakeClock;
  readonly watched: WatchedDisk;
  readonly log: FileJobLog;
  open(options?: Partial<FileJobLogOptions>): FileJobLog;
  files(): string[];
  /** The schedules of the lines of starts in a part. */
  starts(part: string): (string | null)[];
  run(job: NewJob, count: number, log?: FileJobLog): Promise<string[]>;
}

function subject(options: Partial<FileJobLogOptions> = {}): Subject {
  const temporary = temporaryDirectory();
  const directory = join(temporary.path, "jobs");
  const clock = new FakeClock(`${DAY}T09:00:00Z`);
  const watched = new WatchedDisk();
  const logs: FileJobLog[] = [];
  const open = (more: Partial<FileJobLogOptions> = {}): FileJobLog => {
    const log = new FileJobLog({
      directory,
      clock,
      disk: watched.disk,
      mayPrune: () => false,
      partBytes: 5_000,
      ...options,
      ...more,
    });
    logs.push(log);
    return log;
  };
  const log = open();
  return {
    directory,
    clock,
    watched,
    log,
    open,
    files: () => readdirSync(directory).toSorted(),
    starts: (part) =>
      readFileSync(join(directory, `${part}.jsonl`), "utf8")
        .split("\n")
        .filter((line) => line.includes('"running"'))
        .map((line) => (JSON.parse(line) as { schedule: string | null }).schedule),
    async run(job, count, on = log) {
      const ids: string[] = [];
      for (let index = 0; index < count; index++) {
        await clock.advance("1s");
        const { id } = await on.start(job);
        await on.finish(id, { status: "completed", summary: "done" });
        ids.push(id);
      }
      return ids;
    },
    async [Symbol.asyncDispose]() {
      for (const one of logs) await one.close();
      temporary[Symbol.dispose]();
    },
  };
}

describe("a day of a file job log", () => {
  it("begins a new part when the last is full, and lists all parts newest first", async () => {
    await using here = subject();
    const ids = await here.run(busy, 40);
    expect(here.files().length).toBeGreaterThan(3);
    for (const name of here.files()) expect(statSync(join(here.directory, name)).size).toBeLessThan(6_000);
    const listed = (await here.log.list()).map(({ id }) => id);
    expect(listed).toEqual(ids.toReversed());
    expect((await here.open().list({ limit: 7 })).map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 7));
    for (const id of ids) expect(await here.log.get(id)).toMatchObject({ id, status: "completed" });
  });

  it("goes on with the last part after a restart", async () => {
    await using here = subject();
    await here.run(busy, 40);
    const before = here.files();
    await here.run(busy, 1, here.open());
    expect(here.files().length - before.length).toBeLessThanOrEqual(1);
    expect(here.files()).toEqual(expect.arrayContaining(before));
    expect(await here.log.list()).toHaveLength(41);
  });

  it("has the end of a job in the part of its start, also when a different process writes it", async () => {
    await using here = subject();
    const [own, other] = [await here.log.start(rare), await here.log.start(rare)];
    await here.run(busy, 40);
    expect(await here.log.finish(own.id, { status: "completed" })).toBe(true);
    expect(await here.open().finish(other.id, { status: "failed" })).toBe(true);
    const first = readFileSync(join(here.directory, `${DAY}.jsonl`), "utf8");
    for (const { id } of [own, other]) expect(first.split(id)).toHaveLength(3);
    expect(await here.log.list({ schedule: "daily" })).toMatchObject([
      { id: other.id, status: "failed" },
      { id: own.id, status: "completed" },
    ]);
    expect(await here.open().finish(own.id, { status: "failed" })).toBe(false);
    await expect(here.log.start({ ...rare, id: own.id })).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("ends a job where its start is being written, although a new part begins meanwhile", async () => {
    await using here = subject();
    const [first, second] = [`job-${DAY}-aaaaaaaa`, `job-${DAY}-bbbbbbbb`];
    await here.log.start(rare);
    let writes = 0;
    const calls: Promise<unknown>[] = [];
    const { size } = statSync(join(here.directory, `${DAY}.jsonl`));
    const log = here.open({ partBytes: size + 1 });
    here.watched.before = (step) => {
      if (!step.startsWith("write")) return;
      writes++;
      if (writes === 1) calls.push(log.openRecords([startedRecord(second)]));
      if (writes === 2) calls.push(log.closeRecords([endedRecord(second)]));
    };
    await log.openRecords([startedRecord(first)]);
    await calls[0];
    await calls[1];
    expect(await here.open().get(second)).toMatchObject({ status: "completed" });
    const running = (await here.open().list({ status: "running" })).map(({ id }) => id);
    expect(running).not.toContain(second);
  });

  it("is listed by the time of the start, also where a newer part has an older job", async () => {
    await using here = subject({ partBytes: 1 });
    const ids = await here.run(busy, 3);
    await here.log.openRecords([
      startedRecord(`job-${DAY}-aaaaaaaa`, { started_at: `${DAY}T01:00:00.000Z` }),
    ]);
    expect(await here.log.list({ limit: 2 })).toMatchObject([{ id: ids[2] }, { id: ids[1] }]);
    expect((await here.log.list()).at(-1)).toMatchObject({ id: `job-${DAY}-aaaaaaaa` });
  });

  it("is continued where it cannot be listed", async () => {
    await using here = subject();
    here.watched.before = (step) => {
      if (step.startsWith("readdir")) throw new Error("EIO");
    };
    const { id } = await here.log.start(busy);
    here.watched.before = () => {};
    expect(await here.log.get(id)).toMatchObject({ status: "running" });
  });

  it("is recovered in all of its parts", async () => {
    await using here = subject();
    const open = [await here.log.start(rare)];
    await here.run(busy, 30);
    open.push(await here.log.start(rare));
    for (const name of here.files()) {
      const path = join(here.directory, name);
      writeFileSync(path, readFileSync(path, "utf8").replaceAll(/"process":"[^"]*"/g, '"process":"1-1-0-0"'));
    }
    const recovered = await here.open().recover();
    expect(recovered.toSorted()).toEqual(open.map(({ id }) => id).toSorted());
    expect(await here.log.list({ status: "running" })).toEqual([]);
  });
});

describe("a line in a different form", () => {
  it("is found open, or ended, as a line that Rota wrote", async () => {
    await using here = subject();
    await here.log.start(rare);
    const path = join(here.directory, `${DAY}.jsonl`);
    const [line = ""] = readFileSync(path, "utf8").split("\n");
    const { id: _, ...rest } = JSON.parse(line) as Record<string, unknown>;
    const ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map((suffix) => `job-${DAY}-${suffix}`);
    const end = { status: "completed", finished_at: `${DAY}T09:00:00.000Z` };
    const lines = [
      { id: ids[0], agent: "before", ...rest, process: "" },
      { agent: "a", ...rest, id: ids[1], process: "" },
      { id: ids[2], started_at: rest["started_at"], ...rest, process: "" },
      { ...end, id: ids[2] },
    ];
    writeFileSync(path, `${lines.map((one) => JSON.stringify(one)).join("\n")}\n`, { flag: "a" });
    expect([...(await here.open().recover())].toSorted()).toEqual(ids.slice(0, 2));
  });
});

describe("the last jobs of each schedule", () => {
  it("are kept, however many jobs a busy schedule has, and their outputs with them", async () => {
    await using here = subject({ keep: 5 });
    const [first = ""] = await here.run(rare, 1);
    for (const id of [first]) await (await here.log.openOutput(id)).close();
    const [gone = ""] = await here.run(busy, 60);
    await (await here.log.openOutput(gone)).close();
    const [last = ""] = await here.run(rare, 1);
    await here.log.prune();
    await here.log.prune();
    expect((await here.log.list({ schedule: "daily" })).map(({ id }) => id)).toEqual([last, first]);
    const left = (await here.log.list({ schedule: "often" })).length;
    expect(left).toBeGreaterThanOrEqual(5);
    expect(left).toBeLessThanOrEqual(12);
    expect(existsSync(join(here.directory, `${first}.log`))).toBe(true);
    expect(existsSync(join(here.directory, `${gone}.log`))).toBe(false);
    expect(await here.log.get(gone)).toBeUndefined();
    expect(here.files().filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("are kept of today too, where the current part ends early so that older jobs of it can go", async () => {
    await using here = subject({ keep: 3, partBytes: 1_000_000 });
    await here.run(busy, 20);
    expect(await here.log.prune()).toEqual([]);
    await here.run(busy, 1);
    await here.log.prune();
    expect(here.files()).toEqual([`${DAY}.1.jsonl`, `${DAY}.jsonl`]);
    expect(here.starts(DAY)).toHaveLength(2);
    expect(await here.log.list()).toHaveLength(3);
  });

  it("stay in a part with a job that has not ended", async () => {
    await using here = subject({ keep: 1 });
    await here.log.start(rare);
    const before = here.starts(DAY);
    await here.run(busy, 40);
    await here.log.prune();
    expect(here.starts(DAY).length).toBeGreaterThan(before.length);
    expect(await here.log.list({ status: "running" })).toHaveLength(1);
  });

  it("are kept of a file of an earlier version, which has all jobs of its day and ids of six characters", async () => {
    await using here = subject({ keep: 2 });
    mkdirSync(here.directory);
    const lines: string[] = [];
    for (let number = 0; number < 500; number++) {
      const id = `job-${DAY}-${number.toString(36).padStart(6, "0")}`;
      const at = `${DAY}T08:00:00.000Z`;
      const start = { id, status: "running", started_at: at, agent: "poller", schedule: "often" };
      const signature = "999999999-1-000000000000-000000000000000000000000";
      lines.push(JSON.stringify({ ...start, trigger: "interval", attempt: 1, process: signature }));
      lines.push(JSON.stringify({ id, status: "completed", finished_at: at, process: signature }));
    }
    writeFileSync(join(here.directory, `${DAY}.jsonl`), `${lines.join("\n")}\n`);
    const [id] = await here.run(busy, 1);
    expect(here.files()).toEqual([`${DAY}.1.jsonl`, `${DAY}.jsonl`]);
    await here.log.prune();
    expect((await here.log.list()).map((record) => record.id)).toEqual([id, `job-${DAY}-0000dv`]);
  });
});

describe("a process beside the owner of the state directory", () => {
  it("removes no jobs, because it does not know the owner's limits; without an owner it does", async () => {
    const clock = new FakeClock(`${DAY}T09:00:00Z`);
    using temporary = temporaryDirectory();
    const stateDir = join(temporary.path, "state");
    const logger = { info() {}, warn() {}, error() {} };
    const owner = new FileStore({ stateDir, clock, logger, jobs: { keep: Infinity } });
    await owner.open();
    const runIn = async (): Promise<void> => {
      await clock.advance("1d");
      const guest = new FileStore({ stateDir, clock, logger, jobs: { keep: 1 } });
      for (let index = 0; index < 3; index++) {
        const { id } = await guest.jobs.start(busy);
        await guest.jobs.finish(id, { status: "completed" });
      }
      await guest.close();
    };
    for (let day = 0; day < 3; day++) await runIn();
    expect(await owner.jobs.list()).toHaveLength(9);
    await owner.close();
    await runIn();
    expect((await new FileStore({ stateDir, clock, logger }).jobs.list()).length).toBeLessThanOrEqual(5);
  });
});

describe("a size that is too large", () => {
  it("costs the busiest schedules their oldest jobs, and no schedule its last", async () => {
    await using here = subject({ keep: 100, maxSizeBytes: 12_000 });
    const rareIds = await here.run(rare, 3);
    await here.run(busy, 60);
    await here.log.prune();
    await here.log.prune();
    const bytes = here.files().reduce((sum, name) => sum + statSync(join(here.directory, name)).size, 0);
    expect(bytes).toBeLessThan(20_000);
    expect((await here.log.list({ schedule: "daily" })).map(({ id }) => id)).toEqual(rareIds.toReversed());
  });

  it("counts the outputs", async () => {
    await using here = subject({ keep: 100, maxSizeBytes: 50_000 });
    for (const id of await here.run(busy, 40)) {
      const output = await here.log.openOutput(id);
      await output.write("x".repeat(5_000));
      await output.close();
    }
    await here.log.prune();
    await here.log.prune();
    const bytes = here.files().reduce((sum, name) => sum + statSync(join(here.directory, name)).size, 0);
    expect(bytes).toBeLessThan(110_000);
    expect((await here.log.list()).length).toBeGreaterThanOrEqual(1);
  });
});

describe("a part that is written anew", () => {
  const STEPS = ["open", "appendFile", "sync", "rename"];

  it.each(STEPS)(
    "stays as it was when the disk is full at %s, and is written the next time",
    async (failing) => {
      await using here = subject({ keep: 1 });
      await here.run(busy, 40);
      const first = join(here.directory, `${DAY}.jsonl`);
      const before = readFileSync(first, "utf8");
      here.watched.before = (step) => {
        if (step.startsWith(`${failing} `) && step.includes(".tmp")) throw systemError("ENOSPC");
      };
      await here.run(rare, 1, here.open({ partBytes: 1 }));
      await expect(here.log.prune()).rejects.toMatchObject({ code: "STATE_FILE" });
      expect(readFileSync(first, "utf8")).toBe(before);
      expect(await here.log.list()).toHaveLength(41);
      here.watched.before = () => {};
      await here.log.prune();
      expect((await here.log.list()).length).toBeLessThan(20);
      expect(here.files().filter((name) => name.endsWith(".tmp"))).toEqual([]);
    },
  );

  it("has the lines that a different process appends meanwhile", async () => {
    await using here = subject({ keep: 1 });
    await here.run(busy, 40);
    const first = join(here.directory, `${DAY}.jsonl`);
    const late = `job-${DAY}-zzzzzzzz`;
    let isAdded = false;
    here.watched.before = async (step) => {
      if (isAdded || step !== `rename ${DAY}.jsonl.tmp`) return;
      isAdded = true;
      // Without the rest of its checks, as a process would that looked before.
      writeFileSync(first, `${JSON.stringify({ id: late, status: "running" })}\n`, { flag: "a" });
    };
    await here.log.prune();
    expect(isAdded).toBe(true);
    expect(readFileSync(first, "utf8")).toContain(late);
  });

  it("is noticed by a process that appends to the file that was replaced: its write fails, and works the next time", async () => {
    await using here = subject({ keep: 1, partBytes: 1_000_000 });
    const { id } = await here.log.start(rare);
    let isReplaced = false;
    const path = join(here.directory, `${DAY}.jsonl`);
    here.watched.before = async (step) => {
      if (isReplaced || step !== `write ${DAY}.jsonl`) return;
      isReplaced = true;
      const text = readFileSync(path);
      const { renameSync } = await import("node:fs");
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    };
    await expect(here.log.finish(id, { status: "completed" })).rejects.toMatchObject({
      message: expect.stringContaining("replaced meanwhile") as string,
    });
    expect(await here.log.finish(id, { status: "completed" })).toBe(true);
    expect(await here.log.get(id)).toMatchObject({ status: "completed" });
  });
});

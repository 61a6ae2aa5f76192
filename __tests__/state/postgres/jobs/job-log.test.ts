import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { Database, type PostgresPool } from "../../../../src/state/postgres/connection/database.js";
import { PostgresJobLog, type PostgresJobLogOptions } from "../../../../src/state/postgres/index.js";
import { selectJobs } from "../../../../src/state/postgres/jobs/job-rows.js";
import { migrateDatabase } from "../../../../src/state/postgres/schema/migrate.js";
import { processLogger } from "../../../../src/logger.js";
import { testJobLog } from "../../../contract/job-log-contract.js";
import { newSchema, sharedPool } from "../schema.js";
import { connectionLost, SteeredPool } from "../steered-pool.js";

testJobLog("PostgresJobLog", async (setup) => {
  const options = { pool: sharedPool(), schema: newSchema(), logger: processLogger };
  const database = new Database({ ...options, prepare: migrateDatabase });
  const log = new PostgresJobLog({ database, logger: processLogger, ...setup });
  return { log, [Symbol.asyncDispose]: () => log.close() };
});

describe("the jobs of a PostgresJobLog", () => {
  const opened = (
    limits: Partial<PostgresJobLogOptions>,
    pool: PostgresPool = sharedPool(),
  ): { log: PostgresJobLog; clock: FakeClock; schema: string } => {
    const schema = newSchema();
    const clock = new FakeClock("2026-11-15T09:00:00Z");
    const database = new Database({ pool, schema, logger: processLogger, prepare: migrateDatabase });
    const log = new PostgresJobLog({ database, clock, logger: processLogger, ...limits });
    onTestFinished(() => log.close());
    return { log, clock, schema };
  };
  const job = { agent: "a", schedule: "x", trigger: "interval" } as const;

  it("are removed when they are too old, with their outputs, except for running jobs", async () => {
    const { log, clock } = opened({ maxAgeDays: 2 });
    const running = await log.start(job);
    const ended = await log.start(job);
    await (await log.openOutput(ended.id)).close();
    await log.finish(ended.id, { status: "completed" });
    await clock.advance("3d");
    const fresh = await log.start(job);
    await log.removeOld();
    expect((await log.list()).map(({ id }) => id)).toEqual([fresh.id, running.id]);
    expect(await log.readOutput(ended.id)).toBeUndefined();
  });

  it("are removed when they are too old and a job starts, checked once a day", async () => {
    const { log, clock } = opened({ maxAgeDays: 2 });
    const old = await log.start(job);
    await log.finish(old.id, { status: "completed" });
    const isThereAfter = async (time: string): Promise<boolean> => {
      await clock.advance(time);
      await log.start(job);
      await log.close();
      return (await log.get(old.id)) !== undefined;
    };
    expect(await isThereAfter("36h")).toBe(true);
    expect(await isThereAfter("23h")).toBe(true);
    expect(await isThereAfter("1h")).toBe(false);
  });

  it("are removed when they are too old and a job starts, also without a limit of their number", async () => {
    const { log, clock } = opened({ maxAgeDays: 2, maxJobs: Infinity });
    const { id } = await log.start(job);
    await log.finish(id, { status: "completed" });
    await clock.advance("3d");
    await log.start(job);
    await log.close();
    expect(await log.get(id)).toBeUndefined();
  });

  it("are removed when they are too many, the oldest first, in as many batches as needed", async () => {
    const { log } = opened({ maxJobs: 10 });
    const ids = Array.from({ length: 2_500 }, (_, i) => `job-2026-11-15-${String(i).padStart(6, "0")}`);
    await Promise.all(ids.map((id) => log.start({ id, ...job })));
    await Promise.all(ids.map((id) => log.finish(id, { status: "completed" })));
    await log.removeOld();
    expect((await log.list()).map(({ id }) => id)).toEqual(ids.slice(-10).toReversed());
  });

  it("are removed when their schedule has too many, and no job of a quiet schedule is", async () => {
    const { log } = opened({ keep: 2 });
    const run = async (schedule: string | null): Promise<string> => {
      const { id } = await log.start({ ...job, schedule });
      await log.finish(id, { status: "completed" });
      return id;
    };
    const quiet = await run("quiet");
    const alone = await run(null);
    const running = await log.start({ ...job, schedule: "busy" });
    const busy = [];
    for (let count = 0; count < 5; count++) busy.unshift(await run("busy"));
    await log.removeOld();
    const kept = (await log.list()).map(({ id }) => id);
    expect(kept).toEqual([...busy.slice(0, 2), running.id, alone, quiet]);
  });

  it.each([Infinity, 1e9, 1e8, 1e6, 40_000])(
    "stay for %d days, however many years that is",
    async (maxAgeDays) => {
      const { log, clock } = opened({ maxAgeDays });
      const { id } = await log.start(job);
      await log.finish(id, { status: "completed" });
      await clock.advance("365d");
      await log.removeOld();
      expect((await log.list()).map((record) => record.id)).toEqual([id]);
    },
  );

  it.each([
    [Infinity, 3],
    [1e300, 3],
    [2.5, 2],
    [0.5, 0],
    [0, 0],
  ])("of which %d may be kept are then %i, of three", async (maxJobs, kept) => {
    const { log } = opened({ maxJobs });
    for (let number = 0; number < 3; number++) {
      const { id } = await log.start(job);
      await log.finish(id, { status: "completed" });
    }
    await log.removeOld();
    expect(await log.list()).toHaveLength(kept);
  });

  it("go when they are too old, also where any number may be kept", async () => {
    const { log, clock } = opened({ maxAgeDays: 2, maxJobs: Infinity });
    const { id } = await log.start(job);
    await log.finish(id, { status: "completed" });
    await clock.advance("3d");
    await log.removeOld();
    expect(await log.list()).toEqual([]);
  });

  it("that a different process started have the time between their start and their end", async () => {
    const { log, clock, schema } = opened({});
    const { id } = await log.start(job);
    await clock.advance("5s");
    const database = new Database({ pool: sharedPool(), schema, logger: processLogger });
    const other = new PostgresJobLog({ database, clock, logger: processLogger });
    await other.finish(id, { status: "completed" });
    expect(await other.get(id)).toMatchObject({ duration_ms: 5_000 });
  });

  it.each([
    ["newest", {}, "jobs_newest", ""],
    ["of an agent", { agent: "a" }, "jobs_newest", "Index Cond: (agent = "],
    ["of a schedule", { schedule: "x" }, "jobs_newest", "Index Cond: (schedule = "],
    ["of a status", { status: "failed" }, "jobs_by_status", "Index Cond: (status = "],
    [
      "since a time",
      { since: new Date("2026-11-15T09:00:00Z") },
      "jobs_newest",
      "Index Cond: (started_at >= ",
    ],
  ] as const)("are found by an index when those %s are listed", async (_, filter, index, condition) => {
    const { log, schema } = opened({});
    await log.start(job);
    const { text, values = [] } = selectJobs(`"${schema}"`, filter);
    const client = await sharedPool().connect();
    try {
      await client.query("set enable_seqscan = off; set enable_sort = off; set enable_bitmapscan = off");
      const { rows } = await client.query({ text: `explain ${text}`, values: [...values] });
      const plan = JSON.stringify(rows);
      expect(plan).toContain(`using ${index}`);
      // In the index itself: no row is read in vain.
      expect(plan).toContain(condition);
    } finally {
      client.release(true);
    }
  });

  it("keep an output that is longer than a block, and is written in pieces of any size", async () => {
    const { log } = opened({ maxOutputBytes: 100_000 });
    const { id } = await log.start(job);
    const output = await log.openOutput(id);
    const whole = Array.from({ length: 60_000 }, (_, i) => String(i % 10)).join("");
    for (let at = 0, size = 1; at < whole.length; at += size, size = (size * 7) % 20_011)
      await output.write(whole.slice(at, at + size));
    await output.close();
    expect(await log.readOutput(id)).toBe(whole);
  });

  it("keep head and tail of an output of many blocks", async () => {
    const { log } = opened({ maxOutputBytes: 50_000 });
    const { id } = await log.start(job);
    const output = await log.openOutput(id);
    const whole = Array.from({ length: 300_000 }, (_, i) => String(i % 7)).join("");
    await output.write(whole);
    await output.close();
    const cut = "\n[250000 bytes of output were cut here]\n";
    expect(await log.readOutput(id)).toBe(whole.slice(0, 25_000) + cut + whole.slice(-25_000));
  });

  it("keep an output that is opened again because the reply was lost, and only then", async () => {
    const pool = new SteeredPool();
    const { log } = opened({}, pool);
    const { id } = await log.start(job);
    pool.steer = async (_, carryOut) => {
      await carryOut();
      throw connectionLost();
    };
    await expect(log.openOutput(id)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.steer = (_, carryOut) => carryOut();
    const output = await log.openOutput(id);
    await output.write("said");
    await output.close();
    expect(await log.readOutput(id)).toBe("said");
    await expect(log.openOutput(id)).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("keep one copy of a write to an output that is repeated because the reply was lost", async () => {
    const pool = sharedPool();
    let queries = 0;
    const forgetful: PostgresPool = {
      connect: () => pool.connect(),
      on: () => {},
      end: async () => {},
      query: async (query) => {
        const answer = await pool.query(query);
        if (query.text.includes("job_output_blocks") && ++queries % 11 === 0) throw new Error("lost");
        return answer;
      },
    };
    const { log } = opened({ maxOutputBytes: 50_000 }, forgetful);
    const { id } = await log.start(job);
    const output = await log.openOutput(id);
    const again = (text: string): Promise<void> => output.write(text).catch(() => again(text));
    const whole = Array.from({ length: 90_000 }, (_, i) => String(i % 7)).join("");
    for (let at = 0; at < whole.length; at += 3_001) await again(whole.slice(at, at + 3_001));
    queries = -Infinity;
    await output.close();
    const cut = "\n[40000 bytes of output were cut here]\n";
    expect(await log.readOutput(id)).toBe(whole.slice(0, 25_000) + cut + whole.slice(-25_000));
  });
});

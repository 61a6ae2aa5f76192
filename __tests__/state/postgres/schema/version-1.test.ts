/** A database of version 1, with data in every table, is migrated in place and goes on. */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { migrate, SCHEMA_VERSION } from "../../../../src/state/postgres/schema/migrate.js";
import type { ScheduleKey } from "../../../../src/state/store.js";
import { key, LEASE_MS, names, only, START } from "../scene.js";
import { sharedPool, unmadeSchema } from "../schema.js";
import { tableBreaches } from "../table-breaches.js";
import { functionsOf, tablesOf } from "./schema-parts.js";

let text = "";
beforeAll(async () => {
  text = await readFile(new URL("version-1.sql", import.meta.url), "utf8");
});

async function madeByVersion1(): Promise<string> {
  const schema = unmadeSchema();
  await sharedPool().query(text.replaceAll("rota_1", schema));
  return schema;
}

/** A node that defines all schedules of the fixture, 21 seconds after its start: leases are not over yet. */
async function nodeOn(schema: string): Promise<{ store: PostgresStore; clock: FakeClock }> {
  const clock = new FakeClock(START);
  await clock.advance("21s");
  const store = new PostgresStore({ pool: sharedPool(), schema, clock, leaseMs: LEASE_MS, nodeName: "new" });
  onTestFinished(() => store.close());
  await store.open();
  const schedules: ScheduleKey[] = [
    "solo/hourly solo/spare team/a team/b team/c crew/left crew/right crew/asked lost/job",
    "late/one late/two late/three kinds/idle kinds/paused",
  ].flatMap((line) => line.split(" ").map(key));
  const agents = [
    { agent: "solo", maxConcurrent: 2 },
    { agent: "crew", maxConcurrent: 5 },
    { agent: "kinds", maxConcurrent: 9 },
    { agent: "late", maxConcurrent: 3 },
  ];
  await store.define({ agents, schedules });
  return { store, clock };
}

describe("a database of version 1", () => {
  it("has exactly the tables and functions of a new database after the migration", async () => {
    const [old, fresh] = [await madeByVersion1(), unmadeSchema()];
    expect(await migrate(sharedPool(), old)).toEqual({ from: 1, to: SCHEMA_VERSION });
    await migrate(sharedPool(), fresh);
    expect(await tablesOf(old)).toEqual(await tablesOf(fresh));
    expect(await functionsOf(old)).toEqual(await functionsOf(fresh));
    expect(await tableBreaches(sharedPool(), old)).toEqual([]);
  });

  it("keeps functions of the application in the same schema", async () => {
    const schema = await madeByVersion1();
    await sharedPool().query(
      `create function "${schema}".of_the_application() returns int language sql as 'select 7'`,
    );
    await migrate(sharedPool(), schema);
    const { rows } = await sharedPool().query(`select "${schema}".of_the_application() as seven`);
    expect(rows).toEqual([{ seven: 7 }]);
  });

  it("keeps the states of its schedules", async () => {
    const schema = await madeByVersion1();
    const { store } = await nodeOn(schema);
    expect(Object.fromEntries(await store.list("kinds"))).toMatchObject({
      idle: { last_started_at: START, next_run_source: "baseline-cron", failure_count: 0 },
      disabled: { status: "disabled" },
      paused: { paused_until: "2026-03-01T09:00:00.000Z" },
      hinted: { hint: { interval: "3s", reason: 'busy \u001e "quoted"\n' } },
      failing: { failure_count: 4, last_error: "boom\0\nsecond line" },
      missed: { missed_count: 3, interrupted_count: 1 },
      requested: { request: { id: "r1" } },
    });
    expect([...(await store.list("od\0d\\na\nme")).keys()]).toEqual(["s\0x"]);
  });

  it("keeps the records and outputs of its jobs", async () => {
    const schema = await madeByVersion1();
    const { store } = await nodeOn(schema);
    const jobs = await store.jobs.list();
    expect(jobs.map(({ id, status }) => `${id.slice(-2)} ${status}`)).toEqual([
      "z2 interrupted",
      "z1 failed",
      "ru running",
      "rt running",
      "rv completed",
      "01 running",
    ]);
    expect(jobs[1]).toMatchObject({ prompt: "p\0\n", error: "e\n\0", exit_code: 3, work_item: [1] });
    expect(jobs[2]).toMatchObject({ prompt: "do it", work_item: { id: 7 } });
    expect(await store.jobs.readOutput("job-2026-03-01-0000rt")).toBe(`${"x".repeat(9_000)}the end\n`);
  });

  it("has its waiting slots claimed, also one that a node saw and left in time", async () => {
    const schema = await madeByVersion1();
    const { store } = await nodeOn(schema);
    const { claims, nextDueAt } = await store.claimDue(10);
    expect(names(claims)).toEqual(["late/three"]);
    expect(only(claims).seenAt.toISOString()).toBe("2026-03-01T00:00:20.000Z");
    expect(nextDueAt?.toISOString()).toBe("2026-03-01T07:00:00.000Z");
    expect(await store.claim(key("team/b"))).toBe("at_capacity");
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  });

  it("has its claims ended and the records of their jobs closed, which frees capacity", async () => {
    const schema = await madeByVersion1();
    const { store } = await nodeOn(schema);
    const { claim } = await store.read(key("team/a"));
    const open = await store.jobs.get(claim?.job_id ?? "");
    if (claim == null || open === undefined) throw new Error("Expected a claim with a record.");
    const record = { ...open, status: "completed", finished_at: START, duration_ms: 3 } as const;
    const ended = { ...key("team/a"), token: claim.token, jobId: claim.job_id };
    expect(await store.finishJobs([{ claim: ended, change: {}, record }])).toEqual([
      { claim: "ended", record: "written" },
    ]);
    expect(await store.jobs.get(claim.job_id)).toEqual(record);
    expect(names((await store.claimDue(10)).claims)).toEqual(["team/b", "late/three"]);
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  });

  it("has the claims of nodes that are gone interrupted when their leases end", async () => {
    const schema = await madeByVersion1();
    const { store, clock } = await nodeOn(schema);
    await clock.advance("31s");
    const { claims } = await store.claimDue(20);
    expect(names(claims).toSorted()).toEqual([
      "crew/right",
      "late/one",
      "late/three",
      "late/two",
      "lost/job",
      "solo/hourly",
      "team/b",
    ]);
    expect(await store.jobs.get("job-2026-03-01-000001")).toMatchObject({ status: "interrupted" });
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  });

  it("gives new jobs ids with eight characters, and leaves the ids of jobs that run as they are", async () => {
    const schema = await madeByVersion1();
    const before = await sharedPool().query(
      `select id from "${schema}".jobs where status = 'running' order by id`,
    );
    const { store } = await nodeOn(schema);
    const { claims } = await store.claimDue(10);
    expect(only(claims).jobId).toMatch(/^job-2026-03-01-01[0-9a-z]{6}$/);
    const { claim } = await store.read(key("team/a"));
    expect(before.rows).toContainEqual({ id: claim?.job_id });
  });
});

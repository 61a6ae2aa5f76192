/** A database of version 4, with data in its tables, is migrated in place and goes on. */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { migrate, SCHEMA_VERSION } from "../../../../src/state/postgres/schema/migrate.js";
import { key, LEASE_MS, names, START } from "../scene.js";
import { sharedPool, unmadeSchema } from "../schema.js";
import { tableBreaches } from "../table-breaches.js";
import { functionsOf, tablesOf } from "./schema-parts.js";

let text = "";
beforeAll(async () => {
  text = await readFile(new URL("version-4.sql", import.meta.url), "utf8");
});

async function madeByVersion4(): Promise<string> {
  const schema = unmadeSchema();
  await sharedPool().query(text.replaceAll("rota_4", schema));
  return schema;
}

/** A node that defines all schedules of the fixture, 16 seconds after its start: leases are not over yet. */
async function nodeOn(schema: string): Promise<{ store: PostgresStore; clock: FakeClock }> {
  const clock = new FakeClock(START);
  await clock.advance("16s");
  const store = new PostgresStore({ pool: sharedPool(), schema, clock, leaseMs: LEASE_MS, nodeName: "new" });
  onTestFinished(() => store.close());
  await store.open();
  const schedules = [
    "solo/hourly solo/spare team/a team/b team/c crew/left crew/right lost/job",
    "kinds/idle kinds/disabled kinds/paused kinds/failing kinds/retried kinds/backfill",
  ].flatMap((line) => line.split(" ").map(key));
  const agents = [
    { agent: "solo", maxConcurrent: 2 },
    { agent: "crew", maxConcurrent: 5, isCounted: true },
    { agent: "kinds", maxConcurrent: 9 },
  ];
  await store.define({ agents, schedules });
  return { store, clock };
}

describe("a database of version 4", () => {
  it("has exactly the tables and functions of a new database after the migration", async () => {
    const [old, fresh] = [await madeByVersion4(), unmadeSchema()];
    expect(await migrate(sharedPool(), old)).toEqual({ from: 4, to: SCHEMA_VERSION });
    await migrate(sharedPool(), fresh);
    expect(await tablesOf(old)).toEqual(await tablesOf(fresh));
    expect(await functionsOf(old)).toEqual(await functionsOf(fresh));
    expect(await tableBreaches(sharedPool(), old)).toEqual([]);
  });

  it("keeps the states of its schedules", async () => {
    const { store } = await nodeOn(await madeByVersion4());
    expect(Object.fromEntries(await store.list("kinds"))).toMatchObject({
      disabled: { status: "disabled" },
      paused: { paused_until: "2026-03-01T09:00:00.000Z", accounted_until: START },
      failing: { failure_count: 4, last_error: "boom\0\nsecond line", missed_count: 3 },
      retried: { retry: { slot: "2026-02-28T23:59:00.000Z", attempt: 3 }, interrupted_count: 2 },
      backfill: { backfill: { total: 4, failed: 1 }, hint: { reason: 'busy \u001e "quoted"\n' } },
    });
  });

  it("keeps the records of its jobs, and what they were triggered with", async () => {
    const { store } = await nodeOn(await madeByVersion4());
    expect((await store.jobs.list()).map(({ id, status }) => `${id.slice(-1)} ${status}`)).toEqual([
      "2 failed",
      "1 running",
      "4 running",
      "3 running",
    ]);
    expect(await store.jobs.get("job-2026-03-01-01000002")).toMatchObject({
      prompt: "p\0\n",
      work_item: [1],
    });
    expect(await store.mailbox.ofJob("job-2026-03-01-01000001")).toMatchObject({
      prompt: "Line\n\0two",
      data: { a: [1, null] },
    });
    const order = { ...key("crew/right"), key: "once" };
    expect(await store.mailbox.findKey(order)).toMatchObject({ jobId: "job-2026-03-01-01000001" });
  });

  it("has its claims held until their leases end, and its waiting slots claimed", async () => {
    const schema = await madeByVersion4();
    const { store, clock } = await nodeOn(schema);
    expect(names((await store.claimDue(10)).claims)).toEqual([]);
    expect(await store.claim(key("team/b"))).toBe("at_capacity");
    await clock.advance("31s");
    expect(names((await store.claimDue(10)).claims).toSorted()).toEqual([
      "crew/left",
      "crew/right",
      "lost/job",
      "team/b",
    ]);
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  });

  it("can have its agents paused, also while jobs of them run", async () => {
    const schema = await madeByVersion4();
    const { store, clock } = await nodeOn(schema);
    await store.changePause("team", () => ({ by: "user", since: START }));
    await store.changePause("crew", () => ({ by: "user", since: START }));
    await clock.advance("31s");
    expect(names((await store.claimDue(10)).claims)).toEqual(["lost/job"]);
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
    await store.changePause("team", () => null);
    expect(names((await store.claimDue(10)).claims)).toEqual(["team/b"]);
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  });
});

/** What the application around a store has changed: how `pg` reads values, and how its sessions write them. */
import { Pool, types } from "pg";
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { DatabaseLocation } from "../../../src/cli/location/database-location.js";
import type { OutsideChange } from "../../../src/index.js";
import { Database } from "../../../src/state/postgres/connection/database.js";
import { listNodes } from "../../../src/state/postgres/node/list-nodes.js";
import { migrate, SCHEMA_VERSION } from "../../../src/state/postgres/schema/migrate.js";
import { processLogger } from "../../../src/logger.js";
import { completeClaim, key, only, planAll, scene } from "./scene.js";
import { newSchema, sharedPool } from "./schema.js";

const SETTINGS =
  "-c datestyle=German,DMY -c bytea_output=escape -c timezone=Asia/Kolkata -c intervalstyle=iso_8601";

/** Every type of which a column or an answer is. */
const TYPES = [16, 17, 18, 19, 20, 21, 23, 25, 114, 700, 701, 1009, 1016, 1114, 1184, 1186, 1700, 2278, 3802];

/** Whatever `pg` would read by default is of no use. */
function breakParsers(): void {
  for (const type of TYPES) {
    const parser = types.getTypeParser(type, "text");
    onTestFinished(() => types.setTypeParser(type, parser));
    types.setTypeParser(type, (text: string) => ({ mine: text }));
  }
}

function poolWithSettings(): Pool {
  const pool = new Pool({ connectionString: inject("databaseUrl"), options: SETTINGS });
  onTestFinished(() => pool.end());
  return pool;
}

describe.each([
  ["has type parsers of its own", breakParsers, sharedPool],
  ["has sessions that write otherwise", () => {}, poolWithSettings],
])("an application that %s", (_, change, poolOf) => {
  it("has a store that goes by the database's time", async () => {
    const { node, schema } = scene();
    change();
    const pool = poolOf();
    const store = await node({ pool, clock: undefined });
    expect(Math.abs((store.clock?.now().getTime() ?? 0) - Date.now())).toBeLessThan(5_000);
    const [seen] = await listNodes(new Database({ pool, schema, logger: processLogger }));
    expect(Math.abs((seen?.seenAt.getTime() ?? 0) - Date.now())).toBeLessThan(5_000);
    expect(Math.abs((seen?.startedAt.getTime() ?? 0) - Date.now())).toBeLessThan(5_000);
    expect(seen).toMatchObject({ isLate: false, claimCount: 0, pid: process.pid });
  });

  it("has a store that only reads and knows the time", async () => {
    const { outsider } = scene();
    change();
    const store = outsider({ pool: poolOf(), clock: undefined });
    await store.read(key("a/x"));
    expect(Math.abs(store.clock.now().getTime() - Date.now())).toBeLessThan(5_000);
  });

  it("has claims that are made, renewed and ended", async () => {
    const { node } = scene();
    change();
    const store = await node({ pool: poolOf(), clock: undefined });
    await planAll([store], ["a/x", "a/y"]);
    const claim = only((await store.claimDue(10)).claims);
    expect(await store.renew(claim)).toBe(true);
    expect(await completeClaim(store, claim, { failure_count: 1 })).toBe(true);
    expect(await store.claim(key("a/x"))).toMatchObject({ agent: "a", schedule: "x" });
    expect(await store.claim(key("a/y"))).toBe("at_capacity");
    expect((await store.list("a")).get("x")).toMatchObject({ status: "running" });
  });

  it("has the next due time told", async () => {
    const { node } = scene();
    change();
    const store = await node({ pool: poolOf(), clock: undefined });
    await planAll([store], ["a/x"]);
    const next_run_at = "2126-03-01T00:00:00.000Z";
    await store.update(key("a/x"), { next_run_at });
    expect((await store.claimDue(10)).nextDueAt).toEqual(new Date(next_run_at));
  });

  it("has changes from outside told, with what was changed", async () => {
    const { node, outsider } = scene();
    change();
    const store = await node({ pool: poolOf(), clock: undefined });
    await store.define({ schedules: [key("a/x")] });
    const heard: OutsideChange[] = [];
    store.onChange((changes) => heard.push(...changes));
    await outsider({ clock: undefined }).update(key("a/x"), {
      status: "disabled",
      paused_until: "2126-03-01T00:00:00.000Z",
    });
    await vi.waitFor(() => expect(heard).toHaveLength(1), 5_000);
    expect(heard).toEqual([{ agent: "a", schedule: "x", keys: ["status", "paused_until"] }]);
  });

  it("has jobs and their outputs read as they were written", async () => {
    const { node } = scene();
    change();
    const store = await node({ pool: poolOf(), clock: undefined });
    const { id } = await store.jobs.start({ agent: "a", schedule: "x", trigger: "interval", prompt: "go" });
    const output = await store.jobs.openOutput(id);
    await output.write("grün\n\0\\x");
    await output.write("more");
    await output.close();
    await store.jobs.finish(id, { status: "failed", error: "no", duration_ms: 12 });
    expect(await store.jobs.get(id)).toMatchObject({
      status: "failed",
      error: "no",
      duration_ms: 12,
      prompt: "go",
    });
    expect(Date.now() - Date.parse((await store.jobs.list())[0]?.started_at ?? "")).toBeLessThan(5_000);
    expect(await store.jobs.readOutput(id)).toBe("grün\n\0\\xmore");
    await store.jobs.removeOld();
    expect(await store.jobs.list()).toHaveLength(1);
  });

  it("has a schema whose version is read", async () => {
    const schema = newSchema();
    change();
    await migrate(poolOf(), schema);
    expect(await migrate(poolOf(), schema)).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION });
  });
});

describe("a command in a process with type parsers of its own", () => {
  it("knows the database's time", async () => {
    breakParsers();
    const location = new DatabaseLocation({
      url: inject("databaseUrl"),
      schema: newSchema(),
      name: "it",
      connectMs: 5_000,
    });
    await using reached = await location.openSession(processLogger);
    expect(Math.abs(reached.now.getTime() - Date.now())).toBeLessThan(5_000);
  });
});

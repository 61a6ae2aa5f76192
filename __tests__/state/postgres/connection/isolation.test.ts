/** Sessions that begin at another isolation level than the statements count on. */
import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { commandPool } from "../../../../src/cli/location/command-pool.js";
import type { PostgresPool } from "../../../../src/state/postgres/connection/database.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { migrate } from "../../../../src/state/postgres/schema/migrate.js";
import { MIGRATIONS } from "../../../../src/state/postgres/schema/migrations.js";
import { releaseClaim } from "../scene.js";
import { newSchema, sharedPool, unmadeSchema } from "../schema.js";

const levels = ["repeatable read", "serializable"] as const;

const optionsFor = (level: string): string =>
  `-c default_transaction_isolation=${level.replace(" ", String.raw`\ `)}`;

/** Where every session is at that level unless it says otherwise, by the connection string. */
const urlWith = (level: string): string => {
  const url = new URL(inject("databaseUrl"));
  url.searchParams.set("options", `${optionsFor(level)} -c work_mem=5MB`);
  return url.href;
};

const poolAt = (level: string): Pool => {
  const pool = new Pool({ connectionString: inject("databaseUrl"), options: optionsFor(level) });
  onTestFinished(() => pool.end());
  return pool;
};

describe("a store on a pool", () => {
  it.each(levels)("refuses one that is %s", async (level) => {
    const store = new PostgresStore({ pool: poolAt(level), schema: newSchema() });
    await expect(store.open()).rejects.toMatchObject({
      code: "STATE_DATABASE",
      message: expect.stringMatching(
        `^The pool's transactions are "${level}" by default: a PostgresStore needs "read committed", .*` +
          "Set default_transaction_isolation",
      ) as string,
    });
  });

  it("refuses a repeatable read pool also for a store that only reads", async () => {
    const store = new PostgresStore({ pool: poolAt("repeatable read"), schema: newSchema() });
    await expect(store.read({ agent: "a", schedule: "x" })).rejects.toThrow("read committed");
  });
});

describe("a store that makes its own pool", () => {
  it.each(levels)("has agents keep their capacity where the default is %s", async (level) => {
    const schema = newSchema();
    const definitions = Array.from({ length: 30 }, (_, index) => ({
      agent: "a",
      schedule: `s${index}`,
    }));
    const stores = [1, 2, 3].map(() => new PostgresStore({ connectionString: urlWith(level), schema }));
    for (const store of stores) {
      onTestFinished(() => store.close());
      await store.open();
      await store.define({ agents: [{ agent: "a", maxConcurrent: 2 }], schedules: definitions });
    }
    let most = 0;
    for (let round = 0; round < 40; round++) {
      await stores[0]?.updateAll(definitions, () => ({ next_run_at: "2020-01-01T00:00:00Z" }));
      const taken = await Promise.all(stores.map((store) => store.claimDue(10)));
      most = Math.max(most, taken.flatMap(({ claims }) => claims).length);
      for (const [index, store] of stores.entries())
        for (const claim of taken[index]?.claims ?? []) await releaseClaim(store, claim);
    }
    expect(most).toBe(2);
  });
});

describe("the pool of a command", () => {
  it("is read committed, and has what its user set besides", async () => {
    const url = urlWith("serializable");
    const pool: PostgresPool = commandPool({ url, schema: "rota", name: "it", connectMs: 5_000 });
    onTestFinished(() => pool.end());
    const text =
      "select current_setting('transaction_isolation') as level, current_setting('work_mem') as memory";
    expect((await pool.query({ text })).rows).toEqual([{ level: "read committed", memory: "5MB" }]);
  });
});

describe("migrating on a pool that is repeatable read", () => {
  it("is done once when several ask at the same time", async () => {
    const schema = unmadeSchema();
    const pool = poolAt("repeatable read");
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => migrate(pool, schema)));
    expect(asked.filter(({ status }) => status === "rejected")).toEqual([]);
    const { rows } = await sharedPool().query(`select number from "${schema}".migrations`);
    expect(rows).toEqual(MIGRATIONS.map((_, index) => ({ number: index + 1 })));
  });
});

/** A pooler in transaction mode loses notifications and named statements: a store refuses it before it writes anything. */
import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { requireOwnSessions } from "../../../../src/state/postgres/connection/own-sessions.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { newSchema, sharedPool, unmadeSchema } from "../schema.js";
import { TransactionPooler } from "./transaction-pooler.js";

const poolerWith = async (sessions: number, isRoundRobin = false): Promise<TransactionPooler> => {
  const pooler = await TransactionPooler.to(inject("databaseUrl"), sessions, isRoundRobin);
  onTestFinished(() => pooler[Symbol.asyncDispose]());
  return pooler;
};

const REFUSAL = {
  code: "STATE_DATABASE",
  message: expect.stringMatching(/^A pooler in transaction mode .* pool_mode = session\.$/) as string,
};

describe("a store behind a pooler in transaction mode", () => {
  it.each([
    { sessions: 1, order: "last used first" },
    { sessions: 2, order: "last used first" },
    { sessions: 8, order: "last used first" },
    { sessions: 1, order: "in turn" },
    { sessions: 2, order: "in turn" },
    { sessions: 3, order: "in turn" },
  ])("does not open where connections share sessions ($sessions, $order)", async ({ sessions, order }) => {
    const pooler = await poolerWith(sessions, order === "in turn");
    const schema = unmadeSchema();
    const store = new PostgresStore({ connectionString: pooler.url, schema });
    onTestFinished(() => store.close());
    await expect(store.open()).rejects.toMatchObject(REFUSAL);
    const { rows } = await sharedPool().query({
      text: "select nspname from pg_namespace where nspname = $1",
      values: [schema],
    });
    expect(rows).toEqual([]);
  });

  it("leaves no node in a schema that exists", async () => {
    const pooler = await poolerWith(4);
    const schema = newSchema();
    const direct = new PostgresStore({ connectionString: inject("databaseUrl"), schema });
    await direct.open();
    await direct.close();
    const store = new PostgresStore({ connectionString: pooler.url, schema });
    onTestFinished(() => store.close());
    await expect(store.open()).rejects.toMatchObject(REFUSAL);
    const { rows } = await sharedPool().query({ text: `select * from ${schema}.nodes` });
    expect(rows).toEqual([]);
  });

  it("names the cause when a store that only reads meets a statement of a different connection", async () => {
    const pooler = await poolerWith(1);
    const schema = newSchema();
    const key = { agent: "a", schedule: "x" };
    const stores = [1, 2].map(() => new PostgresStore({ connectionString: pooler.url, schema }));
    for (const store of stores) onTestFinished(() => store.close());
    await stores[0]?.read(key);
    await expect(stores[1]?.read(key)).rejects.toThrow(/already exists.*pool_mode = session/);
  });
});

describe("connections to the server itself", () => {
  it("have sessions of their own, also when many stores check at once", async () => {
    const pool = new Pool({ connectionString: inject("databaseUrl"), max: 12 });
    onTestFinished(() => pool.end());
    await Promise.all(Array.from({ length: 6 }, () => requireOwnSessions(pool)));
    expect(pool.waitingCount).toBe(0);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it("open as many stores at once as a pool of the host has room for", async () => {
    const pool = new Pool({ connectionString: inject("databaseUrl"), max: 4 });
    onTestFinished(() => pool.end());
    const schema = newSchema();
    const stores = [1, 2, 3].map(() => new PostgresStore({ pool, schema }));
    for (const store of stores) onTestFinished(() => store.close());
    await Promise.all(stores.map((store) => store.open()));
    const { rows } = await sharedPool().query({ text: `select * from ${schema}.nodes` });
    expect(rows).toHaveLength(3);
  });

  it("are checked when a store opens, and not again", async () => {
    const pool = new Pool({ connectionString: inject("databaseUrl"), max: 3 });
    onTestFinished(() => pool.end());
    let checks = 0;
    pool.on("connect", (client) => {
      const send = client.query.bind(client) as (...given: unknown[]) => unknown;
      Object.assign(client, {
        query: (...given: unknown[]) => {
          if (JSON.stringify(given[0]).includes("pg_backend_pid")) checks++;
          return send(...given);
        },
      });
    });
    const store = new PostgresStore({ pool, schema: newSchema() });
    onTestFinished(() => store.close());
    await store.open();
    const atOpen = checks;
    expect(atOpen).toBeGreaterThan(0);
    await store.open();
    await store.claimDue(10);
    await store.read({ agent: "a", schedule: "x" });
    expect(checks).toBe(atOpen);
  });

  it("are given back when the check fails", async () => {
    const pool = new Pool({ connectionString: (await poolerWith(2)).url, max: 4 });
    onTestFinished(() => pool.end());
    await expect(requireOwnSessions(pool)).rejects.toMatchObject(REFUSAL);
    expect(pool.totalCount).toBe(0);
  });
});

/** Several stores on one given pool, of which each takes a connection to listen. */
import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { PostgresPool } from "../../../../src/state/postgres/index.js";
import { key, scene } from "../scene.js";
import { sharedPool } from "../schema.js";

/** It is ended when the stores of the test are closed. */
function poolOf(max: number): Pool {
  const pool = new Pool({ connectionString: inject("databaseUrl"), max });
  onTestFinished(() => pool.end());
  return pool;
}

describe("stores that share a pool", () => {
  it("work while a connection is left for statements, and are refused otherwise", async () => {
    const pool = poolOf(3);
    const { node, outsider, schema } = scene();
    const stores = [await node({ pool }), await node({ pool })];
    await expect(outsider({ pool }).open()).rejects.toMatchObject({
      code: "INVALID_STATE",
      message:
        "The pool has room for 3 connections, and 2 of them listen for open stores: one more would leave none for " +
        "statements. Give it a larger max, or this store a pool of its own.",
    });
    for (const store of stores) await store.update(key("a/x"), { failure_count: 1 });
    // Nothing of it is left, either.
    const { rowCount } = await sharedPool().query(`select from "${schema}".nodes`);
    expect(rowCount).toBe(2);
  });

  it("can be read by one connection, and not be opened on it", async () => {
    const store = scene().outsider({ pool: poolOf(1) });
    expect(await store.read(key("a/x"))).toMatchObject({ status: "idle" });
    await expect(store.open()).rejects.toThrow("The pool has room for 1 connection, and 0 of them listen");
  });

  it("give their connections back when they are closed, each once", async () => {
    const pool = poolOf(3);
    const { node, outsider } = scene();
    const [one, , other] = [await node({ pool }), await node({ pool }), outsider({ pool })];
    await one.close();
    await one.close();
    await other.open();
    await expect(one.open()).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("are not counted when they are only read from", async () => {
    const pool = poolOf(2);
    const { node, outsider } = scene();
    await outsider({ pool }).read(key("a/x"));
    const one = await node({ pool });
    await one.update(key("a/x"), { failure_count: 1 });
    expect(await outsider({ pool }).read(key("a/x"))).toMatchObject({ failure_count: 1 });
  });

  it("are not counted when they could not be opened", async () => {
    const { outsider } = scene();
    let isAway = true;
    const pool: PostgresPool = {
      options: { max: 2 },
      on: () => {},
      connect: () => sharedPool().connect(),
      query: (query) =>
        isAway ? Promise.reject(new Error("connect ECONNREFUSED")) : sharedPool().query(query),
      end: async () => {},
    };
    const store = outsider({ pool });
    await expect(store.open()).rejects.toMatchObject({ code: "STATE_DATABASE" });
    isAway = false;
    await store.open();
    await store.update(key("a/x"), { failure_count: 1 });
  });
});

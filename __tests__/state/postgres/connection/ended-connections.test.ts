import { setTimeout } from "node:timers/promises";
import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { migrate } from "../../../../src/state/postgres/index.js";
import { LosingProxy } from "./losing-proxy.js";
import { key, names, scene } from "../scene.js";
import { sharedPool, unmadeSchema } from "../schema.js";

/** A pool whose connections are used once, so that each is a new one; and what they go through. */
async function freshConnections(): Promise<{ pool: Pool; proxy: LosingProxy }> {
  const proxy = await LosingProxy.to(inject("databaseUrl"));
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const pool = new Pool({ connectionString: proxy.url, maxUses: 1 });
  onTestFinished(() => pool.end());
  return { pool, proxy };
}

describe("a connection that is ended in the moment in which it is made", () => {
  it("is made again by the listener, and costs no other statement anything", async () => {
    const { node, outsider, schema } = scene();
    await outsider().update(key("a/x"), { failure_count: 1 });
    const { pool, proxy } = await freshConnections();
    const one = await node({ pool });
    const heard: string[] = [];
    one.onChange((changes) => void heard.push(...names(changes)));
    proxy.endNewOnes(3);
    await sharedPool().query("select pg_terminate_backend(pid) from pg_stat_activity where query = $1", [
      `listen "${schema}"`,
    ]);
    await outsider().update(key("a/x"), { failure_count: 2 });
    while (heard.length === 0) await setTimeout(10);
    expect(heard).toEqual(["a/x"]);
  });

  it("makes a migration fail, which can be asked for again", async () => {
    const { pool, proxy } = await freshConnections();
    const schema = unmadeSchema();
    proxy.endNewOnes(1);
    await expect(migrate(pool, schema)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    await expect(migrate(pool, schema)).resolves.toMatchObject({ from: 0 });
  });
});

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, key, only, planAll } from "../scene.js";
import { sharedPool } from "../schema.js";

const SCHEMAS = [45, 46, 50, 55, 63].map((length) => "long_".padEnd(length, "y"));

describe("a schema with a name of", () => {
  it.each(SCHEMAS.map((schema) => [schema.length, schema] as const))(
    "%i characters works",
    async (_, schema) => {
      onTestFinished(async () => {
        await sharedPool().query(`drop schema if exists "${schema}" cascade`);
      });
      const told = vi.spyOn(console, "error").mockImplementation(() => {});
      onTestFinished(() => told.mockRestore());
      const store = new PostgresStore({ pool: sharedPool(), schema });
      onTestFinished(() => store.close());
      await store.open();
      await planAll([store], ["a/x", "a/y"]);
      const claim = only((await store.claimDue(10)).claims);
      expect(await store.renew(claim)).toBe(true);
      expect(await completeClaim(store, claim, { next_run_at: null })).toBe(true);
      expect(await store.claim(key("a/y"))).toMatchObject({ agent: "a", schedule: "y" });
      const { id } = await store.jobs.start({
        agent: "a",
        schedule: "x",
        trigger: "interval",
      });
      await store.jobs.finish(id, { status: "completed" });
      expect(await store.jobs.get(id)).toMatchObject({ status: "completed" });
      // The driver would say that it had to cut a name.
      expect(told).not.toHaveBeenCalled();
    },
  );
});

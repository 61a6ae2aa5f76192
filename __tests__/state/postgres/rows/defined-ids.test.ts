/** The numbers of schedules and agents: a node's bits are as many as the largest, so that none may be wasted. */
import { describe, expect, it } from "vitest";
import { completeClaim, key, names, only, planAll, scene } from "../scene.js";
import { sharedPool } from "../schema.js";

const keysOf = (count: number, from = 0): ReturnType<typeof key>[] =>
  Array.from({ length: count }, (_, index) => key(`agent${from + index}/x`));

async function idsOf(schema: string, table: "agents" | "schedules"): Promise<number[]> {
  const { rows } = await sharedPool().query<{ id: string }>(
    `select id from "${schema}".${table} order by id`,
  );
  return rows.map(({ id }) => Number(id));
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe.each(["agents", "schedules"] as const)("the ids of %s", (table) => {
  it("are not used up by repeated definitions", async () => {
    const { node, schema } = scene();
    const store = await node();
    for (let count = 1; count <= 20; count++) await store.define({ schedules: keysOf(count) });
    expect(await idsOf(schema, table)).toEqual(upTo(20));
  });

  it("are not used up by definitions that name a schedule twice", async () => {
    const { node, schema } = scene();
    const store = await node();
    await store.define({ schedules: [...keysOf(3), ...keysOf(4)] });
    await store.define({ schedules: keysOf(5) });
    expect(await idsOf(schema, table)).toEqual(upTo(5));
  });

  it("are not used up by several nodes that define the same schedules at the same time", async () => {
    const { node, schema } = scene();
    const stores = await Promise.all([node(), node(), node()]);
    for (let from = 0; from < 30; from += 3)
      await Promise.all(stores.map((store, index) => store.define({ schedules: keysOf(4, from + index) })));
    expect(await idsOf(schema, table)).toEqual(upTo(33));
  });
});

describe("an agent whose id is larger than any integer", () => {
  it("has its jobs claimed within its capacity, at their times and on request", async () => {
    const { node, schema } = scene();
    const store = await node();
    await sharedPool().query(`alter table "${schema}".agents alter column id restart with 3000000000`);
    await planAll([store], ["a/x", "a/y"]);
    expect(await idsOf(schema, "agents")).toEqual([3_000_000_000]);
    const claim = only((await store.claimDue(10)).claims);
    expect(await store.claim(key("a/y"))).toBe("at_capacity");
    await completeClaim(store, claim, { next_run_at: null });
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
  });
});

describe("schedules that are defined at once", () => {
  it("have ids in the order in which they are named first", async () => {
    const { node, schema } = scene();
    const store = await node();
    await store.define({ schedules: ["b/x", "a/y", "b/x", "a/x"].map(key) });
    const { rows } = await sharedPool().query<{ agent: string; schedule: string }>(
      `select agent, schedule from "${schema}".schedules order by id`,
    );
    expect(names(rows)).toEqual(["b/x", "a/y", "a/x"]);
  });

  it("are counted once by their agent", async () => {
    const { node, schema } = scene();
    const store = await node();
    await store.define({ schedules: ["a/x", "a/x", "a/y"].map(key) });
    await store.define({ schedules: ["a/x", "a/y", "a/z", "a/z"].map(key) });
    const { rows } = await sharedPool().query(`select name, size from "${schema}".agents`);
    expect(rows).toEqual([{ name: "a", size: 3 }]);
  });
});

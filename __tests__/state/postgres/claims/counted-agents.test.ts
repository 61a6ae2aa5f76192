/** Agents that nodes want counted although their schedules alone cannot exceed their capacity. */
import { describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../../../src/state/store.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, key, LEASE_MS, names, only, planAll, scene } from "../scene.js";
import { sharedPool } from "../schema.js";
import { tableBreaches } from "../table-breaches.js";

interface Counting {
  readonly is_counted: boolean;
  /** How many of the agent's jobs are in `running`. */
  readonly running: number;
  /** How many of its places in the queue name the agent. */
  readonly queued: number;
}

async function countingOf(schema: string, agent = "a"): Promise<Counting> {
  const { rows } = await sharedPool().query<Counting>(
    `select a.is_counted, (select count(*) from "${schema}".running r where r.agent_id = a.id)::int as running,
        (select count(*) from "${schema}".queue q where q.agent_id = a.id)::int as queued
      from "${schema}".agents a where a.name = $1`,
    [agent],
  );
  expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
  const [row] = rows;
  if (row === undefined) throw new Error(`Expected an agent ${agent}.`);
  return row;
}

const define = (store: PostgresStore, agent: Partial<AgentDefinition>): Promise<unknown> =>
  store.define({ agents: [{ agent: "a", maxConcurrent: 2, ...agent }], schedules: ["a/x", "a/y"].map(key) });

const COUNTED = { isCounted: true };
const OFF = { is_counted: false, running: 0, queued: 0 };

describe("an agent whose schedules cannot exceed its capacity", () => {
  it("is not counted", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"], 2);
    await store.claimDue(1);
    expect(await countingOf(schema)).toEqual(OFF);
  });

  it("is counted with its claims and places from the moment that a node wants it", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"], 2);
    const claim = only((await store.claimDue(1)).claims);
    await define(store, COUNTED);
    expect(await countingOf(schema)).toEqual({ is_counted: true, running: 1, queued: 1 });
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
    expect(await countingOf(schema)).toEqual({ is_counted: true, running: 2, queued: 0 });
    await completeClaim(store, claim, {});
    expect(await countingOf(schema)).toEqual({ is_counted: true, running: 1, queued: 0 });
  });

  it("keeps its capacity while it is counted", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"], 2);
    await define(store, COUNTED);
    await sharedPool().query(
      `insert into "${schema}".running select id, 1000000 from "${schema}".agents where name = 'a'`,
    );
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    expect(await store.claim(key("a/y"))).toBe("at_capacity");
    await sharedPool().query(`delete from "${schema}".running where id = 1000000`);
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
  });

  it("is counted as long as one of several nodes wants it", async () => {
    const { node, schema } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y"], 2);
    await one.claimDue(1);
    await define(one, COUNTED);
    await define(two, COUNTED);
    await define(one, {});
    expect(await countingOf(schema)).toEqual({ is_counted: true, running: 1, queued: 1 });
    await define(two, {});
    expect(await countingOf(schema)).toEqual(OFF);
  });

  it.each([
    ["signs off", (store: PostgresStore): Promise<void> => store.close()],
    ["is removed", async (): Promise<void> => {}],
  ])("is not counted when the node that wants it %s", async (_, end) => {
    const { node, schema, clock } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y"], 2);
    await define(one, COUNTED);
    await end(one);
    await clock.advance(21 * LEASE_MS);
    await two.claimDue(1);
    expect(await countingOf(schema)).toEqual(OFF);
  });

  it("is counted again when the node that wants it was removed and returns", async () => {
    const { node, schema, clock } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y"], 2);
    await define(one, COUNTED);
    await clock.advance(21 * LEASE_MS);
    await two.claimDue(0);
    await one.claimDue(1);
    expect(await countingOf(schema)).toEqual({ is_counted: true, running: 1, queued: 1 });
  });

  it("is counted again when its node is opened again", async () => {
    const { node, schema } = scene();
    const store = await node();
    await define(store, COUNTED);
    await store.close();
    expect(await countingOf(schema)).toEqual(OFF);
    await store.open();
    expect(await countingOf(schema)).toMatchObject({ is_counted: true });
  });

  it("never exceeds its capacity while nodes switch its counting on and off", async () => {
    const { node, schema } = scene();
    const nodes = [await node(), await node(), await node()];
    const all = Array.from({ length: 4 }, (_, index) => `a/s${index}`);
    await planAll(nodes, all, 4);
    for (let round = 0; round < 10; round++) {
      const taken = await Promise.all([
        ...nodes.map((store) => store.claimDue(2)),
        nodes[round % 3]?.define({
          agents: [{ agent: "a", maxConcurrent: round % 2 === 0 ? 2 : 4, isCounted: round % 3 > 0 }],
          schedules: all.map(key),
        }),
      ]);
      await countingOf(schema);
      for (const due of taken)
        if (due !== undefined && "claims" in due)
          for (const claim of due.claims)
            await completeClaim(nodes[0] as PostgresStore, claim, { next_run_at: claim.slot.toISOString() });
    }
    expect((await countingOf(schema)).running).toBe(0);
  });
});

describe("an agent without schedules", () => {
  it("is known with its capacity, and counted if a node wants it", async () => {
    const { node, schema } = scene();
    const store = await node();
    await store.define({ agents: [{ agent: "a", maxConcurrent: 3, isCounted: true }], schedules: [] });
    expect(await countingOf(schema)).toMatchObject({ is_counted: true });
    const { rows } = await sharedPool().query(`select name, capacity, size from "${schema}".agents`);
    expect(rows).toEqual([{ name: "a", capacity: 3, size: 0 }]);
  });
});

describe("the agents whose steps a node may claim", () => {
  it("are the agents of its latest definitions, with schedules or without", async () => {
    const { node, schema } = scene();
    const [one, two] = [await node({ nodeName: "one" }), await node({ nodeName: "two" })];
    const agentsOf = async (): Promise<unknown[]> => {
      const { rows } = await sharedPool().query<{ name: string; agents: string[] }>(
        `select n.name, array(select a.name from "${schema}".agents a
            where a.id = any(n.agents) order by a.name) as agents
          from "${schema}".nodes n order by n.name`,
      );
      return rows.map(({ name, agents }) => [name].concat(agents));
    };
    await one.define({ agents: [{ agent: "c" }], schedules: ["b/x", "b/y", "a/x"].map(key) });
    await two.define({ schedules: [key("a/x")] });
    expect(await agentsOf()).toEqual([
      ["one", "a", "b", "c"],
      ["two", "a"],
    ]);
    await one.define({ agents: [{ agent: "c" }], schedules: [] });
    expect(await agentsOf()).toEqual([
      ["one", "c"],
      ["two", "a"],
    ]);
  });
});

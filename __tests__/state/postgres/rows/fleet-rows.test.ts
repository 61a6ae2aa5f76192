/** What is read of a whole fleet from outside, and how often the database is asked for it. */
import { describe, expect, it } from "vitest";
import { isoText } from "../../../../src/iso-time.js";
import { Database, type Statements } from "../../../../src/state/postgres/connection/database.js";
import { readStates } from "../../../../src/state/postgres/rows/fleet-rows.js";
import { listNodes } from "../../../../src/state/postgres/node/list-nodes.js";
import { sharedPool } from "../schema.js";
import { key, planAll, scene, START } from "../scene.js";

const silent = { info: () => {}, warn: () => {}, error: () => {} };

interface Counting extends Statements {
  asked: number;
}

function counting(schema: string): Counting {
  const database = new Database({ pool: sharedPool(), schema, logger: silent });
  const statements: Counting = {
    schema: database.schema,
    asked: 0,
    query: (query) => {
      statements.asked++;
      return database.query(query);
    },
  };
  return statements;
}

describe("the states of a fleet", () => {
  it("are read in one statement, however many agents there are", async () => {
    const { schema, node } = scene();
    await planAll(
      [await node()],
      Array.from({ length: 50 }, (_, index) => `agent-${index}/x`),
    );
    const statements = counting(schema);
    const states = await readStates(statements);
    expect([states.size, statements.asked]).toEqual([50, 1]);
    expect(states.get("agent-7")?.get("x")).toMatchObject({ status: "idle", next_run_at: START });
  });

  it("are those of the agents in the filter", async () => {
    const { schema, node } = scene();
    await planAll([await node()], ["a/x", "b/x", "c/x"]);
    expect([...(await readStates(counting(schema), ["c", "a"])).keys()]).toEqual(["a", "c"]);
  });

  it("leave out schedules that were only defined", async () => {
    const { schema, node } = scene();
    const store = await node();
    await store.define({ schedules: [key("a/x")] });
    expect(await readStates(counting(schema))).toEqual(new Map());
  });

  it("have any name that an agent can have", async () => {
    const { schema, outsider } = scene();
    await outsider().update({ agent: "a\0b\\", schedule: "/" }, { last_error: "no" });
    expect((await readStates(counting(schema))).get("a\0b\\")?.get("/")).toMatchObject({ last_error: "no" });
  });
});

describe("the nodes of a fleet", () => {
  it("are listed with what they hold, in the order of their start", async () => {
    const { clock, schema, node } = scene();
    const one = await node({ nodeName: "one" });
    await node({ nodeName: "two" });
    await planAll([one], ["a/x", "b/x", "c/x"]);
    await one.claimDue(2);
    const leaseNow = isoText(new Date(clock.monotonic()));
    expect(await listNodes(counting(schema), { leaseNow })).toMatchObject([
      { name: "one", pid: process.pid, claimCount: 2, isLate: false },
      { name: "two", pid: process.pid, claimCount: 0, isLate: false },
    ]);
  });

  it("are gone when they have signed off", async () => {
    const { schema, node } = scene();
    const one = await node();
    await one.close();
    expect(await listNodes(counting(schema))).toEqual([]);
  });

  it("are late when they have shown no sign of life for as long as their leases last", async () => {
    const { clock, schema, node } = scene();
    await node({ nodeName: "gone" });
    await node({ nodeName: "slow", leaseMs: 60_000 });
    await clock.advance("31s");
    await node({ nodeName: "here" });
    const leaseNow = isoText(new Date(clock.monotonic()));
    expect(await listNodes(counting(schema), { leaseNow })).toMatchObject([
      { name: "gone", isLate: true },
      { name: "slow", isLate: false },
      { name: "here", isLate: false },
    ]);
  });

  it("are the nodes that may run the schedule in the filter", async () => {
    const { schema, node } = scene();
    const [one, two] = [await node({ nodeName: "one" }), await node({ nodeName: "two" })];
    await one.define({ schedules: [key("a/x"), key("b/x")] });
    await two.define({ schedules: [key("b/x")] });
    const namesFor = async (name: string): Promise<string[]> =>
      (await listNodes(counting(schema), { key: key(name) })).map((found) => found.name);
    expect([await namesFor("a/x"), await namesFor("b/x"), await namesFor("c/x")]).toEqual([
      ["one"],
      ["one", "two"],
      [],
    ]);
  });
});

import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { OutsideChange, StateStore } from "../../../../src/index.js";
import { until } from "../../child.js";
import { completeClaim, key, LEASE_MS, names, only, planAll, releaseClaim, scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";

describe("two nodes of a PostgreSQL store", () => {
  it("claim each slot once, in whatever order they poll", async () => {
    const { node } = scene();
    const stores = [await node(), await node(), await node()];
    const schedules = Array.from({ length: 300 }, (_, i) => `a${i}/x`);
    await planAll(stores, schedules);
    const claimed = await Promise.all(
      stores.map(async (store) => {
        const mine: string[] = [];
        for (;;) {
          const { claims } = await store.claimDue(7);
          if (claims.length === 0) return mine;
          mine.push(...names(claims));
        }
      }),
    );
    expect(claimed.flat().toSorted()).toEqual(schedules.toSorted());
  });

  it("never exceed an agent's capacity together", async () => {
    const { node } = scene();
    const stores = [await node(), await node(), await node()];
    await planAll(
      stores,
      Array.from({ length: 40 }, (_, i) => `a/x${i}`),
      5,
    );
    const first = await Promise.all(stores.map((store) => store.claimDue(4)));
    // Whom another was looking at was passed over.
    const answers = [...first, ...(await Promise.all(stores.map((store) => store.claimDue(4))))];
    expect(answers.flatMap(({ claims }) => claims)).toHaveLength(5);
  });

  it("never exceed it by claims on request either", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y", "a/z"], 2);
    const answers = await Promise.all([one.claim(key("a/x")), two.claim(key("a/y")), one.claim(key("a/z"))]);
    expect(answers.filter((answer) => answer === "at_capacity")).toHaveLength(1);
  });

  it.each([
    ["claims what is due", async (store: StateStore) => (await store.claimDue(10)).claims],
    ["claims by hand", (store: StateStore) => store.claim(key("a/y"))],
  ])("wait for each other's claims to be counted, when one %s", async (_, claimed) => {
    const { node, schema } = scene();
    const one = await node();
    await planAll([one], ["a/x", "a/y"]);
    const other = await sharedPool().connect();
    try {
      await other.query("begin");
      await other.query(`select from "${schema}".claim_one(0, 'a', 'x', null, null, '1 hour')`);
      const claiming = claimed(one);
      const isWaiting = async (): Promise<boolean> =>
        (await sharedPool().query("select from pg_locks where not granted")).rowCount !== 0;
      const isOver = claiming.then(() => true);
      while (!(await Promise.race([isOver, isWaiting()]))) await setTimeout(5);
      await other.query("commit");
      expect([[], "at_capacity"]).toContainEqual(await claiming);
    } finally {
      other.release(true);
    }
  });

  it("report a waiting slot once, whichever node polls", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y"]);
    const skipped = [await one.claimDue(10), await two.claimDue(10)].flatMap((answer) => answer.skipped);
    expect(names(skipped)).toEqual(["a/y"]);
  });

  it("do not run what the other alone has defined", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one], ["a/x"]);
    expect(await two.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("leave each other's claims alone when they open, and when they close", async () => {
    const { node } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    const two = await node();
    await two.close();
    expect(await one.renew(claim)).toBe(true);
    expect(await completeClaim(one, claim, {})).toBe(true);
  });

  it("take over when a lease has ended, as an interruption with its job closed", async () => {
    const { node, clock } = scene();
    const [dead, alive] = [await node(), await node()];
    await planAll([dead, alive], ["a/x"]);
    const lost = only((await dead.claimDue(10)).claims);
    await dead.jobs.start({ id: lost.jobId, agent: "a", schedule: "x", trigger: "interval" });
    await clock.advance(LEASE_MS - 1);
    expect((await alive.claimDue(10)).claims).toEqual([]);
    await clock.advance(1);
    const taken = only((await alive.claimDue(10)).claims);
    expect(taken).toMatchObject({
      source: "retry",
      slot: lost.slot,
      attempt: 2,
      state: { interrupted_count: 1 },
    });
    expect(await alive.jobs.get(lost.jobId)).toMatchObject({ status: "interrupted" });
  });

  it("write nothing under a claim that the other has taken over", async () => {
    const { node, clock } = scene();
    const [stopped, alive] = [await node(), await node()];
    await planAll([stopped, alive], ["a/x"]);
    const late = only((await stopped.claimDue(10)).claims);
    await clock.advance(LEASE_MS);
    const { state } = only((await alive.claimDue(10)).claims);
    expect(await stopped.renew(late)).toBe(false);
    expect(await completeClaim(stopped, late, { last_error: "late" })).toBe(false);
    expect(await releaseClaim(stopped, late)).toBe(false);
    expect(await alive.read(key("a/x"))).toEqual(state);
  });

  it("free one of a claim that ends only if it was not renewed meanwhile", async () => {
    const { node, clock } = scene();
    const [slow, alive] = [await node(), await node()];
    await planAll([slow, alive], ["a/x"]);
    const claim = only((await slow.claimDue(10)).claims);
    await clock.advance(LEASE_MS);
    const [isRenewed] = await Promise.all([slow.renew(claim), alive.claimDue(10)]);
    expect(await completeClaim(slow, claim, {})).toBe(isRenewed);
  });

  it("decide a change again when a different node was faster", async () => {
    const { node } = scene();
    const stores = [await node(), await node(), await node()];
    const count = (store: StateStore): Promise<unknown> =>
      store.update(key("a/x"), ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 }));
    for (let round = 0; round < 10; round++) await Promise.all(stores.map(count));
    expect(await stores[0]?.read(key("a/x"))).toMatchObject({ failure_count: 30 });
  });

  it("end a claim by the current state of its schedule, whichever node changed it", async () => {
    const { node, outsider } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    await outsider().update(key("a/x"), { status: "disabled", failure_count: 4 });
    await completeClaim(one, claim, ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 }));
    expect(await one.read(key("a/x"))).toMatchObject({ status: "disabled", failure_count: 5 });
  });
});

describe("a change from outside a PostgreSQL store", () => {
  const listening = (store: StateStore): OutsideChange[][] => {
    const heard: OutsideChange[][] = [];
    store.onChange((changes) => void heard.push([...changes]));
    return heard;
  };

  it("is reported to every node with its keys, when it comes from outside the nodes", async () => {
    const { node, outsider } = scene();
    const [one, two] = [await node(), await node()];
    const [first, second] = [listening(one), listening(two)];
    await outsider().update(key("a/x"), { paused_until: START, failure_count: 1 });
    await until(() => first.length > 0 && second.length > 0);
    expect(first).toEqual(second);
    expect(first).toEqual([[{ ...key("a/x"), keys: ["failure_count", "paused_until"] }]]);
  });

  it("wakes the remaining nodes without keys when it comes from a node", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    const [own, others] = [listening(one), listening(two)];
    await one.update(key("a/x"), { failure_count: 1 });
    await until(() => others.length > 0);
    expect([own, others]).toEqual([[], [[]]]);
  });

  it("is reported for an interrupted claim, so that a node plans its schedule anew", async () => {
    const { node, clock } = scene();
    const [dead, alive] = [await node(), await node()];
    await planAll([dead, alive], ["a/x"]);
    await dead.update(key("a/x"), { interrupted_count: 1 });
    await dead.claimDue(10);
    const heard = listening(alive);
    await clock.advance(LEASE_MS);
    await alive.claimDue(10);
    await until(() => heard.some((changes) => changes.length > 0));
    expect(heard.flat()).toEqual([{ ...key("a/x"), keys: ["interrupted_count"] }]);
    expect(await alive.read(key("a/x"))).toMatchObject({ next_run_source: "retry", retry: { attempt: 2 } });
  });

  it("is found by the next claim when its notification was lost", async () => {
    const { node, outsider, schema } = scene();
    const one = await node();
    const heard = listening(one);
    await outsider().update(key("b/y"), { failure_count: 1 });
    await until(() => heard.length > 0);
    await sharedPool().query(
      `insert into "${schema}".changes (agent, schedule, keys) values ('a', 'x', '{hint}')`,
    );
    await one.claimDue(1);
    await until(() => heard.length > 1);
    expect(heard[1]).toEqual([{ ...key("a/x"), keys: ["hint"] }]);
  });

  it("is not reported to a store that opens later", async () => {
    const { node, outsider } = scene();
    await outsider().update(key("a/x"), { failure_count: 1 });
    const late = await node();
    const heard = listening(late);
    await outsider().update(key("a/y"), { failure_count: 1 });
    await until(() => heard.length > 0);
    expect(names(heard.flat())).toEqual(["a/y"]);
  });

  it("keeps the keys that it does not know", async () => {
    const { node, schema } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    await sharedPool().query(`update "${schema}".states set state = '{"from_tomorrow": [1]}'`);
    const claim = only((await one.claimDue(10)).claims);
    await completeClaim(one, claim, { failure_count: 1 });
    const { rows } = await sharedPool().query(`select state::json from "${schema}".states`);
    expect(rows).toEqual([{ state: { from_tomorrow: [1], f: 1 } }]);
  });
});

describe("the names and texts of a PostgreSQL store", () => {
  it("may have zero bytes, backslashes and half characters in them", async () => {
    const { node } = scene();
    const one = await node();
    const odd = { agent: "a\0\\0\\", schedule: "\\\0" };
    const text = "half \ud800 zero \0 end";
    await one.define({ schedules: [odd] });
    await one.update(odd, { next_run_at: START, last_error: text });
    const claim = only((await one.claimDue(10)).claims);
    expect(claim).toMatchObject({ ...odd, state: { last_error: text } });
    expect(await completeClaim(one, claim, {})).toBe(true);
    expect([...(await one.list(odd.agent)).keys()]).toEqual([odd.schedule]);
  });

  it("are distinct when one name looks like the escaped form of the other", async () => {
    const { node } = scene();
    const one = await node();
    await one.update({ agent: "a", schedule: "\0" }, { failure_count: 1 });
    await one.update({ agent: "a", schedule: "\\0" }, { failure_count: 2 });
    const counts = [...(await one.list("a"))].map(([name, { failure_count }]) => [name, failure_count]);
    expect(counts).toEqual([
      ["\0", 1],
      ["\\0", 2],
    ]);
  });
});

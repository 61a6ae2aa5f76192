/** What agents may have is told to all nodes, and counted only where it can be exceeded. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Definitions } from "../../../../src/state/store.js";
import { completeClaim, key, names, planAll, scene, START, withCapacity } from "../scene.js";
import { sharedPool } from "../schema.js";

const ofCapacity = (maxConcurrent: number): Definitions =>
  withCapacity(["a/x", "a/y", "a/z"].map(key), maxConcurrent);

const due = { next_run_at: START, next_run_source: "baseline-interval" } as const;

describe("the capacity of an agent", () => {
  it("is never exceeded when it is lowered below the number of schedules", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x", "a/y", "a/z"], 3);
    await two.define(ofCapacity(1));
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is counted with what was claimed before it could be exceeded", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one], ["a/x"]);
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
    await two.define({ schedules: [key("a/x"), key("a/y")] });
    await two.update(key("a/y"), due);
    expect((await two.claimDue(10)).claims).toEqual([]);
  });

  it("lets waiting slots run when it is raised", async () => {
    const { node } = scene();
    const one = await node();
    await planAll([one], ["a/x", "a/y", "a/z"], 1);
    await one.claimDue(10);
    await one.define(ofCapacity(3));
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/y", "a/z"]);
  });

  it("is not changed by a store that is not open", async () => {
    const { node, outsider } = scene();
    const one = await node();
    await planAll([one], ["a/x", "a/y"], 2);
    await outsider().define({ schedules: [key("a/x"), key("a/y")] });
    expect((await one.claimDue(10)).claims).toHaveLength(2);
  });

  it("waits for claims that are on their way before it can be exceeded", async () => {
    const { node, schema } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one], ["a/x"]);
    const other = await sharedPool().connect();
    try {
      await other.query("begin");
      await other.query(`select "${schema}".claim_one(0, 'a', 'x', null, null, '1 hour')`);
      const defining = two.define({ schedules: [key("a/x"), key("a/y")] });
      const isDone = defining.then(() => "done");
      const isWaiting = async (): Promise<string | undefined> => {
        const { rowCount } = await sharedPool().query(
          "select from pg_locks where not granted and locktype = 'advisory'",
        );
        return rowCount === 0 ? undefined : "waits";
      };
      let seen: string | undefined;
      while (seen === undefined) {
        await setTimeout(5);
        seen = await Promise.race([isDone, isWaiting()]);
      }
      expect(seen).toBe("waits");
      await other.query("commit");
      await defining;
    } finally {
      other.release(true);
    }
    await two.update(key("a/y"), due);
    expect((await two.claimDue(10)).claims).toEqual([]);
  });
});

describe("a slot that a node saw due without room", () => {
  it("was seen in time also for a second node", async () => {
    const { node, clock } = scene();
    const [full, free] = [await node(), await node()];
    await planAll([full, free], ["a/x"]);
    await full.claimDue(0);
    await clock.advance("10s");
    await full.claimDue(0);
    await clock.advance("10s");
    expect((await free.claimDue(10)).claims[0]?.seenAt).toEqual(new Date(START));
  });

  it("is not told as waiting for its agent when it has been seen before", async () => {
    const { node, clock } = scene();
    const one = await node();
    await planAll([one], ["a/x", "a/y"]);
    await one.claimDue(0);
    await clock.advance("10s");
    expect((await one.claimDue(10)).skipped).toEqual([]);
  });
});

describe("the next due time", () => {
  it("lets a slot that is planned for the very time of the last poll be claimed by the next", async () => {
    const { node, clock } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    await one.update(key("a/x"), { next_run_at: null });
    const at = clock.now();
    await one.claimDue(10);
    await one.update(key("a/x"), { next_run_at: at.toISOString() });
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
  });
});

describe("the record of a job that was left open", () => {
  it.each([
    ["is closed when its node has shown no life for a lease", false, "interrupted"],
    ["stays open while its node renews a claim", true, "running"],
  ])("%s", async (_, renews, status) => {
    const { node, clock } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one], ["a/x", "b/x"]);
    const [gone, kept] = (await one.claimDue(10)).claims;
    await one.jobs.start({
      id: gone?.jobId,
      agent: "a",
      schedule: "x",
      trigger: "interval",
      started_at: START,
    });
    if (gone !== undefined) await completeClaim(one, gone, {});
    for (let seconds = 0; seconds < 60; seconds += 10) {
      await clock.advance("10s");
      if (renews && kept !== undefined) await one.renew(kept);
      await two.claimDue(10);
    }
    expect(await two.jobs.get(gone?.jobId ?? "")).toMatchObject({ status });
  });
});

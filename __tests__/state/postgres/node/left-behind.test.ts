import { describe, expect, it } from "vitest";
import type { PostgresPool, QueryAnswer } from "../../../../src/state/postgres/index.js";
import { completeClaim, LEASE_MS, only, planAll, scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";

type Query = Parameters<PostgresPool["query"]>[0];

/** A pool in which something happens between a statement that was carried out and its answer, once, when asked for. */
function interrupted(): PostgresPool & { before: (() => Promise<void>) | undefined } {
  const pool: PostgresPool & { before: (() => Promise<void>) | undefined } = {
    before: undefined,
    connect: () => sharedPool().connect(),
    on: () => {},
    end: async () => {},
    async query(query: Query): Promise<QueryAnswer> {
      const answer = await sharedPool().query(query);
      const { before } = pool;
      if (before === undefined || !/claim_due|write_states/.test(query.text)) return answer;
      pool.before = undefined;
      await before();
      return answer;
    },
  };
  return pool;
}

const lost = async (): Promise<never> => {
  throw new Error("Connection terminated unexpectedly");
};

describe("a claim whose reply comes after its lease", () => {
  it("is not given out, because a different node may hold it by now", async () => {
    const { node, clock } = scene();
    const pool = interrupted();
    const [one, two] = [await node({ pool }), await node()];
    await planAll([one, two], ["a/x"]);
    pool.before = async () => {
      await clock.advance(LEASE_MS);
      expect((await two.claimDue(10)).claims).toHaveLength(1);
    };
    expect((await one.claimDue(10)).claims).toEqual([]);
  });
});

describe("the end of a claim whose reply is lost", () => {
  it("is still known as accepted when a node has claimed the next slot meanwhile", async () => {
    const { node } = scene();
    const pool = interrupted();
    const [one, two] = [await node({ pool }), await node()];
    await planAll([one, two], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    pool.before = async () => {
      expect((await two.claimDue(10)).claims).toHaveLength(1);
      return lost();
    };
    expect(
      await completeClaim(one, claim, { next_run_at: START, next_run_source: "baseline-interval" }),
    ).toBe(true);
  });
});

describe("the record of a job that was cut off", () => {
  it("is closed later when the node that found it could not close it", async () => {
    const { node, clock } = scene();
    const [one, two, three] = [await node(), await node(), await node()];
    await planAll([one, two, three], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    await one.jobs.start({
      id: claim.jobId,
      agent: "a",
      schedule: "x",
      trigger: "interval",
      started_at: START,
    });
    await clock.advance(LEASE_MS);
    two.jobs.presumeInterrupted = lost;
    two.jobs.presumeLost = lost;
    await two.claimDue(10);
    await clock.advance(2 * LEASE_MS);
    for (let checks = 0; checks < 3; checks++) await three.claimDue(10);
    expect(await three.jobs.get(claim.jobId)).toMatchObject({ status: "interrupted" });
  });

  it("is left to its node while that node's longer lease lasts", async () => {
    const { node, clock } = scene();
    const one = await node({ leaseMs: 600_000 });
    await planAll([one], ["a/x"]);
    const { jobId: id } = only((await one.claimDue(10)).claims);
    await one.jobs.start({ id, agent: "a", schedule: "x", trigger: "interval", started_at: START });
    const two = await node({ leaseMs: 1_000 });
    await clock.advance("1m");
    await two.claimDue(10);
    expect(await two.jobs.get(id)).toMatchObject({ status: "running" });
    await clock.advance("10m");
    await two.claimDue(10);
    expect(await two.jobs.get(id)).toMatchObject({ status: "interrupted" });
  });
});

describe("a node with longer leases than the rest", () => {
  it("is not forgotten by them before twenty of its own have passed", async () => {
    const { node, clock, schema } = scene();
    await node({ nodeName: "slow", leaseMs: 600_000 });
    const two = await node({ nodeName: "fast", leaseMs: 1_000 });
    const listed = async (): Promise<unknown[]> => {
      await two.claimDue(10);
      return (await sharedPool().query(`select name from "${schema}".nodes order by id`)).rows;
    };
    await clock.advance("3h");
    expect(await listed()).toEqual([{ name: "slow" }, { name: "fast" }]);
    await clock.advance("30m");
    expect(await listed()).toEqual([{ name: "fast" }]);
  });
});

import { describe, expect, it } from "vitest";
import type { ScheduleState, ScheduleStatePatch } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, endAll, key, LEASE_MS, names, only, planAll, scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";
import { connectionLost, isClaim, isWrite, SteeredPool } from "../steered-pool.js";

const oneMore = ({ failure_count }: ScheduleState): ScheduleStatePatch => ({
  failure_count: (failure_count ?? 0) + 1,
});

/** Loses the next write at once; the database carries it out only when it is asked the next time for that. */
function loseWriteUntil(pool: SteeredPool, isNext: (text: string) => boolean): void {
  let late: (() => Promise<unknown>) | undefined;
  let isLost = false;
  pool.steer = async (query, carryOut) => {
    if (isWrite(query) && !isLost) {
      isLost = true;
      late = carryOut;
      throw connectionLost();
    }
    if (late !== undefined && isNext(query.text)) {
      const carryOutLate = late;
      late = undefined;
      await carryOutLate();
    }
    return carryOut();
  };
}

const MOMENTS: [when: string, isNext: (text: string) => boolean][] = [
  ["before its rows are read again", (text) => text.includes("unnest($1::text[], $2::text[]) as k")],
  ["before its receipt is looked for", (text) => text.includes("receipts")],
  ["before it is sent again", (text) => text.includes("write_states")],
];

describe("a write that is carried out after its reply was lost", () => {
  it.each(MOMENTS)("is made once when that is %s", async (_, isNext) => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await one.update(key("a/x"), { failure_count: 1 });
    loseWriteUntil(pool, isNext);
    await one.update(key("a/x"), oneMore);
    expect(await one.read(key("a/x"))).toMatchObject({ failure_count: 2 });
  });

  it.each(MOMENTS)("has ended its claim when that is %s", async (_, isNext) => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    loseWriteUntil(pool, isNext);
    expect(await completeClaim(one, claim, oneMore)).toBe(true);
    expect(await one.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
  });

  it("has ended its claim also when the first call was rejected", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    let carryOutLate: () => Promise<unknown> = () => Promise.resolve();
    pool.steer = async (query, carryOut) => {
      if (isWrite(query)) carryOutLate = carryOut;
      throw connectionLost();
    };
    await expect(completeClaim(one, claim, oneMore)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.steer = (_, carryOut) => carryOut();
    // In the meantime somebody looks, and finds nothing yet.
    await one.update(key("b/x"), { failure_count: 1 });
    await carryOutLate();
    expect(await completeClaim(one, claim, oneMore)).toBe(true);
    expect(await one.read(key("a/x"))).toMatchObject({ failure_count: 1 });
  });

  it("has not ended the claims of an attempt before it that was not carried out", async () => {
    const { node, schema } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x", "b/x"]);
    const { claims } = await one.claimDue(10);
    const [taken] = claims;
    if (taken === undefined) throw new Error("Expected a claim.");
    await sharedPool().query(
      `update "${schema}".states s set token = 999999, version = version + 1
        from "${schema}".schedules n where n.id = s.id and n.agent = $1`,
      [taken.agent],
    );
    let writes = 0;
    pool.steer = async (query, carryOut) => {
      if (writes === 2) throw connectionLost();
      const answer = await carryOut();
      if (isWrite(query) && ++writes === 2) throw connectionLost();
      return answer;
    };
    const ends = claims.map((claim) => ({ claim, change: {} }));
    await expect(endAll(one, ends)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.steer = (_, carryOut) => carryOut();
    expect(await endAll(one, ends)).toEqual([false, true]);
  });
});

describe("a write that conflicts with a concurrent write", () => {
  it("succeeds, and keeps its connection", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const [one, two] = [await node({ pool }), await node()];
    await planAll([one, two], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    await two.update(key("a/x"), { failure_count: 3 });
    expect(await completeClaim(one, claim, oneMore)).toBe(true);
    expect(await two.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 4 });
    expect(pool.refusals).toEqual([]);
  });
});

/** Lets statements of a kind hang until they are let go on. */
function hold(pool: SteeredPool, isHeld: typeof isClaim): { letGo: () => void } {
  let letGo = (): void => {};
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  pool.steer = async (query, carryOut) => {
    if (isHeld(query)) await isFree;
    return carryOut();
  };
  return { letGo };
}

describe("a statement that hangs", () => {
  it.each<[string, typeof isClaim, (store: PostgresStore) => Promise<unknown>]>([
    ["a claim", isClaim, (store) => store.claimDue(10)],
    ["a write", isWrite, (store) => store.update(key("a/x"), { failure_count: 1 })],
  ])("keeps no claim from being renewed when it is %s", async (_, isHeld, ask) => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    const { letGo } = hold(pool, isHeld);
    const asking = ask(one);
    expect(await one.renew(claim)).toBe(true);
    letGo();
    await asking;
  });

  it("lets other calls claim when it ends a claim", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x", "b/x"]);
    const claim = only((await one.claimDue(1)).claims);
    const { letGo } = hold(pool, isWrite);
    const ending = completeClaim(one, claim, {});
    expect(names((await one.claimDue(10)).claims)).toEqual(["b/x"]);
    letGo();
    expect(await ending).toBe(true);
  });

  it("makes a later claim wait for an earlier change", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const { letGo } = hold(pool, isWrite);
    const changing = one.update(key("a/x"), { status: "disabled" });
    const claiming = one.claimDue(10);
    letGo();
    await changing;
    expect((await claiming).claims).toEqual([]);
  });
});

describe("a claim whose reply is late", () => {
  it("is given back when its job would have to be told to end at once", async () => {
    const { node, clock } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    pool.steer = async (query, carryOut) => {
      const answer = await carryOut();
      if (isClaim(query)) await clock.advance((LEASE_MS * 3) / 4);
      return answer;
    };
    expect((await one.claimDue(10)).claims).toEqual([]);
    pool.steer = (_, carryOut) => carryOut();
    const claim = only((await one.claimDue(10)).claims);
    expect(claim.slot.toISOString()).toBe(START);
  });
});

describe("a plan that a node writes while it claims", () => {
  it("is due next for the next call, although the first may not have seen it", async () => {
    const { node, clock } = scene();
    const pool = new SteeredPool();
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    const dueAt = new Date(clock.now().getTime() + 5_000);
    pool.steer = async (query, carryOut) => {
      const answer = await carryOut();
      if (isClaim(query)) {
        pool.steer = (_, carry) => carry();
        await completeClaim(one, claim, {
          next_run_at: dueAt.toISOString(),
          next_run_source: "baseline-interval",
        });
      }
      return answer;
    };
    await one.claimDue(10);
    expect((await one.claimDue(10)).nextDueAt).toEqual(dueAt);
  });
});

describe("a slot that was left because the limit was reached", () => {
  it("is skipped while a different transaction has locked it", async () => {
    const { node, clock, schema } = scene();
    const one = await node();
    await planAll([one], ["a/x", "b/x", "c/x"]);
    await one.claimDue(1);
    await clock.advance(500);
    const other = await sharedPool().connect();
    try {
      await other.query(`begin; select from "${schema}".queue for update`);
      expect((await one.claimDue(1)).claims).toEqual([]);
    } finally {
      other.release(true);
    }
  });
});

/** A schedule stands in the queue or is claimed: whatever happens at once, never both and never neither. */
import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import {
  completeClaim,
  endAll,
  key,
  names,
  only,
  planAll,
  releaseClaim,
  scene,
  START,
  withCapacity,
} from "../scene.js";
import { sharedPool } from "../schema.js";
import { SteeredPool } from "../steered-pool.js";
import { tableBreaches } from "../table-breaches.js";

describe("a schedule in the queue of a PostgreSQL store", () => {
  it("is claimed once, also if it is in the queue twice", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x"]);
    await sharedPool().query(`insert into "${schema}".queue select * from "${schema}".queue`);
    const claim = only((await store.claimDue(10)).claims);
    expect(await completeClaim(store, claim, {})).toBe(true);
  });

  it("is claimed once if it is in the queue twice and two polls find it", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x"]);
    await sharedPool().query(`insert into "${schema}".queue select * from "${schema}".queue`);
    const claim = only((await store.claimDue(1)).claims);
    expect((await store.claimDue(1)).claims).toEqual([]);
    expect(await completeClaim(store, claim, {})).toBe(true);
  });

  it("leaves its agent's line when it is paused, and comes back at its end", async () => {
    const { node, clock } = scene();
    const store = await node();
    await planAll([store], ["a/x", "a/y"]);
    const claim = only((await store.claimDue(10)).claims);
    await store.update(key("a/y"), { paused_until: "2026-03-01T00:00:20.000Z" });
    await completeClaim(store, claim, {});
    expect((await store.claimDue(10)).claims).toEqual([]);
    await clock.advance("20s");
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
  });

  it("keeps its place when something else is written of it", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x"]);
    const place = async (): Promise<unknown> =>
      (await sharedPool().query(`select ctid from "${schema}".queue`)).rows;
    const before = await place();
    await store.update(key("a/x"), { failure_count: 1 });
    expect(await place()).toEqual(before);
  });
});

/** The same each time. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % sides;
  };
}

const SCHEDULES = ["x", "y", "z"].flatMap((schedule) =>
  ["a", "b", "c"].map((agent) => ({ agent, schedule })),
);

/** Does whatever a scheduler may do, and what people may do to it. */
async function act(store: PostgresStore, roll: (sides: number) => number, held: Claim[]): Promise<void> {
  const schedule = SCHEDULES[roll(SCHEDULES.length)] ?? key("a/x");
  const at = new Date(Date.parse(START) + 1_000 * (roll(20) - 15)).toISOString();
  switch (roll(9)) {
    case 0:
    case 1:
      held.push(...(await store.claimDue(1 + roll(4))).claims);
      return;
    case 2: {
      const claim = await store.claim(schedule);
      if (typeof claim !== "string") held.push(claim);
      return;
    }
    case 3:
    case 4:
      await endAll(
        store,
        held.splice(0, 2).map((claim) => ({ claim, change: { next_run_at: at } })),
      );
      return;
    case 5: {
      const claim = held.pop();
      if (claim !== undefined) await (roll(2) === 0 ? releaseClaim(store, claim) : store.renew(claim));
      return;
    }
    case 6:
      await store.update(schedule, roll(2) === 0 ? { next_run_at: at } : { failure_count: roll(5) });
      return;
    case 7:
      await store.updateAll(SCHEDULES.slice(roll(5)), () => ({ next_run_at: at, paused_until: null }));
      return;
    default:
      await (roll(2) === 0
        ? store.update(schedule, { paused_until: at })
        : store.define(withCapacity(SCHEDULES, 1 + roll(4))));
  }
}

describe("what several nodes and people do at once to the same schedules", () => {
  it.each([1, 2, 3, 4, 5, 6])("leaves every schedule in the queue or claimed (%i)", async (seed) => {
    const { node, schema } = scene();
    const pool = new SteeredPool();
    const stores = [await node({ pool }), await node({ pool }), await node({ pool })];
    await planAll(stores, names(SCHEDULES), 2);
    await Promise.all(
      stores.map(async (store, index) => {
        const roll = dice(1_000 * seed + index + 1);
        const held: Claim[] = [];
        for (let acts = 0; acts < 60; acts++) await act(store, roll, held);
      }),
    );
    expect(await tableBreaches(sharedPool(), schema)).toEqual([]);
    // Nobody had to be refused because two waited for each other.
    expect(pool.refusals).toEqual([]);
  });
});

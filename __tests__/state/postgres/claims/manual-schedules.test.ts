/** Schedules that a node starts by hand only, beside nodes that run them at their times. */
import { describe, expect, it } from "vitest";
import type { OutsideChange, PlanSource, StateStore } from "../../../../src/index.js";
import type { PostgresStoreOptions } from "../../../../src/state/postgres/index.js";
import { until } from "../../child.js";
import { completeClaim, key, LEASE_MS, names, only, releaseClaim, scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";

const LATER = "2026-03-01T00:05:00.000Z";
const X = key("a/x");

async function defineAs(store: StateStore, isAutomatic: boolean): Promise<void> {
  await store.define({ schedules: [{ ...X, isAutomatic }] });
}

/** Of two nodes the first has it by hand, the second runs it at its time, which has come. */
async function dueOnTwo(
  automaticOptions: Partial<PostgresStoreOptions> = {},
): Promise<ReturnType<typeof scene> & { byHand: StateStore; automatic: StateStore }> {
  const stage = scene();
  const [byHand, automatic] = [await stage.node(), await stage.node(automaticOptions)];
  await defineAs(byHand, false);
  await defineAs(automatic, true);
  await automatic.update(X, { next_run_at: START, next_run_source: "baseline-interval" });
  return { ...stage, byHand, automatic };
}

describe("a schedule that is manual-only on one node of a PostgreSQL store", () => {
  it("is not claimed there when it is due, and not waited for", async () => {
    const { byHand, automatic } = await dueOnTwo();
    expect(await byHand.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect((await byHand.claimDue(0)).nextDueAt).toBeUndefined();
    expect(names((await automatic.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is claimed there on request, and is due as before when the claim is given back", async () => {
    const { byHand, automatic } = await dueOnTwo();
    const claim = await byHand.claim(X);
    if (typeof claim === "string") throw new Error(claim);
    expect(await releaseClaim(byHand, claim)).toBe(true);
    expect(await byHand.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect(only((await automatic.claimDue(10)).claims)).toMatchObject({ source: "baseline-interval" });
  });

  it("stays due when the automatic node is gone", async () => {
    const { byHand, automatic } = await dueOnTwo();
    await automatic.close();
    expect(await byHand.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect((await byHand.claimDue(0)).nextDueAt).toBeUndefined();
    expect(await byHand.read(X)).toMatchObject({ next_run_at: START, next_run_source: "baseline-interval" });
  });

  it("is one that it may run at its time when it is defined so", async () => {
    const { byHand } = await dueOnTwo();
    await byHand.define({ schedules: [X] });
    expect(names((await byHand.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is known as that after the store was closed and opened again", async () => {
    const { byHand } = await dueOnTwo();
    await byHand.close();
    await byHand.open();
    expect(await byHand.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect(await byHand.claim(X)).toMatchObject({ source: "manual" });
  });
});

describe("a schedule that is manual-only on all nodes of a PostgreSQL store", () => {
  it("is run again by a second node when its node died with the job", async () => {
    const { node, clock } = scene();
    const [one, two] = [await node(), await node()];
    for (const store of [one, two]) await defineAs(store, false);
    expect(await one.claim(X)).toMatchObject({ source: "manual" });
    await clock.advance(LEASE_MS);
    expect(only((await two.claimDue(10)).claims)).toMatchObject({ ...X, source: "retry", attempt: 2 });
  });

  it.each<[PlanSource, readonly string[]]>([
    ["manual", ["a/x"]],
    ["catch-up", ["a/x"]],
    ["baseline-cron", []],
    ["paused", []],
  ])("that is due as %s is claimed if it was requested: %j", async (source, claimed) => {
    const { node } = scene();
    const store = await node();
    await defineAs(store, false);
    await store.update(X, { next_run_at: LATER, next_run_source: source });
    expect((await store.claimDue(10)).nextDueAt !== undefined).toBe(claimed.length > 0);
    await store.update(X, { next_run_at: START, next_run_source: source });
    const { claims } = await store.claimDue(10);
    expect(names(claims)).toEqual(claimed);
    expect(claims.map((claim) => claim.source)).toEqual(claimed.map(() => source));
  });
});

describe("a request for a schedule that is manual-only on some nodes", () => {
  it("is left to the automatic nodes", async () => {
    const { byHand, automatic } = await dueOnTwo();
    await byHand.update(X, { next_run_source: "catch-up" });
    expect(await byHand.claimDue(10)).toEqual({ claims: [], skipped: [], nextDueAt: undefined });
    expect(names((await automatic.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is claimed by a manual-only node when no automatic node is there", async () => {
    const { byHand, automatic } = await dueOnTwo();
    await byHand.update(X, { next_run_source: "catch-up" });
    await automatic.close();
    expect(names((await byHand.claimDue(10)).claims)).toEqual(["a/x"]);
  });
});

describe("a request for a schedule that is manual-only on one node, when the automatic node died", () => {
  const NOTHING = { claims: [], skipped: [], nextDueAt: undefined };

  it.each([LEASE_MS, 2 * LEASE_MS])("waits for a whole lease of that node: %i ms", async (leaseMs) => {
    const { byHand, clock } = await dueOnTwo({ leaseMs });
    await byHand.update(X, { next_run_source: "catch-up" });
    await clock.advance(leaseMs - 1);
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    await clock.advance(1);
    expect(only((await byHand.claimDue(10)).claims)).toMatchObject({ ...X, source: "catch-up" });
  });

  it("has its due time as the next of the manual-only node after that lease", async () => {
    const { byHand, clock } = await dueOnTwo();
    await byHand.update(X, { next_run_at: LATER, next_run_source: "manual" });
    expect((await byHand.claimDue(10)).nextDueAt).toBeUndefined();
    await clock.advance(LEASE_MS);
    expect((await byHand.claimDue(10)).nextDueAt).toEqual(new Date(LATER));
  });

  it("is claimed in the call that ends the dead node's claim", async () => {
    const { byHand, automatic, clock } = await dueOnTwo();
    expect(names((await automatic.claimDue(10)).claims)).toEqual(["a/x"]);
    await clock.advance(LEASE_MS);
    expect(only((await byHand.claimDue(10)).claims)).toMatchObject({ ...X, source: "retry", attempt: 2 });
  });

  it("waits for a lease after that node's last sign of life, although its claim ended before", async () => {
    const { byHand, automatic, clock } = await dueOnTwo();
    await automatic.claimDue(10);
    await clock.advance(LEASE_MS / 2);
    await automatic.claimDue(0);
    await clock.advance(LEASE_MS / 2);
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    expect(await byHand.read(X)).toMatchObject({ status: "idle", next_run_source: "retry" });
    await clock.advance(LEASE_MS / 2);
    expect(names((await byHand.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is claimed when it waited for the capacity of its agent", async () => {
    const { node, clock } = scene();
    const [byHand, automatic] = [await node(), await node()];
    const Y = key("a/y");
    await byHand.define({ schedules: [{ ...X, isAutomatic: false }, Y] });
    await automatic.define({ schedules: [X, Y] });
    await automatic.update(X, { next_run_at: START, next_run_source: "catch-up" });
    const running = await byHand.claim(Y);
    if (typeof running === "string") throw new Error(running);
    expect(names((await automatic.claimDue(10)).skipped)).toEqual(["a/x"]);
    await completeClaim(byHand, running, {});
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    await clock.advance(LEASE_MS);
    expect(names((await byHand.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("is left to that node again after its next sign of life", async () => {
    const { byHand, automatic, clock } = await dueOnTwo();
    await byHand.update(X, { next_run_at: LATER, next_run_source: "catch-up" });
    await clock.advance(LEASE_MS);
    expect((await byHand.claimDue(10)).nextDueAt).toEqual(new Date(LATER));
    expect((await automatic.claimDue(10)).nextDueAt).toEqual(new Date(LATER));
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    await byHand.update(X, { next_run_at: START, next_run_source: "catch-up" });
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    expect(names((await automatic.claimDue(10)).claims)).toEqual(["a/x"]);
  });

  it("waits by the clock of the database where no clock is given", async () => {
    const { node, schema } = scene();
    const [byHand, automatic] = [await node({ clock: undefined }), await node({ clock: undefined })];
    await defineAs(byHand, false);
    await defineAs(automatic, true);
    await byHand.update(X, { next_run_at: START, next_run_source: "catch-up" });
    expect(await byHand.claimDue(10)).toEqual(NOTHING);
    await sharedPool().query(`update "${schema}".nodes set seen_at = clock_timestamp() - lease`);
    expect(names((await byHand.claimDue(10)).claims)).toEqual(["a/x"]);
  });
});

describe("a node that changes a schedule that is manual-only there", () => {
  it("reports the switched keys to other nodes, and no other keys", async () => {
    const { node } = scene();
    const [one, two] = [await node(), await node()];
    const Y = key("a/y");
    await one.define({ schedules: [{ ...X, isAutomatic: false }, Y] });
    const told: OutsideChange[] = [];
    two.onChange((changes) => void told.push(...changes));
    const claim = await one.claim(Y);
    if (typeof claim === "string") throw new Error(claim);
    await Promise.all([
      one.update(X, { last_error: "one" }),
      one.update(X, { status: "disabled", last_error: "off" }),
      completeClaim(one, claim, { last_error: "gone" }),
      one.update(X, { hint: { expires_at: START } }),
    ]);
    await until(() => told.length > 1);
    expect(told).toEqual([
      { ...X, keys: ["status"] },
      { ...X, keys: ["hint"] },
    ]);
  });
});

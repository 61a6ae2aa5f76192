import { describe, expect, it } from "vitest";
import { nextTurn } from "../../../../src/clock.js";
import type { Claim, ScheduleStatePatch } from "../../../../src/index.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, endAll, key, planAll, scene } from "../scene.js";
import { isWrite, SteeredPool } from "../steered-pool.js";

/** More than two writes hold: 2,000 each. */
const MANY = Array.from({ length: 6_001 }, (_, i) => `agent-${i}/x`);

interface Crowd {
  readonly store: PostgresStore;
  readonly outsider: PostgresStore;
  readonly claims: readonly Claim[];
  /** How many writes were under way at once, at most, and how many there were. */
  readonly writes: { most: number; count: number };
  /** Holds the next two writes back until it is called. */
  readonly letGo: () => void;
}

/** A store that has claimed all of them. */
async function crowd(): Promise<Crowd> {
  const { node, outsider } = scene();
  const pool = new SteeredPool();
  const store = await node({ pool });
  await planAll([store], MANY);
  const claims: Claim[] = [];
  for (let due = await store.claimDue(MANY.length); due.claims.length > 0;) {
    claims.push(...due.claims);
    due = await store.claimDue(MANY.length);
  }
  const writes = { most: 0, count: 0 };
  let underWay = 0;
  let letGo = (): void => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  pool.steer = async (query, carryOut) => {
    if (!isWrite(query)) return carryOut();
    writes.count++;
    writes.most = Math.max(writes.most, ++underWay);
    try {
      if (writes.count <= 2) await gone;
      return await carryOut();
    } finally {
      underWay--;
    }
  };
  return { store, outsider: outsider(), claims, writes, letGo };
}

/** Each with an outcome of its own. */
const endsOf = (claims: readonly Claim[]): { claim: Claim; change: ScheduleStatePatch }[] =>
  claims.map((claim) => ({ claim, change: { last_error: `of ${claim.agent}` } }));

/** A thousand at a time, as many calls. */
function endInCalls(store: PostgresStore, claims: readonly Claim[]): Promise<readonly boolean[]>[] {
  const calls: Promise<readonly boolean[]>[] = [];
  for (let from = 0; from < claims.length; from += 1_000)
    calls.push(endAll(store, endsOf(claims.slice(from, from + 1_000))));
  return calls;
}

describe("the ends of thousands of claims", () => {
  it("are written in bounded writes, two at once, and each has its own outcome", async () => {
    const { store, claims, writes, letGo } = await crowd();
    letGo();
    const areHeld = (await Promise.all(endInCalls(store, claims))).flat();
    expect(areHeld.filter(Boolean)).toHaveLength(MANY.length);
    expect(writes).toEqual({ most: 2, count: 4 });
    for (const name of [MANY[0], MANY[3_000], MANY.at(-1)]) {
      const { agent, schedule } = key(name ?? "");
      expect(await store.read({ agent, schedule })).toMatchObject({
        status: "idle",
        last_error: `of ${agent}`,
      });
    }
  });

  it("are all written before the store is closed, also while they wait for their write", async () => {
    const { store, outsider, claims, letGo } = await crowd();
    const ending = endInCalls(store, claims);
    const closing = store.close();
    // Time enough for whoever does not wait to ask the database, too.
    for (let question = 0; question < 100; question++) await outsider.read(key("agent-0/x"));
    letGo();
    await closing;
    const areHeld = (await Promise.all(ending)).flat();
    expect(areHeld.filter(Boolean)).toHaveLength(MANY.length);
    const last = MANY.at(-1) ?? "";
    expect(await outsider.read(key(last))).toMatchObject({ last_error: `of ${key(last).agent}` });
  });

  it("go along with changes that wait, where both come in turns", async () => {
    const { store, claims, writes, letGo } = await crowd();
    const [first, ...others] = claims.slice(0, 41);
    if (first === undefined) throw new Error("Nothing was claimed.");
    const changing = store.update(first, { failure_count: 1 });
    await nextTurn();
    const rest = others.map((claim, index) =>
      index % 2 === 0 ? completeClaim(store, claim, {}) : store.update(claim, { failure_count: 1 }),
    );
    letGo();
    await Promise.all([changing, ...rest]);
    // The change that was under way, the end that came first, and all others together.
    expect(writes.count).toBe(3);
  });

  it("come before a change that is asked for after them, and after one that was asked for before", async () => {
    const { store, claims, letGo } = await crowd();
    letGo();
    const [claim] = claims;
    if (claim === undefined) throw new Error("Nothing was claimed.");
    const seen: (string | null | undefined)[] = [];
    const note =
      (last_error: string) =>
      (state: { readonly last_error?: string | null | undefined }): ScheduleStatePatch => {
        seen.push(state.last_error);
        return { last_error };
      };
    await Promise.all([
      store.update(claim, note("before")),
      ...endInCalls(store, claims.slice(1)),
      completeClaim(store, claim, note("end")),
      store.update(claim, note("after")),
    ]);
    // The end may be decided once on what was known before.
    expect(seen.map((each) => each ?? "none").slice(-2)).toEqual(["before", "end"]);
  });
});

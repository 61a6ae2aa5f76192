import { describe, expect, it } from "vitest";
import type { Agent } from "../../../../src/index.js";
import { Herd, type HerdNode } from "../herd/herd.js";
import type { Run } from "../herd/witness.js";

const schedules = { x: { type: "interval", interval: "1s" } } as const;
const SHARED: Agent = { name: "shared", schedules };
const OWN: Agent = { name: "own", schedules };
const isOwn = ({ agent }: Run): boolean => agent === "own";

/** A herd of two, of which only the second knows the agent "own" and has run it. */
async function herdOfTwo(
  jobMs: readonly [number, number] | "long",
): Promise<{ herd: Herd; owner: HerdNode }> {
  const herd = await Herd.make({ agents: [SHARED, OWN], leaseMs: 3_000, checkInterval: 100 });
  await herd.add({ agents: [SHARED] });
  const owner = await herd.add({ agents: [OWN, SHARED], jobMs });
  await herd.until(async () => (await herd.witness.runs()).some(isOwn));
  return { herd, owner };
}

/** The schedule is due and nobody's, and the other node goes on for some checks. */
async function goneFor(herd: Herd): Promise<number> {
  const goneMs = await herd.witness.now();
  await using store = herd.store();
  let dueMs = Infinity;
  await herd.until(async () => {
    const { claim, next_run_at } = await store.read({ agent: "own", schedule: "x" });
    dueMs = claim == null ? Date.parse(next_run_at ?? "") : Infinity;
    return (await herd.witness.now()) > dueMs;
  });
  await herd.untilRuns(2, dueMs);
  return goneMs;
}

describe.concurrent("a schedule that only one node knows", { timeout: 180_000 }, () => {
  it("is not run by other nodes after its node has left, and runs when it is back", async () => {
    const { herd, owner } = await herdOfTwo([20, 50]);
    await using _ = herd;
    await herd.leave([owner]);
    const goneMs = await goneFor(herd);
    expect((await herd.witness.runs()).filter((run) => isOwn(run) && run.startedMs > goneMs)).toEqual([]);
    const back = await herd.add({ agents: [OWN, SHARED] });
    await herd.until(async () =>
      (await herd.witness.runs()).some((run) => isOwn(run) && run.node === back.name),
    );
    const untilMs = await herd.witness.now();
    await herd.leave();
    expect(await herd.breaches(untilMs)).toEqual([]);
  });

  it("is interrupted and not run by other nodes after its node was killed, and runs when it is back", async () => {
    const { herd, owner } = await herdOfTwo("long");
    await using _ = herd;
    await herd.kill(owner);
    const goneMs = await goneFor(herd);
    await using store = herd.store();
    expect((await herd.witness.runs()).filter((run) => isOwn(run) && run.startedMs > goneMs)).toEqual([]);
    expect(await store.read({ agent: "own", schedule: "x" })).toMatchObject({
      status: "idle",
      interrupted_count: 1,
    });
    const back = await herd.add({ agents: [OWN, SHARED], jobMs: [20, 50] });
    await herd.until(async () =>
      (await herd.witness.runs()).some((run) => isOwn(run) && run.node === back.name),
    );
    const [again, lost] = (await store.jobs.list({ agent: "own", limit: Infinity }))
      .filter(({ attempt, status }) => attempt > 1 || status === "interrupted")
      .map(({ slot, attempt, trigger }) => ({ slot, attempt, trigger }));
    expect(again).toEqual({ slot: lost?.slot, attempt: 2, trigger: "retry" });
    expect(lost?.attempt).toBe(1);
    const untilMs = await herd.witness.now();
    await herd.leave();
    expect(await herd.breaches(untilMs)).toEqual([]);
  });
});

/** A claim in a state that is not held: its write failed after its effect, or its lease ended while the disk failed. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../src/index.js";
import { FailingMemoryStore } from "../memory/failing-memory-store.js";

const KEY = { agent: "a", schedule: "x" };
const START = "2026-03-01T00:00:00.000Z";
const IDLE = { status: "idle", last_run_at: null, next_run_at: START, last_error: null };
/** A key that is `null` counts as absent. */
const SEEN = { ...IDLE, claim: null };

async function opened(): Promise<{ store: FailingMemoryStore; clock: FakeClock }> {
  const clock = new FakeClock(START);
  const store = new FailingMemoryStore({ clock });
  onTestFinished(() => store.close());
  await store.open();
  await store.update(KEY, { next_run_at: START });
  await store.define({ schedules: [KEY] });
  return { store, clock };
}

/** A store whose claim was written, and not given to its caller. */
async function withLostReply(): Promise<FailingMemoryStore> {
  const { store } = await opened();
  store.failure = "after";
  await expect(store.claimDue(1)).rejects.toThrow("no reply");
  store.failure = undefined;
  return store;
}

describe("a claim that was written and whose reply was lost", () => {
  it("is not shown: no job runs under it", async () => {
    const store = await withLostReply();
    expect(await store.read(KEY)).toEqual(SEEN);
    expect((await store.list("a")).get("x")).toEqual(SEEN);
    expect(await store.define({ schedules: [KEY] })).toEqual([{ state: SEEN, isPlannedHere: true }]);
  });

  it("goes with the next change of its schedule", async () => {
    const store = await withLostReply();
    expect(await store.update(KEY, { status: "disabled" })).toEqual({ ...IDLE, status: "disabled" });
    expect(await store.update(KEY, ({ status }) => ({ last_error: status }))).toMatchObject({
      status: "disabled",
      last_error: "disabled",
    });
  });

  it("leaves its slot to be claimed", async () => {
    const store = await withLostReply();
    expect((await store.claimDue(1)).claims).toMatchObject([{ ...KEY, slot: new Date(START) }]);
  });

  it("does not count as interrupted when the store is opened again", async () => {
    const store = await withLostReply();
    await store.close();
    await store.open();
    expect(await store.read(KEY)).toEqual(IDLE);
  });
});

describe("a claim whose lease ended while it could not be removed from the state", () => {
  it("is not shown, and leaves its slot to be claimed", async () => {
    const { store, clock } = await opened();
    await store.claimDue(1);
    await clock.advance(store.leaseMs);
    store.failure = "before";
    await expect(store.claimDue(1)).rejects.toThrow("no write");
    store.failure = undefined;
    expect(await store.read(KEY)).toEqual(SEEN);
    expect((await store.claimDue(1)).claims).toMatchObject([{ ...KEY, slot: new Date(START) }]);
  });
});

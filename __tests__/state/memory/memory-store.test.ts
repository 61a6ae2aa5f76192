import { describe, expect, it } from "vitest";
import { type Claim, FakeClock, MemoryStore } from "../../../src/index.js";
import { describeJobFinish } from "../../contract/job-finish-contract.js";
import { describeEventStore } from "../../contract/event-store-contract.js";
import { endedRecord } from "../../contract/records.js";
import { describeStateStore } from "../../contract/state-store-contract.js";
import { FailingMemoryStore } from "./failing-memory-store.js";

describeStateStore("memory store", (options) => new MemoryStore(options));
describeJobFinish("memory store", (options) => {
  const store = new FailingMemoryStore(options);
  const fail = (failure: "before" | "after") => (): (() => void) => {
    store.failure = failure;
    return () => {
      store.failure = undefined;
    };
  };
  return { store, loseReplies: fail("after"), refuseWrites: fail("before") };
});

describeEventStore("memory store", async (options) => {
  const store = new MemoryStore(options);
  await store.open();
  const restart = async (): Promise<typeof store.events> => {
    await store.close();
    await store.open();
    return store.events;
  };
  return { events: store.events, restart, close: () => store.close() };
});

describe("a memory store that is opened again", () => {
  const KEY = { agent: "a", schedule: "x" };
  const START = "2026-03-01T00:00:00.000Z";

  it("ends a claim by the final record of its job, and does not run that again", async () => {
    await using store = new MemoryStore({ clock: new FakeClock(START) });
    await store.open();
    await store.update(KEY, { next_run_at: START });
    await store.define({ schedules: [KEY] });
    const [{ jobId }] = (await store.claimDue(1)).claims as [Claim];
    await store.jobs.start({ id: jobId, ...KEY, trigger: "interval" });
    await store.jobs.finish(jobId, { status: "failed", error: "no" });
    await store.close();
    await store.open();
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      next_run_at: null,
      last_error: "no",
      failure_count: 1,
    });
  });

  it("makes the record that its last job lacks", async () => {
    const store = new FailingMemoryStore({ clock: new FakeClock(START) });
    await store.open();
    const id = "job-2026-03-01-aaaaaa";
    const last_job = { id, slot: START, trigger: "cron", attempt: 2, status: "timeout" } as const;
    const times = { last_started_at: START, last_completed_at: "2026-03-01T00:00:02.000Z" };
    await store.update(KEY, { last_job, ...times, last_error: "too long" });
    await store.close();
    await store.open();
    expect(await store.jobs.get(id)).toEqual(
      endedRecord(id, {
        ...KEY,
        trigger: "cron",
        slot: START,
        source: null,
        attempt: 2,
        started_at: START,
        status: "timeout",
        finished_at: times.last_completed_at,
        duration_ms: 2000,
        error: "too long",
      }),
    );
    await store.close();
  });
});

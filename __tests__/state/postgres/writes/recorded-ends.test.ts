/** Ends of claims with the records of their jobs, which are made together or not at all. */
import { describe, expect, it } from "vitest";
import type { Claim, ClaimEnd } from "../../../../src/index.js";
import type { EndedJobRecord } from "../../../../src/state/job-log/job-log.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { completeClaim, endAll, only, planAll, scene, START } from "../scene.js";
import { loseNextAnswer, SteeredPool } from "../steered-pool.js";

function recordOf({ agent, schedule, jobId }: Claim): EndedJobRecord {
  return {
    id: jobId,
    agent,
    schedule,
    trigger: "interval",
    slot: START,
    source: "baseline-interval",
    attempt: 1,
    prompt: null,
    work_item: null,
    started_at: START,
    status: "completed",
    finished_at: START,
    duration_ms: 5,
    error: null,
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

/** The end of a claim, and whether its record was said to be made. */
class RecordedEnd implements ClaimEnd {
  readonly change = {};
  isRecorded = false;

  readonly claim: Claim;
  readonly record: EndedJobRecord;

  constructor(claim: Claim, record: EndedJobRecord = recordOf(claim)) {
    this.claim = claim;
    this.record = record;
  }

  noteRecorded(): void {
    this.isRecorded = true;
  }
}

async function claimed(store: PostgresStore): Promise<Claim> {
  await planAll([store], ["a/x"]);
  return only((await store.claimDue(10)).claims);
}

describe("the end of a claim with the record of its job", () => {
  it("is written as one", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = new RecordedEnd(await claimed(store));
    const texts: string[] = [];
    pool.steer = (query, carryOut) => (texts.push(query.text), carryOut());
    expect(await endAll(store, [end])).toEqual([true]);
    expect(texts).toHaveLength(1);
    expect(end.isRecorded).toBe(true);
    expect(await store.jobs.get(end.claim.jobId)).toEqual(end.record);
  });

  it.each([
    { prompt: "p", summary: "s", error: "e\n\0", exit_code: 3, status: "failed" } as const,
    { work_item: { id: 1, tags: [null] }, response_body: { a: null } },
    { slot: null, source: null, schedule: null, duration_ms: null },
  ])("tells all of it: %j", async (details) => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const end = new RecordedEnd(claim, { ...recordOf(claim), ...details });
    await endAll(store, [end]);
    expect(end.isRecorded).toBe(true);
    expect(await store.jobs.get(claim.jobId)).toEqual(end.record);
  });

  it("takes what is left out for what a job does not have", async () => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const { schedule: _, slot: _slot, prompt: _prompt, error: _error, ...said } = recordOf(claim);
    const end = new RecordedEnd(claim, Object.assign(said, { work_item: null }) as EndedJobRecord);
    expect(await endAll(store, [end])).toEqual([true]);
    expect(await store.jobs.get(claim.jobId)).toEqual({
      ...end.record,
      schedule: null,
      slot: null,
      prompt: null,
      error: null,
    });
  });

  it("records nothing where another has the claim", async () => {
    const { node } = scene();
    const store = await node();
    const end = new RecordedEnd(await claimed(store));
    await completeClaim(store, end.claim, {});
    expect(await endAll(store, [end])).toEqual([false]);
    expect(end.isRecorded).toBe(false);
    expect(await store.jobs.get(end.claim.jobId)).toBeUndefined();
  });

  it("ends the claim where the id is another's, and says that it was not recorded", async () => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    await store.jobs.start({ id: claim.jobId, agent: "other", trigger: "manual", started_at: START });
    const end = new RecordedEnd(claim);
    expect(await endAll(store, [end])).toEqual([true]);
    expect(end.isRecorded).toBe(false);
    expect(await store.jobs.get(claim.jobId)).toMatchObject({ agent: "other" });
  });

  it("ends the claim where the record is none, and leaves it to the log to say so", async () => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const end = new RecordedEnd(claim, { ...recordOf(claim), attempt: 0.5 });
    expect(await endAll(store, [end])).toEqual([true]);
    expect(end.isRecorded).toBe(false);
    await expect(store.jobs.recordAll([end.record])).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("is not written, nor are those that come with it, where one of them cannot be decided", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/y", "c/z"]);
    const [x, y, z] = (await store.claimDue(10)).claims as [Claim, Claim, Claim];
    const undecided = {
      claim: y,
      change: (): never => {
        throw new RangeError("undecided");
      },
    };
    const [together, other] = await Promise.allSettled([
      endAll(store, [new RecordedEnd(x), undecided]),
      endAll(store, [new RecordedEnd(z)]),
    ]);
    expect([together, other]).toMatchObject([{ reason: { message: "undecided" } }, { value: [true] }]);
    expect((await store.jobs.list()).map(({ agent }) => agent)).toEqual(["c"]);
    expect(await endAll(store, [new RecordedEnd(x)])).toEqual([true]);
  });

  it("keeps the claims of all where the record of one cannot be made", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/y"]);
    const [x, y] = (await store.claimDue(10)).claims as [Claim, Claim];
    const unrecordable: ClaimEnd = {
      claim: y,
      change: () => ({}),
      get record(): never {
        throw new RangeError("no record");
      },
    };
    await expect(endAll(store, [new RecordedEnd(x), unrecordable])).rejects.toThrow("no record");
    expect(await store.jobs.list()).toEqual([]);
    expect(await endAll(store, [new RecordedEnd(x)])).toEqual([true]);
  });

  it("records it once when it is decided again", async () => {
    const { node, outsider } = scene();
    const store = await node();
    const end = new RecordedEnd(await claimed(store));
    await outsider().update(end.claim, { failure_count: 3 });
    expect(await endAll(store, [end])).toEqual([true]);
    expect(end.isRecorded).toBe(true);
    expect(await store.jobs.list()).toEqual([end.record]);
    expect(await store.read(end.claim)).toMatchObject({ failure_count: 3, status: "idle" });
  });

  it("records it once when the answer was lost", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = new RecordedEnd(await claimed(store));
    const isLost = loseNextAnswer(pool);
    expect(await endAll(store, [end])).toEqual([true]);
    expect(isLost()).toBe(true);
    expect(await store.jobs.list()).toEqual([end.record]);
  });
});

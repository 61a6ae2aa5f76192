/** Ends of claims with the records of their jobs, which PostgreSQL writes in one statement. */
import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/index.js";
import type { EndedJobRecord, JobRecord } from "../../../../src/state/job-log/job-log.js";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import type { JobFinish } from "../../../../src/state/store.js";
import { completeClaim, endAll, LEASE_MS, only, planAll, scene, START } from "../scene.js";
import { connectionLost, isWrite, loseNextAnswer, SteeredPool } from "../steered-pool.js";

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

function startOf(record: EndedJobRecord): JobRecord {
  const unknown = { duration_ms: null, error: null, summary: null, exit_code: null, response_body: null };
  return { ...record, ...unknown, status: "running", finished_at: null };
}

const endOf = (
  claim: Claim,
  record: EndedJobRecord = recordOf(claim),
): JobFinish & { record: EndedJobRecord } => ({
  claim,
  change: {},
  record,
});

const WRITTEN = { claim: "ended", record: "written" };

async function claimed(store: PostgresStore): Promise<Claim> {
  await planAll([store], ["a/x"]);
  return only((await store.claimDue(10)).claims);
}

/** Collects the texts of statements, except for those that remove old records beside the others. */
function textsOf(pool: SteeredPool): string[] {
  const texts: string[] = [];
  pool.steer = (query, carryOut) => {
    if (!query.text.includes("with old as")) texts.push(query.text);
    return carryOut();
  };
  return texts;
}

describe.each([
  ["was never opened", false],
  ["startJobs has opened", true],
])("the end of a claim with the record of a job that %s", (_, isOpened) => {
  it("is one statement", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = endOf(await claimed(store));
    if (isOpened) await store.startJobs([startOf(end.record)]);
    const texts = textsOf(pool);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(texts).toHaveLength(1);
    expect(await store.jobs.get(end.claim.jobId)).toEqual(end.record);
  });

  it.each([
    { prompt: "p", summary: "s", error: "e\n\0", exit_code: 3, status: "failed" } as const,
    { work_item: { id: 1, tags: [null] }, response_body: { a: null } },
    { slot: null, source: null, schedule: null, duration_ms: null },
  ])("keeps every field: %j", async (details) => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const end = endOf(claim, { ...recordOf(claim), ...details });
    if (isOpened) await store.startJobs([startOf(end.record)]);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.get(claim.jobId)).toEqual(end.record);
  });

  it("writes the record once when it is decided again", async () => {
    const { node, outsider } = scene();
    const store = await node();
    const end = endOf(await claimed(store));
    if (isOpened) await store.startJobs([startOf(end.record)]);
    await outsider().update(end.claim, { failure_count: 3 });
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.list()).toEqual([end.record]);
    expect(await store.read(end.claim)).toMatchObject({ failure_count: 3, status: "idle" });
  });

  it("writes the record once when the reply was lost", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = endOf(await claimed(store));
    if (isOpened) await store.startJobs([startOf(end.record)]);
    const isLost = loseNextAnswer(pool);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(isLost()).toBe(true);
    expect(await store.jobs.list()).toEqual([end.record]);
  });

  it("is confirmed by a repeated call when the reply was lost and the database away", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = endOf(await claimed(store));
    if (isOpened) await store.startJobs([startOf(end.record)]);
    let isAway = false;
    pool.steer = async (query, carryOut) => {
      if (isAway) throw connectionLost();
      const reply = await carryOut();
      if (!isWrite(query)) return reply;
      isAway = true;
      throw connectionLost();
    };
    await expect(store.finishJobs([end])).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.steer = (_query, carryOut) => carryOut();
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.list()).toEqual([end.record]);
  });

  it("is confirmed by every repeated call", async () => {
    const { node } = scene();
    const store = await node();
    const end = endOf(await claimed(store));
    if (isOpened) await store.startJobs([startOf(end.record)]);
    expect(await store.finishJobs([end, end])).toEqual([WRITTEN, WRITTEN]);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.list()).toEqual([end.record]);
  });

  it("is superseded when a different node took the slot, and the record says so", async () => {
    const { node, clock } = scene();
    const [slow, quick] = [await node(), await node()];
    await planAll([slow, quick], ["a/x"]);
    const end = endOf(only((await slow.claimDue(10)).claims));
    if (isOpened) await slow.startJobs([startOf(end.record)]);
    await clock.advance(LEASE_MS + 1);
    const taken = only((await quick.claimDue(10)).claims);
    const superseded = { claim: "superseded", record: "written" };
    expect(await slow.finishJobs([end])).toEqual([superseded]);
    expect(await slow.finishJobs([end])).toEqual([superseded]);
    expect(await quick.jobs.get(end.claim.jobId)).toEqual({
      ...end.record,
      status: "interrupted",
      error: "superseded: another claim has taken its slot, where this job ended as completed",
    });
    expect((await quick.read(taken)).claim?.token).toBe(taken.token);
  });
});

describe("the end of a claim with the record of its job", () => {
  it("waits for a start that is under way", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = endOf(await claimed(store));
    const texts = textsOf(pool);
    const starting = store.startJobs([startOf(end.record)]);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    await starting;
    expect(texts).toHaveLength(2);
    expect(await store.jobs.list()).toEqual([end.record]);
  });

  it("inserts the record when its start has failed", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    const end = endOf(await claimed(store));
    pool.steer = () => Promise.reject(connectionLost());
    await expect(store.startJobs([startOf(end.record)])).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.steer = (_, carryOut) => carryOut();
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.list()).toEqual([end.record]);
  });

  it("closes and inserts records in one statement", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    await planAll([store], ["a/x", "b/x", "c/x"]);
    const ends = (await store.claimDue(10)).claims.map((claim) => endOf(claim));
    await store.startJobs(ends.slice(1, 2).map(({ record }) => startOf(record)));
    const texts = textsOf(pool);
    expect(await store.finishJobs(ends)).toEqual([WRITTEN, WRITTEN, WRITTEN]);
    expect(texts).toHaveLength(1);
    for (const { claim, record } of ends) expect(await store.jobs.get(claim.jobId)).toEqual(record);
  });

  it("replaces the record of a node that took the job for interrupted", async () => {
    const { node } = scene();
    const store = await node();
    const end = endOf(await claimed(store));
    await store.startJobs([startOf(end.record)]);
    await store.jobs.presumeInterrupted([end.claim.jobId], "not renewed");
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.get(end.claim.jobId)).toEqual(end.record);
  });

  it("takes missing fields for null", async () => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const { schedule: _, slot: _slot, prompt: _prompt, error: _error, ...said } = recordOf(claim);
    const end = endOf(claim, Object.assign(said, { work_item: null }) as EndedJobRecord);
    expect(await store.finishJobs([end])).toEqual([WRITTEN]);
    expect(await store.jobs.get(claim.jobId)).toEqual({
      ...end.record,
      schedule: null,
      slot: null,
      prompt: null,
      error: null,
    });
  });

  it("is superseded when the claim was ended without a record", async () => {
    const { node } = scene();
    const store = await node();
    const end = endOf(await claimed(store));
    await completeClaim(store, end.claim, {});
    expect(await store.jobs.get(end.claim.jobId)).toBeUndefined();
    expect(await store.finishJobs([end])).toEqual([{ claim: "superseded", record: "written" }]);
    expect(await store.jobs.get(end.claim.jobId)).toMatchObject({ status: "interrupted" });
  });

  it("ends the claim and refuses the record when a different job has the id", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/x"]);
    const [claim, other] = (await store.claimDue(10)).claims as [Claim, Claim];
    await store.jobs.start({ id: claim.jobId, agent: "other", trigger: "manual", started_at: START });
    const refused = { claim: "ended", record: "failed", error: { code: "INVALID_STATE" } };
    const end = endOf(claim);
    expect(await store.finishJobs([end, endOf(other)])).toMatchObject([refused, WRITTEN]);
    expect(await store.finishJobs([end])).toMatchObject([refused]);
    expect(await store.jobs.get(claim.jobId)).toMatchObject({ agent: "other", status: "running" });
  });

  it("ends the claim and refuses a record that is not valid", async () => {
    const { node } = scene();
    const store = await node();
    const claim = await claimed(store);
    const end = endOf(claim, { ...recordOf(claim), attempt: 0.5 });
    const refused = { claim: "ended", record: "failed", error: { code: "INVALID_STATE" } };
    expect(await store.finishJobs([end])).toMatchObject([refused]);
    expect(await store.finishJobs([end])).toMatchObject([refused]);
    expect(await store.jobs.list()).toEqual([]);
  });

  it("fails alone when its change cannot be decided", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/y", "c/z"]);
    const [x, y, z] = (await store.claimDue(10)).claims as [Claim, Claim, Claim];
    const undecided = {
      ...endOf(y),
      change: (): never => {
        throw new RangeError("undecided");
      },
    };
    const [together, other] = await Promise.all([
      store.finishJobs([endOf(x), undecided]),
      store.finishJobs([endOf(z)]),
    ]);
    const failed = { claim: "failed", record: "failed", error: { message: "undecided" } };
    expect([together, other]).toMatchObject([[WRITTEN, failed], [WRITTEN]]);
    expect((await store.jobs.list()).map(({ agent }) => agent).toSorted()).toEqual(["a", "c"]);
    expect(await store.finishJobs([endOf(y)])).toEqual([WRITTEN]);
  });

  it("rejects and keeps all claims when a record cannot be read", async () => {
    const { node } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/y"]);
    const [x, y] = (await store.claimDue(10)).claims as [Claim, Claim];
    const unreadable: JobFinish = {
      claim: y,
      change: () => ({}),
      get record(): never {
        throw new RangeError("no record");
      },
    };
    await expect(store.finishJobs([endOf(x), unreadable])).rejects.toThrow("no record");
    expect(await store.jobs.list()).toEqual([]);
    expect(await endAll(store, [endOf(x)])).toEqual([true]);
  });
});

/** How every store starts and ends jobs: one call for the claim and the record, which may be repeated. */
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Claim,
  type EndedJobRecord,
  FakeClock,
  type JobFinish,
  type JobRecord,
  type ScheduleKey,
  type StateStore,
} from "../../src/index.js";
import { supersededRecord } from "../../src/state/job-log/superseded-record.js";
import { endedRecord, startedRecord } from "./records.js";

const START = "2026-03-01T00:00:00.000Z";
const NEXT = "2026-03-01T00:05:00.000Z";
const LATER = "2026-03-01T01:00:00.000Z";
const LEASE_MS = 30_000;

export interface JobFinishSubject {
  /** A store that is not open yet, on states that no other test sees. */
  readonly store: StateStore;
  /** From now on every write happens and its caller gets an error, until the returned function is called. */
  readonly loseReplies: () => () => void;
  /** From now on every write fails before it has an effect, until the returned function is called. */
  readonly refuseWrites: () => () => void;
}

export type MakeJobFinishSubject = (options: { clock: FakeClock; leaseMs: number }) => JobFinishSubject;

interface Scene extends JobFinishSubject {
  readonly clock: FakeClock;
  /** The claims of `a0/x`, `a1/x` and so on, whose slots are due at the start. */
  readonly claims: readonly Claim[];
  /** The first of them. */
  readonly claim: Claim;
}

const key = (index: number): ScheduleKey => ({ agent: `a${index}`, schedule: "x" });

function started({ agent, schedule, jobId }: Claim): JobRecord {
  return startedRecord(jobId, { agent, schedule, slot: START, started_at: START });
}

function ended({ agent, schedule, jobId }: Claim, fields: Partial<EndedJobRecord> = {}): EndedJobRecord {
  return endedRecord(jobId, {
    agent,
    schedule,
    slot: START,
    started_at: START,
    finished_at: "2026-03-01T00:00:01.000Z",
    duration_ms: 1000,
    ...fields,
  });
}

/** A job that succeeded, and counts how often its end was written. */
const finish = (claim: Claim): JobFinish => ({
  claim,
  change: ({ missed_count }) => ({ next_run_at: NEXT, missed_count: (missed_count ?? 0) + 1 }),
  record: ended(claim),
});
const DONE = { claim: "ended", record: "written" };

export function describeJobFinish(kind: string, make: MakeJobFinishSubject): void {
  async function sceneWith(count = 1): Promise<Scene> {
    const clock = new FakeClock(START);
    const subject = make({ clock, leaseMs: LEASE_MS });
    const { store } = subject;
    onTestFinished(() => store.close());
    await store.open();
    const schedules = Array.from({ length: count }, (_, index) => key(index));
    await store.updateAll(schedules, () => ({ next_run_at: START, next_run_source: "baseline-interval" }));
    await store.define({ schedules });
    const { claims } = await store.claimDue(count);
    const [claim] = claims;
    if (claim === undefined) throw new Error("Nothing was claimed.");
    return { ...subject, clock, claims, claim };
  }

  describe(`starting jobs of a ${kind}`, () => {
    it("opens their records, and leaves a record that is there as it is", async () => {
      const { store, claims } = await sceneWith(2);
      const [first, second] = claims as [Claim, Claim];
      await store.startJobs([started(first)]);
      await store.startJobs([{ ...started(first), prompt: "again" }, started(second)]);
      expect(await store.jobs.get(first.jobId)).toEqual(started(first));
      expect(await store.jobs.get(second.jobId)).toEqual(started(second));
      await store.startJobs([]);
    });

    it("opens no record of a job that has ended", async () => {
      const { store, claim } = await sceneWith();
      await store.finishJobs([finish(claim)]);
      await store.startJobs([started(claim)]);
      expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
    });

    it("rejects for a record that can never be written, and opens the rest", async () => {
      const { store, claims } = await sceneWith(2);
      const [bad, good] = claims as [Claim, Claim];
      const starting = store.startJobs([{ ...started(bad), attempt: 0 }, started(good)]);
      await expect(starting).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await store.jobs.get(bad.jobId)).toBeUndefined();
      expect(await store.jobs.get(good.jobId)).toEqual(started(good));
    });
  });

  describe(`finishing jobs of a ${kind}`, () => {
    it.each([true, false])("ends the claim and writes the record; opened before: %s", async (isOpened) => {
      const { store, claim, clock } = await sceneWith();
      if (isOpened) await store.startJobs([started(claim)]);
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
      const state = await store.read(claim);
      expect(state).toMatchObject({ status: "idle", next_run_at: NEXT, missed_count: 1 });
      expect(state.claim ?? null).toBeNull();
      expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
      await clock.advance("5m");
      expect((await store.claimDue(10)).claims).toMatchObject([{ slot: new Date(NEXT) }]);
    });

    it("does nothing where nothing is given", async () => {
      const { store } = await sceneWith();
      expect(await store.finishJobs([])).toEqual([]);
    });

    it("keeps all of a record: prompt, work item, response and exit code", async () => {
      const { store, claim } = await sceneWith();
      const record = ended(claim, {
        status: "failed",
        prompt: "Write.",
        work_item: { number: 7 },
        error: "no",
        summary: "short",
        exit_code: 3,
        response_body: { a: [1] },
        attempt: 2,
      });
      expect(await store.finishJobs([{ claim, change: {}, record }])).toEqual([DONE]);
      expect(await store.jobs.get(claim.jobId)).toEqual(record);
    });

    it("returns the same when it is repeated, and changes nothing", async () => {
      const { store, claim } = await sceneWith();
      await store.finishJobs([finish(claim)]);
      const state = await store.read(claim);
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
      expect(await store.finishJobs([finish(claim), finish(claim)])).toEqual([DONE, DONE]);
      expect(await store.read(claim)).toEqual(state);
      expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
    });

    it("writes a job once that is finished twice at the same time", async () => {
      const { store, claim } = await sceneWith();
      const calls = [store.finishJobs([finish(claim), finish(claim)]), store.finishJobs([finish(claim)])];
      expect(await Promise.all(calls)).toEqual([[DONE, DONE], [DONE]]);
      expect(await store.read(claim)).toMatchObject({ missed_count: 1 });
    });

    it("returns the same after the schedule was planned, claimed and finished anew", async () => {
      const { store, claim, clock } = await sceneWith();
      await store.finishJobs([finish(claim)]);
      await store.update(claim, { next_run_at: START });
      const [second] = (await store.claimDue(1)).claims as [Claim];
      const claimed = await store.read(claim);
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
      expect(await store.read(claim)).toEqual(claimed);
      await clock.advance("1s");
      await store.finishJobs([finish(second)]);
      const state = await store.read(claim);
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
      expect(await store.read(claim)).toEqual(state);
      expect(await store.jobs.list()).toHaveLength(2);
    });

    it("leaves the state as it is when another claim has taken the slot, and records that", async () => {
      const { store, claim, clock } = await sceneWith();
      await clock.advance(LEASE_MS);
      const [current] = (await store.claimDue(1)).claims as [Claim];
      const late = { claim: "superseded", record: "written" };
      expect(await store.finishJobs([finish(claim)])).toEqual([late]);
      expect(await store.read(claim)).toEqual(current.state);
      expect(await store.jobs.get(claim.jobId)).toEqual(supersededRecord(ended(claim)));
      expect(await store.finishJobs([finish(claim)])).toEqual([late]);
      expect(await store.finishJobs([finish(current)])).toEqual([DONE]);
      expect(await store.jobs.get(current.jobId)).toEqual(ended(current));
    });

    it("says superseded also of a job whose record was open when its lease ended", async () => {
      const { store, claim, clock } = await sceneWith();
      await store.startJobs([started(claim)]);
      await clock.advance(LEASE_MS);
      const [current] = (await store.claimDue(1)).claims as [Claim];
      const late = { claim: "superseded", record: "written" };
      expect(await store.finishJobs([finish(claim)])).toEqual([late]);
      expect(await store.jobs.get(claim.jobId)).toMatchObject({ status: "interrupted" });
      expect(await store.read(claim)).toEqual(current.state);
    });

    it("changes nothing under a token that was never given", async () => {
      const { store, claim } = await sceneWith();
      const stranger = { ...claim, token: "another", jobId: "job-2026-03-01-zzzzzz" };
      const results = await store.finishJobs([{ claim: stranger, change: {} }]);
      expect(results).toEqual([{ claim: "superseded", record: "none" }]);
      expect(await store.read(claim)).toEqual(claim.state);
    });

    it("fails for one decision that throws, and finishes the rest", async () => {
      const { store, claims } = await sceneWith(3);
      const [first, second, third] = claims as [Claim, Claim, Claim];
      const error = new RangeError("undecided");
      const undecided = (): never => {
        throw error;
      };
      const ends = [finish(first), { ...finish(second), change: undecided }, finish(third)];
      const results = await store.finishJobs(ends);
      expect(results).toMatchObject([DONE, { claim: "failed", error }, DONE]);
      expect(await store.read(second)).toEqual(second.state);
      expect(await store.renew(second)).toBe(true);
      expect(await store.finishJobs([finish(second)])).toEqual([DONE]);
      expect(await store.read(second)).toMatchObject({ status: "idle", missed_count: 1 });
      expect(await store.jobs.get(second.jobId)).toEqual(ended(second));
    });

    it("fails for one invalid patch, and finishes the rest", async () => {
      const { store, claims } = await sceneWith(2);
      const [first, second] = claims as [Claim, Claim];
      const ends = [{ ...finish(first), change: { next_run_at: "soon" } }, finish(second)];
      expect(await store.finishJobs(ends)).toMatchObject([
        { claim: "failed", error: { code: "INVALID_STATE" } },
        DONE,
      ]);
      expect(await store.read(first)).toEqual(first.state);
      expect(await store.renew(first)).toBe(true);
      expect(await store.finishJobs([finish(first)])).toEqual([DONE]);
    });

    it("fails for one record that can never be written, and ends its claim too", async () => {
      const { store, claims } = await sceneWith(3);
      const [first, second, third] = claims as [Claim, Claim, Claim];
      const bad = ended(second, { response_body: 1n });
      const ends = [finish(first), { ...finish(second), record: bad }, finish(third)];
      expect(await store.finishJobs(ends)).toMatchObject([
        DONE,
        { claim: "ended", record: "failed", error: { code: "INVALID_STATE" } },
        DONE,
      ]);
      for (const claim of claims)
        expect(await store.read(claim)).toMatchObject({ status: "idle", missed_count: 1 });
      expect(await store.jobs.get(second.jobId)).toBeUndefined();
      for (const claim of [first, third]) expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
      // Repeated, it is not superseded.
      expect(await store.finishJobs(ends.slice(1, 2))).toMatchObject([{ claim: "ended", record: "failed" }]);
      expect(await store.read(second)).toMatchObject({ missed_count: 1 });
    });

    it("gives the slot back with `keepsSlot`, and ignores the change", async () => {
      const { store, claims } = await sceneWith(2);
      const [bare, recorded] = claims as [Claim, Claim];
      const change = { failure_count: 9 };
      const ends: JobFinish[] = [
        { claim: bare, change, keepsSlot: true },
        { claim: recorded, change, keepsSlot: true, record: ended(recorded, { status: "cancelled" }) },
      ];
      expect(await store.finishJobs(ends)).toEqual([{ claim: "ended", record: "none" }, DONE]);
      for (const claim of claims) {
        const state = await store.read(claim);
        expect(state).toMatchObject({ status: "idle", next_run_at: START });
        expect(state.failure_count ?? null).toBeNull();
      }
      expect(await store.jobs.get(recorded.jobId)).toMatchObject({ status: "cancelled" });
      expect((await store.claimDue(10)).claims.map(({ slot }) => slot)).toEqual([
        new Date(START),
        new Date(START),
      ]);
    });

    it("writes no record where none is given", async () => {
      const { store, claim } = await sceneWith();
      const change = { next_run_at: LATER };
      expect(await store.finishJobs([{ claim, change }])).toEqual([{ claim: "ended", record: "none" }]);
      expect(await store.read(claim)).toMatchObject({ status: "idle", next_run_at: LATER });
      expect(await store.jobs.list()).toEqual([]);
    });

    it("uses the finish as it was given, whatever its caller does to it later", async () => {
      const { store, claim } = await sceneWith();
      const change = { next_run_at: NEXT, failure_count: 1 };
      const finishing = store.finishJobs([{ claim, change, record: ended(claim) }]);
      change.failure_count = 7;
      await finishing;
      expect(await store.read(claim)).toMatchObject({ failure_count: 1 });
    });

    it("finds what it wrote when the reply was lost, and writes it once", async () => {
      const { store, claim, loseReplies } = await sceneWith();
      const restore = loseReplies();
      await store.finishJobs([finish(claim)]).catch(() => {});
      restore();
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
      expect(await store.read(claim)).toMatchObject({ status: "idle", next_run_at: NEXT, missed_count: 1 });
      expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
      expect(await store.finishJobs([finish(claim)])).toEqual([DONE]);
    });

    it("finds what it wrote without a record when the reply was lost", async () => {
      const { store, claim, loseReplies } = await sceneWith();
      const { record: _, ...bare } = finish(claim);
      const restore = loseReplies();
      await store.finishJobs([bare]).catch(() => {});
      restore();
      await store.finishJobs([bare]);
      expect(await store.read(claim)).toMatchObject({ status: "idle", next_run_at: NEXT, missed_count: 1 });
    });

    it("rejects when nothing can be written, and works when it is repeated", async () => {
      const { store, claims, refuseWrites } = await sceneWith(2);
      await store.startJobs(claims.map(started));
      const restore = refuseWrites();
      await expect(store.finishJobs(claims.map(finish))).rejects.toThrow(Error);
      restore();
      for (const claim of claims) {
        expect(await store.read(claim)).toEqual(claim.state);
        expect(await store.renew(claim)).toBe(true);
        expect(await store.jobs.get(claim.jobId)).toEqual(started(claim));
      }
      expect(await store.finishJobs(claims.map(finish))).toEqual([DONE, DONE]);
      for (const claim of claims) expect(await store.jobs.get(claim.jobId)).toEqual(ended(claim));
    });

    it("needs an open store", async () => {
      const { store, claim } = await sceneWith();
      await store.close();
      await expect(store.finishJobs([finish(claim)])).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });
  });
}

/** What a store with one owner needs of its job log: many records at a time, each failing alone. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { seededRandom } from "../../src/random.js";
import type { OwnedJobLog } from "../../src/state/owner/owned-job-log.js";
import type { JobLogSetup } from "./job-log-contract.js";
import { endedRecord, startedRecord } from "./records.js";

export interface OpenedOwnedJobLog extends AsyncDisposable {
  readonly log: OwnedJobLog;
}

const id = (suffix: string, day = "2026-11-15"): string => `job-${day}-${suffix}`;
const A = id("aaaaaa");
const B = id("bbbbbb");
const C = id("cccccc");
const OK = [undefined, undefined];

export function testJobRecords(name: string, open: (setup: JobLogSetup) => Promise<OpenedOwnedJobLog>): void {
  const opened = (): Promise<OpenedOwnedJobLog> =>
    open({ clock: new FakeClock("2026-11-15T09:00:00Z"), random: seededRandom(1), maxOutputBytes: 1000 });
  const invalid = { error: expect.objectContaining({ code: "INVALID_STATE" }) as unknown };

  describe(`${name}: records that are written together`, () => {
    it("are as their caller gave them", async () => {
      await using subject = await opened();
      const a = startedRecord(A, { prompt: "Write.", work_item: { number: 7 }, attempt: 2 });
      expect(await subject.log.openRecords([a, startedRecord(B)])).toEqual(OK);
      expect(await subject.log.get(A)).toEqual(a);
      const end = { status: "failed", error: "no", exit_code: 3, response_body: { a: 1 } } as const;
      const [endedA, endedB] = [endedRecord(A, { ...a, ...end, finished_at: a.started_at }), endedRecord(B)];
      expect(await subject.log.closeRecords([endedA, endedB])).toEqual(OK);
      expect(await subject.log.get(A)).toEqual(endedA);
      expect(await subject.log.get(B)).toEqual(endedB);
    });

    it("may be none", async () => {
      await using subject = await opened();
      expect(await subject.log.openRecords([])).toEqual([]);
      expect(await subject.log.closeRecords([])).toEqual([]);
      expect(await subject.log.list()).toEqual([]);
    });

    it("stay as they were first opened", async () => {
      await using subject = await opened();
      await subject.log.start({ id: A, agent: "writer", trigger: "manual", prompt: "first" });
      const jobs = [startedRecord(B, { prompt: "b" }), startedRecord(A), startedRecord(B)];
      expect(await subject.log.openRecords(jobs)).toEqual([undefined, undefined, undefined]);
      expect((await subject.log.list()).map(({ prompt }) => prompt)).toEqual(["b", "first"]);
    });

    it("stay as they were first closed", async () => {
      await using subject = await opened();
      await subject.log.openRecords([startedRecord(A), startedRecord(B)]);
      await subject.log.finish(A, { status: "cancelled" });
      const ends = [A, B, B].map((job, index) =>
        endedRecord(job, { status: index === 2 ? "timeout" : "failed" }),
      );
      expect(await subject.log.closeRecords(ends)).toEqual([undefined, undefined, undefined]);
      expect((await subject.log.get(A))?.status).toBe("cancelled");
      expect((await subject.log.get(B))?.status).toBe("failed");
    });

    it("are closed also where they were never opened", async () => {
      await using subject = await opened();
      expect(await subject.log.closeRecords([endedRecord(A)])).toEqual([undefined]);
      expect(await subject.log.get(A)).toEqual(endedRecord(A));
      expect(await subject.log.openRecords([startedRecord(A)])).toEqual([undefined]);
      expect(await subject.log.get(A)).toEqual(endedRecord(A));
    });

    it("belong each to the day in its id", async () => {
      await using subject = await opened();
      const later = id("aaaaaa", "2026-11-16");
      const started_at = "2026-11-16T00:00:00.000Z";
      await subject.log.openRecords([startedRecord(A), startedRecord(later, { started_at })]);
      const end = endedRecord(later, { started_at, finished_at: started_at });
      expect(await subject.log.closeRecords([end, endedRecord(B)])).toEqual(OK);
      expect((await subject.log.list({ status: "running" })).map((job) => job.id)).toEqual([A]);
      expect((await subject.log.list())[0]?.id).toBe(later);
    });

    it("fail alone where they could not be read again", async () => {
      await using subject = await opened();
      expect(
        await subject.log.openRecords([
          startedRecord(A, { attempt: 0 }),
          startedRecord(B),
          startedRecord("job-1"),
        ]),
      ).toEqual([invalid, undefined, invalid]);
      expect((await subject.log.list()).map((job) => job.id)).toEqual([B]);
      const bad = endedRecord(B, { response_body: 1n });
      expect(await subject.log.closeRecords([bad, endedRecord(C)])).toEqual([invalid, undefined]);
      expect((await subject.log.get(B))?.status).toBe("running");
      expect(await subject.log.closeRecords([endedRecord(B)])).toEqual([undefined]);
    });

    it("are found by their ids when they are closed", async () => {
      await using subject = await opened();
      await subject.log.openRecords([startedRecord(A), startedRecord(B)]);
      await subject.log.closeRecords([endedRecord(B)]);
      const other = id("aaaaaa", "2026-11-14");
      expect(await subject.log.closedRecords([A, B, C, other])).toEqual(new Map([[B, endedRecord(B)]]));
      expect(await subject.log.unrecordedJobs([A, B, C])).toEqual(new Set([A, C]));
      expect(await subject.log.closedRecords([])).toEqual(new Map());
    });
  });
}

import { join } from "node:path";
import { FileJobLog } from "../../../../src/state/file/jobs/file-job-log.js";
import { type JobLogSetup, testJobLog } from "../../../contract/job-log-contract.js";
import { type OpenedOwnedJobLog, testJobRecords } from "../../../contract/job-records-contract.js";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { endedRecord } from "../../../contract/records.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const opened = async (setup: Partial<JobLogSetup> & { maxJobs?: number }): Promise<OpenedOwnedJobLog> => {
  const directory = temporaryDirectory();
  const log = new FileJobLog({ directory: join(directory.path, "state", "jobs"), ...setup });
  return {
    log,
    async [Symbol.asyncDispose]() {
      await log.close();
      directory[Symbol.dispose]();
    },
  };
};
testJobLog("FileJobLog", opened);
testJobRecords("FileJobLog", opened);

describe("a FileJobLog that removes old days", () => {
  const OLD = "job-2026-11-14-aaaaaa";
  const NEW = "job-2026-11-15-bbbbbb";
  const clock = new FakeClock("2026-11-15T09:00:00Z");

  it("does not miss a record of a day that it may have removed", async () => {
    await using subject = await opened({ clock, maxJobs: 1 });
    await subject.log.closeRecords([endedRecord(NEW)]);
    expect(await subject.log.unrecordedJobs([OLD])).toEqual(new Set());
  });

  it("misses the record of an old day while no limit is reached", async () => {
    await using subject = await opened({ clock });
    await subject.log.closeRecords([endedRecord(NEW)]);
    expect(await subject.log.unrecordedJobs([OLD, NEW])).toEqual(new Set([OLD]));
    await clock.advance("60d");
    expect(await subject.log.unrecordedJobs([OLD])).toEqual(new Set());
  });
});

import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { MemoryJobLog } from "../../../src/state/memory/memory-job-log.js";
import { type JobLogSetup, testJobLog } from "../../contract/job-log-contract.js";
import { type OpenedOwnedJobLog, testJobRecords } from "../../contract/job-records-contract.js";
import { endedRecord } from "../../contract/records.js";

const opened = async (setup: JobLogSetup): Promise<OpenedOwnedJobLog> => ({
  log: new MemoryJobLog(setup),
  [Symbol.asyncDispose]: async () => {},
});
testJobLog("MemoryJobLog", opened);
testJobRecords("MemoryJobLog", opened);

describe("a MemoryJobLog at its limit", () => {
  it("forgets the oldest jobs that have ended, with their outputs, and none that runs", async () => {
    const log = new MemoryJobLog({ clock: new FakeClock(), maxJobs: 3 });
    const running = await log.start({ agent: "a", trigger: "manual" });
    const ended = await log.start({ agent: "a", trigger: "manual" });
    await log.openOutput(ended.id);
    await log.finish(ended.id, { status: "completed" });
    const more = [];
    for (let job = 0; job < 2; job++) more.unshift(await log.start({ agent: "a", trigger: "manual" }));
    expect(await log.get(ended.id)).toBeUndefined();
    expect(await log.readOutput(ended.id)).toBeUndefined();
    expect(await log.list()).toEqual([...more, running]);
  });

  it("forgets the oldest ended jobs of a busy schedule, and none of the others", async () => {
    const log = new MemoryJobLog({ clock: new FakeClock(), keep: 2 });
    const run = async (schedule: string): Promise<string> => {
      const { id } = await log.start({ agent: "a", schedule, trigger: "interval" });
      await log.finish(id, { status: "completed" });
      return id;
    };
    const quiet = await run("quiet");
    const busy = [];
    for (let count = 0; count < 5; count++) busy.unshift(await run("busy"));
    expect((await log.list()).map(({ id }) => id)).toEqual([...busy.slice(0, 2), quiet]);
    expect(await log.readOutput(busy[4] ?? "")).toBeUndefined();
  });

  it.each([0, -1, 1.5, NaN])("refuses to keep %d jobs of a schedule", (keep) => {
    expect(() => new MemoryJobLog({ keep })).toThrow(
      `Invalid keep ${keep}: expected a whole number from 1, or Infinity for no limit.`,
    );
  });

  it("does not miss the record of a job that it may have forgotten", async () => {
    const log = new MemoryJobLog({ clock: new FakeClock(), maxJobs: 1 });
    const [first, second, third] = ["aaaaaa", "bbbbbb", "cccccc"].map((suffix) => `job-2026-11-15-${suffix}`);
    await log.closeRecords([endedRecord(first as string)]);
    expect(await log.unrecordedJobs([second as string])).toEqual(new Set([second]));
    await log.closeRecords([endedRecord(third as string)]);
    expect(await log.unrecordedJobs([first as string])).toEqual(new Set());
  });
});

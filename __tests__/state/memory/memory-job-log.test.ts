import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { MemoryJobLog } from "../../../src/state/memory/memory-job-log.js";
import { testJobLog } from "../../contract/job-log-contract.js";

testJobLog("MemoryJobLog", async (setup) => ({
  log: new MemoryJobLog(setup),
  [Symbol.asyncDispose]: async () => {},
}));

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
});

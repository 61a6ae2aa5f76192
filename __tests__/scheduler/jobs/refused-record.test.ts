import { describe, expect, it } from "vitest";
import {
  FakeClock,
  type FinishResult,
  type JobFinish,
  MemoryStore,
  Scheduler,
  StateError,
} from "../../../src/index.js";

/** A store whose log has no place for the jobs of one agent, as when their ids are taken. */
class RefusingStore extends MemoryStore {
  override async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    const error = new StateError("The job id is taken.", { code: "INVALID_STATE" });
    const results = await super.finishJobs(ends);
    return results.map((result, index): FinishResult =>
      ends[index]?.claim.agent === "unlucky" ? { claim: result.claim, record: "failed", error } : result,
    );
  }
}

describe("a job that the log can never record", () => {
  it("ends as any other job, and is reported once", async () => {
    const clock = new FakeClock();
    const errors: string[] = [];
    const logger = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
    const scheduler = new Scheduler({ store: new RefusingStore(), clock, logger });
    const finished: string[] = [];
    scheduler.on("job:finished", ({ job }) => void finished.push(job.agent));
    const schedules = { often: { type: "interval", interval: "1m" } } as const;
    await scheduler.start([
      { name: "unlucky", schedules, run() {} },
      { name: "lucky", schedules, run() {} },
    ]);
    await clock.advance("10s");
    expect(finished.toSorted()).toEqual(["lucky", "unlucky"]);
    expect(errors).toEqual(["Could not record a job of unlucky/often: The job id is taken."]);
    await scheduler.stop();
  });
});

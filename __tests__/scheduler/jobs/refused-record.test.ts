import { describe, expect, it } from "vitest";
import { FakeClock, MemoryStore, Scheduler, StateError } from "../../../src/index.js";

/** A store whose log has no place for the jobs of one agent, as when their ids are taken. */
function storeRefusing(agent: string): MemoryStore {
  const store = new MemoryStore();
  const startAll = store.jobs.startAll.bind(store.jobs);
  store.jobs.startAll = async (jobs) => {
    if (jobs.some((job) => job.agent === agent))
      throw new StateError("The job id is taken.", { code: "INVALID_STATE" });
    return startAll(jobs);
  };
  return store;
}

describe("a job that the log can never record", () => {
  it("ends as others do, and is said once to have no record", async () => {
    const clock = new FakeClock();
    const errors: string[] = [];
    const logger = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
    const scheduler = new Scheduler({ store: storeRefusing("unlucky"), clock, logger });
    const finished: string[] = [];
    scheduler.on("job:finished", ({ job }) => void finished.push(job.agent));
    const schedules = { often: { type: "interval", interval: "1m" } } as const;
    await scheduler.start([
      { name: "unlucky", schedules, run() {} },
      { name: "lucky", schedules, run() {} },
    ]);
    await clock.advance("10s");
    expect(finished.toSorted()).toEqual(["lucky", "unlucky"]);
    expect(errors).toEqual(["Could not record the start of a job of unlucky/often: The job id is taken."]);
    await scheduler.stop();
  });
});

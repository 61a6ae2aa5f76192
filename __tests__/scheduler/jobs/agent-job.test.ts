import { describe, expect, it } from "vitest";
import { FakeClock, type Job, MemoryStore, Scheduler } from "../../../src/index.js";

const quiet = { info() {}, warn() {}, error() {} };
const schedules = { hourly: { type: "interval", interval: "1h" } } as const;

describe("what a job is given", () => {
  it("has a log that works without its `this`", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore();
    const scheduler = new Scheduler({ store, clock, logger: quiet });
    let jobId = "";
    const run = ({ log, ...job }: Job): void => {
      log("one");
      log("two");
      ({ jobId } = job);
    };
    await scheduler.start([{ name: "writer", schedules, run }]);
    await clock.advance("1s");
    expect(await store.jobs.readOutput(jobId)).toBe("one\ntwo\n");
    await scheduler.stop();
  });

  it("has one signal, which fires when the job is cancelled", async () => {
    const clock = new FakeClock();
    const scheduler = new Scheduler({ store: new MemoryStore(), clock, logger: quiet });
    const jobs: Job[] = [];
    const run = async (job: Job): Promise<void> => {
      jobs.push(job);
      await clock.sleep("1h", job.signal);
    };
    await scheduler.start([{ name: "sleeper", schedules, run }]);
    await clock.advance("1s");
    const [job] = jobs;
    expect(scheduler.cancel(job?.jobId ?? "")).toBe(true);
    expect(job?.signal.aborted).toBe(true);
    await clock.advance("1s");
    expect(scheduler.getTotalRunningJobCount()).toBe(0);
    await scheduler.stop();
  });

  it("has a signal that has fired when it is first read after the job was cancelled", async () => {
    const clock = new FakeClock();
    const scheduler = new Scheduler({ store: new MemoryStore(), clock, logger: quiet });
    const seen: boolean[] = [];
    const run = async (job: Job): Promise<void> => {
      await clock.sleep("1m");
      seen.push(job.signal.aborted);
    };
    const jobIds: string[] = [];
    scheduler.on("job:started", ({ job }) => void jobIds.push(job.id));
    await scheduler.start([{ name: "sleeper", schedules, run }]);
    await clock.advance("1s");
    scheduler.cancel(jobIds[0] ?? "");
    await clock.advance("1m");
    expect(seen).toEqual([true]);
    await scheduler.stop();
  });
});

describe("what is recorded of a job", () => {
  class SteppingClock extends FakeClock {
    passedMs = 0;
    override monotonic(): number {
      return super.monotonic() + this.passedMs;
    }
  }

  it("has the duration of a job that ends at once, without the jobs that started with it", async () => {
    const clock = new SteppingClock();
    const store = new MemoryStore();
    const scheduler = new Scheduler({ store, clock, logger: quiet });
    const taking = (ms: number) => (): void => {
      clock.passedMs += ms;
    };
    await scheduler.start([
      { name: "a", schedules, run: taking(5) },
      { name: "b", schedules, run: taking(70) },
      { name: "c", schedules, run: taking(0) },
    ]);
    await clock.advance("1s");
    const jobs = await store.jobs.list();
    expect(new Map(jobs.map(({ agent, duration_ms }) => [agent, duration_ms]))).toEqual(
      new Map([
        ["a", 5],
        ["b", 70],
        ["c", 0],
      ]),
    );
    await scheduler.stop();
  });
});

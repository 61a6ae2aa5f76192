import { describe, expect, it } from "vitest";
import {
  type Agent,
  type ExecuteOptions,
  type ExecutorResult,
  FakeClock,
  type Job,
  MemoryStore,
  RuntimeRegistry,
  Scheduler,
  type SchedulerOptions,
  type TriggerInfo,
} from "../../../src/index.js";

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

  const cronAgent = (more: Partial<Agent> = {}): Agent => ({
    name: "reporter",
    schedules: { nightly: { type: "cron", expression: "0 3 * * *", timezone: "UTC" } },
    ...more,
  });
  const SLOT = "2026-03-02T03:00:00.000Z";

  /** What jobs saw until a minute after the slot. */
  async function untilSlot(more: Partial<Agent>, options: SchedulerOptions = {}): Promise<void> {
    const clock = new FakeClock("2026-03-01T12:00:00.400Z");
    const scheduler = new Scheduler({ store: new MemoryStore(), clock, logger: quiet, ...options });
    await scheduler.start([cronAgent(more)]);
    await clock.advanceTo("2026-03-02T03:01:00Z");
    await scheduler.stop();
  }

  it("has its slot as a Date and its key, not the time of its start", async () => {
    const seen: unknown[] = [];
    await untilSlot({ run: ({ slot, key, attempt }: Job) => void seen.push(slot, key, attempt) });
    expect(seen).toEqual([new Date(SLOT), `reporter/nightly@${SLOT}`, 1]);
  });

  it("keeps its slot for itself: a job that changes the Date changes nothing else", async () => {
    const seen: unknown[] = [];
    await untilSlot({
      run: (job: Job) => {
        job.slot?.setTime(0);
        seen.push(job.slot, job.key);
      },
    });
    expect(seen).toEqual([new Date(SLOT), `reporter/nightly@${SLOT}`]);
  });

  it("has the time of the request as the slot of a manual job, which its record has too", async () => {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    const store = new MemoryStore();
    const scheduler = new Scheduler({ store, clock, logger: quiet });
    const seen: unknown[] = [];
    await scheduler.start([cronAgent({ run: ({ slot, key }: Job) => void seen.push(slot, key) })]);
    await clock.advance("5m");
    await scheduler.trigger("reporter", "nightly");
    await clock.advance("1s");
    const [record] = await store.jobs.list();
    expect(seen).toEqual([new Date(record?.slot ?? 0), `reporter/nightly@${record?.slot}`]);
    await scheduler.stop();
  });

  it.each<[string, SchedulerOptions]>([
    [
      "onTrigger",
      {
        onTrigger: async () => {
          throw new Error("no luck", { cause: new Error("no network") });
        },
      },
    ],
    [
      "a jobExecutor",
      {
        jobExecutor: {
          execute: () => {
            throw new Error("no luck", { cause: new Error("no network") });
          },
        },
      },
    ],
  ])("has the stack and the causes of what %s throws in its output", async (_, options) => {
    const store = new MemoryStore();
    await untilSlot({}, { ...options, store });
    const [record] = await store.jobs.list();
    expect(record).toMatchObject({ status: "failed", error: "no luck" });
    const output = await store.jobs.readOutput(record?.id ?? "");
    expect(output).toMatch(/^Error: no luck\n {4}at [^]*\nCaused by: Error: no network\n {4}at [^]*\n$/);
  });

  it.each<[string, () => Promise<never>]>([
    ["cannot be opened", () => Promise.reject(new Error("away"))],
    ["hangs", () => new Promise(() => {})],
  ])("ends when onTrigger throws and its output %s", async (_, openOutput) => {
    const store = new MemoryStore();
    store.jobs.openOutput = openOutput;
    await untilSlot({}, { store, onTrigger: () => Promise.reject(new Error("no luck")) });
    expect(await store.jobs.list()).toMatchObject([{ status: "failed", error: "no luck" }]);
  });

  it("has slot and key in every runtime, an executor and onTrigger", async () => {
    const seen: unknown[] = [];
    const runtimes = new RuntimeRegistry();
    runtimes.register("own", () => ({ run: ({ slot, key }) => void seen.push(slot, key) }));
    await untilSlot({ runtime: { type: "own" } }, { runtimes });
    const execute = ({ slot, key }: ExecuteOptions): ExecutorResult => {
      seen.push(slot, key);
      return { success: true };
    };
    await untilSlot({}, { jobExecutor: { execute } });
    const onTrigger = async ({ slot, key }: TriggerInfo): Promise<void> => void seen.push(slot, key);
    await untilSlot({}, { onTrigger });
    expect(seen).toEqual(
      Array.from({ length: 3 }, () => [new Date(SLOT), `reporter/nightly@${SLOT}`]).flat(),
    );
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

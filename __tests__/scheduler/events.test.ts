/** What a scheduler tells its listeners and its log, and that neither can hurt it. */
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import {
  type Agent,
  FakeClock,
  type JobRecord,
  type Logger,
  MemoryStore,
  type PlanSource,
  Scheduler,
  type SchedulerOptions,
  type SchedulerEvent,
  type TriggerInfo,
} from "../../src/index.js";
import { agent, cron, every, gatedScene, HOURLY, type SceneOptions, START } from "./scene.js";

/** What nobody caught, while the test runs. */
function uncaught(): unknown[] {
  const caught: unknown[] = [];
  const keep = (reason: unknown): void => {
    caught.push(reason);
  };
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", keep);
  onTestFinished(() => {
    process.off("unhandledRejection", keep);
    for (const other of others) process.on("unhandledRejection", other);
  });
  return caught;
}

const EVENTS: readonly SchedulerEvent[] = [
  "scheduler:started",
  "scheduler:stopped",
  "scheduler:error",
  "job:started",
  "job:finished",
  "schedule:planned",
  "schedule:skipped",
  "schedule:missed",
];

describe("events", () => {
  it("report a run from its plan to its end, in order", async () => {
    const { scheduler, clock } = gatedScene();
    const told: string[] = [];
    for (const event of EVENTS) scheduler.on(event, () => told.push(`${clock.time()} ${event}`));
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("5s") })]);
    await clock.advance("10s");
    await scheduler.stop();
    expect(told).toEqual([
      "00:00 schedule:planned",
      "00:00 scheduler:started",
      "00:00 job:started",
      "00:00:05 schedule:planned",
      "00:00:05 job:finished",
      "00:00:10 scheduler:stopped",
    ]);
  });

  it("have the job's record, at its start and at its end", async () => {
    const { scheduler, clock } = gatedScene();
    const jobs: JobRecord[] = [];
    scheduler.on("job:started", ({ job }) => jobs.push(job));
    scheduler.on("job:finished", ({ job }) => jobs.push(job));
    const run = async (): Promise<never> => {
      await clock.sleep("5s");
      throw new Error("no luck");
    };
    await scheduler.start([agent("a", HOURLY, { run })]);
    await clock.advance("5s");
    expect(jobs).toMatchObject([
      { agent: "a", schedule: "work", status: "running", slot: START, source: "first-run", attempt: 1 },
      { agent: "a", schedule: "work", status: "failed", error: "no luck", duration_ms: 5_000 },
    ]);
    expect(jobs[0]?.id).toBe(jobs[1]?.id);
  });

  it("report how many jobs a stop has left running", async () => {
    const { scheduler, clock } = gatedScene();
    const counts: number[] = [];
    scheduler.on("scheduler:stopped", ({ runningJobCount }) => counts.push(runningJobCount));
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("5s") })]);
    await clock.advance("1s");
    await scheduler.stop({ waitForJobs: false });
    expect(counts).toEqual([1]);
  });

  it("are not sent to a listener after off()", async () => {
    const { scheduler } = gatedScene();
    let count = 0;
    const listener = (): void => {
      count++;
    };
    scheduler.on("scheduler:started", listener).off("scheduler:started", listener);
    await scheduler.start([]);
    expect(count).toBe(0);
  });

  it("reach all listeners although one throws", async () => {
    const { scheduler, lines } = gatedScene();
    const told: string[] = [];
    scheduler.on("scheduler:started", () => {
      throw new Error("deaf");
    });
    scheduler.on("scheduler:started", () => told.push("second"));
    await scheduler.start([]);
    expect(told).toEqual(["second"]);
    expect(lines).toContain("error: A listener to scheduler:started failed: deaf");
  });

  it("name the agent and schedule that an error is about", async () => {
    const { scheduler } = gatedScene({ onInvalid: "skip" });
    const told: unknown[] = [];
    scheduler.on("scheduler:error", (details) => told.push(details));
    await scheduler.start([agent("a", { work: every("never") })]);
    expect(told).toMatchObject([
      {
        agent: "a",
        schedule: "work",
        error: { name: "ScheduleTriggerError", agent: "a", schedule: "work", cause: { interval: "never" } },
      },
    ]);
  });
});

const fail = (): never => {
  throw new Error("broken");
};
const reject: () => unknown = async () => fail();

const HARM: readonly { name: string; options: SceneOptions; listener?: () => unknown }[] = [
  { name: "a listener that throws", options: {}, listener: fail },
  { name: "a listener that rejects", options: {}, listener: reject },
  { name: "an onTick that throws", options: { onTick: fail } },
  { name: "an onTick that rejects", options: { onTick: reject } },
  { name: "an onTick that never ends", options: { onTick: () => new Promise(() => {}) } },
  { name: "a logger that throws", options: { logger: { info: fail, warn: fail, error: fail, debug: fail } } },
  {
    name: "a logger that rejects",
    options: { logger: { info: reject, warn: reject, error: reject, debug: reject } },
  },
  {
    name: "a logger that throws, told of an onTick that throws",
    options: { onTick: fail, logger: { info: fail, warn: fail, error: fail } },
  },
];

describe.each(HARM)("$name", ({ options, listener }) => {
  it("harms nothing", async () => {
    const lost = uncaught();
    const { scheduler, clock, starts, store } = gatedScene({ ...options, onInvalid: "skip" });
    if (listener !== undefined) for (const event of EVENTS) scheduler.on(event, listener);
    const run: Agent["run"] = ({ record }) => {
      if (record.source === "first-run") throw new Error("first time");
    };
    await scheduler.start([
      agent("a", { work: every("10s") }, { run }),
      agent("bad", { work: every("never") }),
    ]);
    await clock.advance("35s");
    expect(starts).toEqual(["a 00:00", "a 00:00:20", "a 00:00:30"]);
    await scheduler.stop();
    expect([clock.sleeping, scheduler.getStatus(), store.listenerCount]).toEqual([0, "stopped", 0]);
    expect(lost).toEqual([]);
  });
});

describe("onTick", () => {
  it("is called after each pass with the state", async () => {
    const ticks: string[] = [];
    const { scheduler, clock } = gatedScene({
      onTick: ({ status, checkCount, triggerCount, lastCheckAt }) =>
        ticks.push([status, checkCount, triggerCount, lastCheckAt?.toISOString().slice(17, 23)].join(" ")),
    });
    await scheduler.start([agent("a", { work: cron("2 * * * * *") })]);
    await clock.advance(1_499);
    expect(ticks).toEqual(["running 1 0 00.000", "running 2 0 01.000"]);
    await clock.advance(501);
    expect(ticks.slice(2, 3)).toEqual(["running 3 1 02.000"]);
  });

  it("that fails is reported as an error each time", async () => {
    const { scheduler, troubles } = gatedScene({ onTick: fail });
    await scheduler.start([]);
    await scheduler.stop();
    expect(troubles).toEqual(["broken"]);
  });
});

describe("onTrigger", () => {
  it.each([
    ["throws", fail],
    ["rejects", reject],
  ])("that %s has failed its job, and no other", async (_, onTrigger) => {
    const { scheduler, clock, store, starts } = gatedScene({
      onTrigger: ({ agent: { name } }) => (name === "bad" ? onTrigger() : undefined),
    });
    await scheduler.start([agent("bad", { work: every("10s") }), agent("good", { work: every("10s") })]);
    await clock.advance("10s");
    expect(starts).toEqual(["bad 00:00", "good 00:00", "good 00:00:10"]);
    expect(await store.jobs.list({ agent: "bad" })).toMatchObject([{ status: "failed", error: "broken" }]);
    expect(await store.jobs.list({ agent: "good" })).toMatchObject([
      { status: "completed" },
      { status: "completed" },
    ]);
  });

  it("gets everything about the job, and the agent's own run is not called", async () => {
    const infos: TriggerInfo[] = [];
    let runs = 0;
    const { scheduler, settle } = gatedScene({ onTrigger: (info) => infos.push(info) });
    const given = agent("a", HOURLY, { run: () => runs++ });
    await scheduler.start([given]);
    await settle();
    expect(runs).toBe(0);
    expect(infos).toMatchObject([
      {
        schedule: "work",
        scheduleName: "work",
        definition: { type: "interval", interval: "1h" },
        scheduleState: { status: "running", next_run_at: START },
        job: { trigger: "interval", status: "running", slot: START },
      },
    ]);
    expect(infos[0]?.agent).toBe(given);
    expect(infos[0]?.signal.aborted).toBe(false);
  });
});

class CountingLogger implements Logger {
  count = 0;

  info(): void {
    this.count++;
  }

  warn(): void {
    this.count++;
  }

  error(): void {
    this.count++;
  }
}

describe("a logger", () => {
  it("that is an instance of a class is called with its `this`, and needs no debug", async () => {
    const logger = new CountingLogger();
    const { scheduler, settle } = gatedScene({ logger, onInvalid: "skip" });
    await scheduler.start([agent("a"), agent("bad", { work: every("never") })]);
    await settle();
    await scheduler.stop();
    expect(logger.count).toBe(3);
  });

  it("receives starts, plans and skips with names and reasons", async () => {
    const { scheduler, clock, lines } = gatedScene();
    const schedules = { one: { type: "interval", interval: "1h" }, hook: { type: "webhook" } } as const;
    await scheduler.start([agent("a", schedules)]);
    await clock.advance("1s");
    expect(lines).toEqual([
      "debug: Skipping a/hook: unsupported_type",
      "debug: a/one: next run at 2026-03-01T00:00:00.000Z (first-run)",
      "debug: a/hook: no next run",
      "info: Scheduler started with 1 agent.",
      expect.stringMatching(/^debug: Started job-2026-03-01-\w+ of a\/one$/),
      "debug: a/one: next run at 2026-03-01T01:00:00.000Z (baseline-interval)",
      expect.stringMatching(/^debug: Finished job-2026-03-01-\w+ of a\/one: completed$/),
    ]);
  });
});

describe("types", () => {
  it("accept agents that are written as constants, with data of the host", async () => {
    const agents = [
      {
        name: "reader",
        data: { model: "large" },
        instances: { max_concurrent: 2 },
        schedules: {
          morning: { type: "cron", expression: "0 9 * * *", prompt: "Read." },
          often: { type: "interval", interval: "5m", jitter: 5 },
          hook: { type: "webhook" },
        },
        run: ({ prompt, signal }: { prompt: string; signal: AbortSignal }) => `${prompt} ${signal.aborted}`,
      },
    ] as const;
    const clock = new FakeClock(START);
    await using scheduler = new Scheduler({ clock, store: new MemoryStore(), logger: new CountingLogger() });
    await scheduler.start(agents);
    expectTypeOf(agents).toExtend<readonly Agent[]>();
    expectTypeOf<Parameters<Scheduler["start"]>>().toEqualTypeOf<[agents: readonly Agent[]]>();
  });

  it("give each listener the details of its event", () => {
    const { scheduler } = gatedScene();
    scheduler.on("job:finished", (details) => expectTypeOf(details.job).toEqualTypeOf<JobRecord>());
    scheduler.on("schedule:planned", (details) => {
      expectTypeOf(details.nextRunAt).toEqualTypeOf<Date | undefined>();
      expectTypeOf(details.source).toEqualTypeOf<PlanSource | undefined>();
    });
    scheduler.on("scheduler:error", (details) => {
      expectTypeOf(details.error).toEqualTypeOf<Error>();
      expectTypeOf(details.agent).toEqualTypeOf<string | undefined>();
    });
    // @ts-expect-error there is no such event
    expect(() => scheduler.on("job:paused", () => {})).toThrow('Invalid event "job:paused"');
    expectTypeOf<Parameters<NonNullable<SchedulerOptions["onTrigger"]>>[0]>().toEqualTypeOf<TriggerInfo>();
  });

  it("refuse a schedule of an unknown type", () => {
    // @ts-expect-error "hourly" is no type of schedule
    const wrong: Agent = { name: "a", schedules: { work: { type: "hourly" } } };
    expect(wrong.name).toBe("a");
  });
});

/** What `start` and `stop` answer, and what they leave behind when they fail. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  FakeClock,
  MemoryStore,
  Scheduler,
  SchedulerError,
  type SchedulerOptions,
  SchedulerShutdownError,
} from "../../src/index.js";
import { thrownBy } from "../thrown-by.js";
import { agent, every, gatedScene, HOURLY, START } from "./scene.js";
import { watch } from "../watched-promise.js";

const ALREADY_RUNNING = { name: "SchedulerError", code: "ALREADY_RUNNING" };

describe("start", () => {
  it("resolves when the loop runs", async () => {
    const { scheduler, settle } = gatedScene();
    await scheduler.start([agent("a")]);
    expect(scheduler.getState()).toMatchObject({ status: "running", startedAt: new Date(START) });
    await settle();
    expect(scheduler.getState().checkCount).toBeGreaterThan(0);
  });

  it("rejects a second time, and leaves one loop", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([]);
    await expect(scheduler.start([])).rejects.toMatchObject(ALREADY_RUNNING);
    await clock.advance(500);
    expect(clock.sleeping).toBe(1);
    expect(scheduler.getState()).toMatchObject({ status: "running", checkCount: 1 });
  });

  it("rejects a second time while the first is under way", async () => {
    const { scheduler, store, starts, settle } = gatedScene();
    const gate = store.hold("open");
    const first = scheduler.start([agent("a")]);
    await expect(scheduler.start([agent("b")])).rejects.toThrow(
      "The scheduler is already running: call stop() first",
    );
    gate.open();
    await first;
    await settle();
    expect(starts).toEqual(["a 00:00"]);
  });

  it("rejects while stop is under way", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("10s") })]);
    await clock.advance("1s");
    const stop = scheduler.stop();
    await expect(scheduler.start([])).rejects.toMatchObject(ALREADY_RUNNING);
    await clock.advance("10s");
    await stop;
    expect(scheduler.getStatus()).toBe("stopped");
  });

  it("rejects while a stop waits for what one before has left running", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("10s") })]);
    await clock.advance("1s");
    await scheduler.stop({ waitForJobs: false });
    const stop = scheduler.stop();
    await expect(scheduler.start([agent("b")])).rejects.toMatchObject(ALREADY_RUNNING);
    await clock.advance("10s");
    await stop;
    expect(starts).toEqual(["a 00:00"]);
  });

  it("rejects with the store's error and is stopped again", async () => {
    const { scheduler, store, clock } = gatedScene();
    const refused = new Error("the disk is gone");
    store.fail("open", refused);
    await expect(scheduler.start([agent("a")])).rejects.toBe(refused);
    expect(scheduler.getStatus()).toBe("stopped");
    expect([clock.sleeping, store.listenerCount]).toEqual([0, 0]);
  });

  it("works after one that failed", async () => {
    const { scheduler, store, starts, settle } = gatedScene();
    store.fail("open", new Error("the disk is gone"));
    await scheduler.start([agent("a")]).catch(() => {});
    await scheduler.start([agent("a")]);
    await settle();
    expect(starts).toEqual(["a 00:00"]);
  });

  it("closes the store when the schedules cannot be defined", async () => {
    const { scheduler, store, clock } = gatedScene();
    store.fail("define", new Error("the disk is gone"));
    await expect(scheduler.start([agent("a")])).rejects.toThrow("the disk is gone");
    expect([store.count("close"), store.listenerCount, clock.sleeping]).toEqual([1, 0, 0]);
  });

  it("is called off by a stop meanwhile, and the store closed", async () => {
    const { scheduler, store, clock, starts } = gatedScene();
    const gate = store.hold("open");
    const start = watch(scheduler.start([agent("a")]));
    const stop = scheduler.stop();
    expect(scheduler.getStatus()).toBe("stopping");
    gate.open();
    await stop;
    expect(start).toEqual({ state: "fulfilled" });
    await clock.advance("1h");
    expect([starts.length, store.count("close"), clock.sleeping]).toEqual([0, 1, 0]);
  });

  it("is called off also by a stop that timed out", async () => {
    const { scheduler, store, clock, starts } = gatedScene();
    const gate = store.hold("open");
    const start = watch(scheduler.start([agent("a")]));
    const stop = watch(scheduler.stop({ timeout: 100 }));
    await clock.advance(100);
    expect(stop.state).toBe("rejected");
    gate.open();
    await clock.advance("1h");
    expect(start).toEqual({ state: "fulfilled" });
    expect([starts.length, store.count("close"), store.listenerCount, clock.sleeping]).toEqual([0, 1, 0, 0]);
    expect(scheduler.getStatus()).toBe("stopped");
  });

  it("works while one that was called off is still opening the store", async () => {
    const { scheduler, store, clock, starts } = gatedScene();
    const gate = store.hold("open");
    watch(scheduler.start([agent("a")]));
    watch(scheduler.stop({ timeout: 100 }));
    await clock.advance(100);
    const second = watch(scheduler.start([agent("b")]));
    gate.open();
    await clock.advance("1s");
    expect(second.state).toBe("fulfilled");
    expect(starts).toEqual(["b 00:00:00.100"]);
  });

  it("can be called off although one before it, called off too, has not ended", async () => {
    const { scheduler, store, clock, starts } = gatedScene();
    const gate = store.hold("open");
    watch(scheduler.start([agent("a")]));
    watch(scheduler.stop({ timeout: 100 }));
    await clock.advance(100);
    const second = watch(scheduler.start([agent("b")]));
    const slow = store.hold("open");
    gate.open();
    await slow.reached;
    const stop = watch(scheduler.stop());
    await clock.advance(0);
    expect([stop.state, store.count("close")]).toEqual(["pending", 1]);
    slow.open();
    await clock.advance("1h");
    expect([second.state, stop.state, starts]).toEqual(["fulfilled", "fulfilled", []]);
    expect([clock.sleeping, store.listenerCount]).toEqual([0, 0]);
  });

  it("that fails while a job of before is still running rejects at once", async () => {
    const { scheduler, store, clock, settle } = gatedScene();
    const agents = [agent("a", HOURLY, { run: () => clock.sleep("10m") })];
    await scheduler.start(agents);
    await clock.advance("1s");
    await scheduler.stop({ waitForJobs: false });
    store.fail("define", new Error("the disk is gone"));
    const start = watch(scheduler.start(agents));
    await settle();
    expect(start.state).toBe("rejected");
    expect([scheduler.getStatus(), store.count("close")]).toEqual(["stopped", 0]);
    await clock.advance("10m");
    expect([store.count("close"), clock.sleeping]).toEqual([1, 0]);
  });

  it("uses the agents that were set while it was under way", async () => {
    const { scheduler, store, starts, settle } = gatedScene();
    const gate = store.hold("open");
    const start = scheduler.start([agent("old")]);
    scheduler.setAgents([agent("new")]);
    gate.open();
    await start;
    await settle();
    expect(starts).toEqual(["new 00:00"]);
  });

  it("reports a problem again that was reported before", async () => {
    const { scheduler, store, clock, troubles } = gatedScene();
    const failing = async (): Promise<void> => {
      await scheduler.start([]);
      store.fail("claimDue", new Error("the disk is gone"), 3);
      await clock.advance("2s");
      await scheduler.stop();
    };
    await failing();
    await failing();
    expect(troubles).toEqual(["the disk is gone", "the disk is gone"]);
  });
});

const NO_AGENTS: readonly { given: unknown; message: string }[] = [
  { given: undefined, message: "Invalid agents undefined: expected a list of agents" },
  { given: {}, message: "Invalid agents with a map: expected a list of agents" },
  { given: "a", message: 'Invalid agents "a": expected a list of agents' },
  {
    given: [null],
    message:
      "Invalid agents[0] without a value: expected an agent such as { name: writer, schedules: { … } }",
  },
  { given: [{}], message: "Missing name: expected a text of 1 to 128 characters" },
  { given: [{ name: "" }], message: 'Invalid name "": expected a text of 1 to 128 characters' },
  { given: [{ name: 7 }], message: "Invalid name 7: expected a text of 1 to 128 characters" },
  {
    given: [agent("b"), agent("c"), agent("b")],
    message: 'Two agents are named "b", the first is agents[0]: give every agent a unique name',
  },
  ...[0, 1.5, "2", -1, Number.NaN].map((max) => ({
    given: [{ name: "b", instances: { max_concurrent: max } }],
    message: `Invalid max_concurrent ${typeof max === "string" ? `"${max}"` : max}: expected a whole number from 1`,
  })),
  ...[
    ["without a value", null],
    ['"daily"', "daily"],
    ["with a list", [{ type: "webhook" }]],
  ].map(([shown, schedules]) => ({
    given: [{ name: "b", schedules }],
    message: `Invalid schedules ${shown as string}: expected schedules by name`,
  })),
];

describe.each(NO_AGENTS)("what is no list of agents ($message)", ({ given, message }) => {
  const wrong = given as readonly Agent[];

  it("is refused by start, which leaves everything as it was", async () => {
    const { scheduler, store } = gatedScene();
    await expect(scheduler.start(wrong)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      problems: [{ message }],
    });
    expect([scheduler.getStatus(), store.count("open")]).toEqual(["stopped", 0]);
  });

  it("is refused by setAgents, and the agents stay", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("a", { work: every("10s") })]);
    await clock.advance("5s");
    expect(thrownBy(() => scheduler.setAgents(wrong))).toMatchObject({
      code: "INVALID_CONFIG",
      problems: [{ message }],
    });
    await clock.advance("10s");
    expect(starts).toEqual(["a 00:00", "a 00:00:10"]);
  });
});

describe("options", () => {
  const FROM_1 = 'milliseconds from 1, or text such as "30s" or "5m".';

  it.each([
    [{ checkInterval: 0 }, `Invalid checkInterval 0: expected ${FROM_1}`],
    [{ checkInterval: Number.NaN }, `Invalid checkInterval NaN: expected ${FROM_1}`],
    [{ checkInterval: Infinity }, `Invalid checkInterval Infinity: expected ${FROM_1}`],
    [{ checkInterval: "soon" }, `Invalid checkInterval "soon": expected ${FROM_1}`],
    [{ jitterPercent: 11 }, "Invalid jitterPercent 11: expected 0 to 10 percent"],
    [{ jitterPercent: -1 }, "Invalid jitterPercent -1: expected 0 to 10 percent"],
    [{ maxConcurrent: 0 }, "Invalid maxConcurrent 0: expected a whole number from 1"],
    [{ maxConcurrent: 2.5 }, "Invalid maxConcurrent 2.5: expected a whole number from 1"],
  ])("%j are refused by name and value", (options, message) => {
    const make = (): unknown => new Scheduler({ store: new MemoryStore(), ...(options as SchedulerOptions) });
    expect(thrownBy(make)).toMatchObject({ message, code: "INVALID_ARGUMENT" });
  });

  it("take durations as text", async () => {
    const store = new MemoryStore({ leaseMs: "1m" });
    const { scheduler, clock } = gatedScene({ checkInterval: "1m" });
    await scheduler.start([]);
    await clock.advance("10m");
    expect([store.leaseMs, scheduler.getState().checkCount]).toEqual([60_000, 11]);
    await scheduler.stop({ timeout: "5s" });
  });

  it("name an unknown time zone", () => {
    const make = (): unknown => new Scheduler({ store: new MemoryStore(), timezone: "Mars/Olympus" });
    expect(thrownBy(make)).toMatchObject({ code: "UNKNOWN_TIMEZONE", timezone: "Mars/Olympus" });
  });

  it("may be left out", () => {
    expect(new Scheduler().getState()).toEqual({
      status: "stopped",
      startedAt: undefined,
      checkCount: 0,
      triggerCount: 0,
      lastCheckAt: undefined,
      unrecordedJobCount: 0,
    });
  });
});

describe("stop", () => {
  it.each([-1, Number.NaN, "soon"])(
    "refuses the timeout %s, and the scheduler continues",
    async (timeout) => {
      const { scheduler, clock, starts } = gatedScene();
      await scheduler.start([agent("a", { work: every("10s") })]);
      await expect(scheduler.stop({ timeout: timeout as number })).rejects.toMatchObject({
        message: expect.stringMatching(
          /^Invalid timeout .*: expected milliseconds from 0, or text such as "30s" or "5m"\.$/,
        ) as string,
        code: "INVALID_ARGUMENT",
      });
      await clock.advance("10s");
      expect(starts).toEqual(["a 00:00", "a 00:00:10"]);
    },
  );

  it("gives callers at the same time the same promise", async () => {
    const { scheduler } = gatedScene();
    await scheduler.start([]);
    expect(scheduler.stop()).toBe(scheduler.stop());
  });

  it("resolves without the clock moving while the loop sleeps", async () => {
    const { scheduler, clock, settle } = gatedScene({ checkInterval: 60_000 });
    await scheduler.start([]);
    await settle();
    expect(clock.sleeping).toBe(1);
    await scheduler.stop();
    expect(clock.sleeping).toBe(0);
  });

  it("reports how long it waited, and for how many jobs", async () => {
    const { scheduler, clock } = gatedScene();
    const run = (): Promise<void> => clock.sleep("1h");
    await scheduler.start([agent("a", HOURLY, { run }), agent("b", HOURLY, { run })]);
    await clock.advance("1s");
    const stop = watch(scheduler.stop({ timeout: 2_500 }));
    await clock.advance(2_499);
    expect(stop.state).toBe("pending");
    await clock.advance(1);
    expect(stop.error).toBeInstanceOf(SchedulerShutdownError);
    expect(stop.error).toBeInstanceOf(SchedulerError);
    expect(stop.error).toMatchObject({
      name: "SchedulerShutdownError",
      code: "SHUTDOWN_TIMEOUT",
      timedOut: true,
      runningJobCount: 2,
      message: "Scheduler shutdown timed out after 2500 ms with 2 job(s) still running",
    });
  });

  it("waits for 30 s when nothing else is said", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([agent("a", HOURLY, { run: () => clock.sleep("1h") })]);
    await clock.advance("1s");
    const stop = watch(scheduler.stop());
    await clock.advance(29_999);
    expect(stop.state).toBe("pending");
    await clock.advance(1);
    expect(stop.state).toBe("rejected");
  });

  it("cancels no job while it waits, and all jobs when the time is up", async () => {
    const { scheduler, clock } = gatedScene();
    const heard: string[] = [];
    const run: Agent["run"] = async ({ signal }) => {
      signal.addEventListener("abort", () => heard.push(`${clock.time()} ${String(signal.reason)}`));
      await clock.sleep("1h");
    };
    await scheduler.start([agent("a", HOURLY, { run })]);
    await clock.advance("1s");
    watch(scheduler.stop({ timeout: 10_000 }));
    await clock.advance("20s");
    expect(heard).toEqual(["00:00:11 AbortError: The scheduler was stopped"]);
  });

  it("cancels jobs at once when it does not wait", async () => {
    const { scheduler, clock, settle } = gatedScene();
    const ends: string[] = [];
    scheduler.on("job:finished", ({ job }) => ends.push(job.status));
    await scheduler.start([agent("a", HOURLY, { run: ({ signal }) => clock.sleep("1h", signal) })]);
    await clock.advance("1s");
    await scheduler.stop({ waitForJobs: false });
    await settle();
    expect(ends).toEqual(["cancelled"]);
    expect(clock.sleeping).toBe(0);
  });

  it("called by a job keeps the jobs claimed with it from starting", async () => {
    const { scheduler, starts, clock, store } = gatedScene();
    const ran: string[] = [];
    const names = ["a", "b", "c"];
    const run: Agent["run"] = ({ agent: { name } }) => {
      ran.push(name);
      watch(scheduler.stop());
    };
    await scheduler.start(names.map((name) => agent(name, HOURLY, { run })));
    await clock.advance("1s");
    expect([ran, starts]).toEqual([["a"], ["a 00:00"]]);
    expect([scheduler.getStatus(), clock.sleeping]).toEqual(["stopped", 0]);
    const states = await Promise.all(names.map((name) => store.read({ agent: name, schedule: "work" })));
    expect(states.map(({ status, claim }) => [status, claim ?? null])).toEqual(
      names.map(() => ["idle", null]),
    );
  });

  it("called by onTick deadlocks nothing", async () => {
    const stops: Promise<void>[] = [];
    const { scheduler, clock } = gatedScene({
      onTick: async () => {
        stops.push(scheduler.stop());
        await stops[0];
      },
    });
    await scheduler.start([agent("a")]);
    await clock.advance("1s");
    await Promise.all(stops);
    expect([scheduler.getStatus(), clock.sleeping]).toEqual(["stopped", 0]);
  });

  it("called by a listener to the end of a job deadlocks nothing", async () => {
    const { scheduler, clock } = gatedScene();
    scheduler.on("job:finished", () => scheduler.stop());
    await scheduler.start([agent("a")]);
    await clock.advance("1s");
    expect([scheduler.getStatus(), clock.sleeping]).toEqual(["stopped", 0]);
  });

  it("happens at the end of a scope, without waiting for jobs", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore();
    const signals: AbortSignal[] = [];
    {
      await using scheduler = new Scheduler({ clock, store, logger: silent });
      const run: Agent["run"] = ({ signal }) => {
        signals.push(signal);
        return clock.sleep("10s");
      };
      await scheduler.start([agent("a", HOURLY, { run })]);
      await clock.advance("1s");
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await clock.advance("10s");
    expect(clock.sleeping).toBe(0);
    expect(await store.jobs.list()).toMatchObject([{ status: "completed" }]);
  });

  it("that cannot close the store reports it and resolves", async () => {
    const { scheduler, store, troubles } = gatedScene();
    await scheduler.start([]);
    store.fail("close", new Error("the disk is gone"));
    await scheduler.stop();
    expect(troubles).toEqual(["the disk is gone"]);
    expect(scheduler.getStatus()).toBe("stopped");
  });
});

const silent = { info: () => {}, warn: () => {}, error: () => {} };

describe("a scheduler that is not running", () => {
  it.each([
    ["setAgents", (scheduler: Scheduler) => scheduler.setAgents([])],
    ["getSchedules", (scheduler: Scheduler) => scheduler.getSchedules()],
    ["pause", (scheduler: Scheduler) => scheduler.pause("a")],
    ["resume", (scheduler: Scheduler) => scheduler.resume("a")],
    ["enable", (scheduler: Scheduler) => scheduler.enable("a")],
    ["disable", (scheduler: Scheduler) => scheduler.disable("a")],
    ["hint", (scheduler: Scheduler) => scheduler.hint("a", "work", { interval: "1m" })],
    ["clearHints", (scheduler: Scheduler) => scheduler.clearHints("a")],
  ])("refuses %s", async (_, act) => {
    const { scheduler } = gatedScene();
    await expect(Promise.resolve().then(() => act(scheduler))).rejects.toMatchObject({
      code: "NOT_RUNNING",
      message: "The scheduler is not running: call start() first",
    });
  });

  it("returns an error from trigger", async () => {
    const { scheduler } = gatedScene();
    expect(await scheduler.trigger("a")).toEqual({
      success: false,
      error: "The scheduler is not running: call start() first",
      code: "NOT_RUNNING",
    });
  });

  it("cancels nothing", () => {
    expect(gatedScene().scheduler.cancel("job-2026-03-01-aaaaaa")).toBe(false);
  });
});

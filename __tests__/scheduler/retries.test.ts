import { describe, expect, it, vi } from "vitest";
import {
  type AgentSchedule,
  FakeClock,
  FileStore,
  type JobRecord,
  MemoryStore,
  type StateStore,
} from "../../src/index.js";
import { agent, cron, every, once, scene, type Scene, type SceneOptions, shortTime, START } from "./scene.js";
import { stateDirectory } from "../state/temporary-directory.js";

/** A scene whose first `failures` jobs fail. */
function failing(failures: number, options: SceneOptions = {}): Scene {
  let left = failures;
  const work = (): void => {
    if (left-- > 0) throw new Error("out of luck");
  };
  return scene({ ...options, work });
}

/** "00:00:10 2 retry of 00:00": when a job started, which attempt it was, its trigger and its slot. */
const tries = (jobs: readonly JobRecord[]): string[] =>
  jobs.map(
    ({ started_at, attempt, trigger, slot }) =>
      `${shortTime(started_at)} ${attempt} ${trigger} of ${shortTime(slot)}`,
  );

describe("a slot whose job failed, with retries", () => {
  it.each<[string, AgentSchedule, string, string]>([
    ["interval", every("1h", { retries: 2 }), "interval", "00:00"],
    ["cron", cron("0 * * * *", { retries: 2 }), "cron", "01:00"],
    ["once", once("2026-03-01T01:00:00Z", { retries: 2 }), "once", "01:00"],
  ])("is tried again after 10 and 20 seconds, as the same slot: %s", async (_, schedule, trigger, at) => {
    const { scheduler, clock, jobs, state } = failing(2);
    await scheduler.start([agent("a", { x: schedule })]);
    await clock.advance(at === "00:00" ? "1m" : "61m");
    expect(tries(jobs)).toEqual([
      `${at} 1 ${trigger} of ${at}`,
      `${at}:10 2 retry of ${at}`,
      `${at}:30 3 retry of ${at}`,
    ]);
    const { failure_count, last_error, retry, missed_count } = await state("a", "x");
    expect({ failure_count, last_error, retry, missed_count }).toEqual({
      failure_count: 0,
      last_error: null,
      retry: undefined,
      missed_count: undefined,
    });
  });

  it.each<AgentSchedule["type"]>(["webhook", "chat"])(
    "is tried again when it was requested: %s",
    async (type) => {
      const { scheduler, clock, jobs } = failing(1);
      await scheduler.start([agent("a", { x: { type, retries: 1 } as AgentSchedule })]);
      await scheduler.trigger("a", "x", { prompt: "now", data: { id: 7 } });
      await clock.advance("1m");
      expect(jobs).toMatchObject([
        { trigger: "manual", attempt: 1, slot: START, prompt: "now", data: { id: 7 } },
        { trigger: "retry", attempt: 2, slot: START, prompt: "now", data: { id: 7 } },
      ]);
    },
  );

  it("counts as one failure, after the last try", async () => {
    const { scheduler, clock, state, jobs, plan } = failing(3);
    await scheduler.start([agent("a", { x: every("1h", { retries: 2 }) })]);
    await clock.advance("20s");
    expect(await state("a", "x")).toMatchObject({
      last_error: "out of luck",
      retry: { attempt: 3, failures: 2 },
    });
    expect(await state("a", "x")).not.toHaveProperty("failure_count");
    await clock.advance("20s");
    expect(jobs.length).toBe(3);
    expect(await state("a", "x")).toMatchObject({ failure_count: 1 });
    expect(await plan("a", "x")).toBe("02:00:30 baseline-interval");
  });

  it("pauses its schedule after the last try only, with on_failure: pause", async () => {
    const { scheduler, clock, jobs, state } = failing(9);
    await scheduler.start([agent("a", { x: every("1h", { retries: 1, on_failure: "pause" }) })]);
    await clock.advance("5s");
    expect((await state("a", "x")).paused_until).toBeUndefined();
    await clock.advance("5s");
    expect(jobs.length).toBe(2);
    expect((await state("a", "x")).paused_until).toMatch(/^9999/);
  });

  it.each<[string, object, string[]]>([
    ["constant", { delay: "5s", backoff: "constant" }, ["00:00", "00:00:05", "00:00:10", "00:00:15"]],
    [
      "exponential, up to max_delay",
      { delay: "5s", max_delay: "8s" },
      ["00:00", "00:00:05", "00:00:13", "00:00:21"],
    ],
  ])("waits as its backoff says: %s", async (_, more, times) => {
    const { scheduler, clock, jobs } = failing(9);
    await scheduler.start([agent("a", { x: every("1h", { retries: { count: 3, ...more } }) })]);
    await clock.advance("1m");
    expect(jobs.map(({ started_at }) => shortTime(started_at))).toEqual(times);
  });

  it("waits at most ten minutes by default", async () => {
    const { scheduler, clock, jobs } = failing(9);
    await scheduler.start([agent("a", { x: every("10d", { retries: 8 }) })]);
    await clock.advance("2h");
    const starts = jobs.map(({ started_at }) => Date.parse(started_at) / 1000);
    const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  });

  it("waits as long as its delay by default, where that is longer than ten minutes", async () => {
    const { scheduler, clock, jobs } = failing(9);
    await scheduler.start([agent("a", { x: every("10d", { retries: { count: 2, delay: "20m" } }) })]);
    await clock.advance("1h");
    expect(jobs.map(({ started_at }) => shortTime(started_at))).toEqual(["00:00", "00:20", "00:40"]);
  });

  it("is not tried again after an end that `on` leaves out", async () => {
    const { scheduler, clock, jobs, state } = failing(1);
    await scheduler.start([agent("a", { x: every("1h", { retries: { count: 2, on: ["timeout"] } }) })]);
    await clock.advance("1m");
    expect(jobs.length).toBe(1);
    expect(await state("a", "x")).toMatchObject({ failure_count: 1 });
  });

  it("is tried again after a timeout", async () => {
    const { scheduler, clock, jobs, ended } = scene();
    const run = ({ signal }: { signal: AbortSignal }): Promise<void> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    const schedule = every("1h", { timeout: "5s", retries: { count: 1, on: ["timeout"] } });
    await scheduler.start([agent("a", { x: schedule }, { run })]);
    await clock.advance("1m");
    expect(tries(jobs)).toEqual(["00:00 1 interval of 00:00", "00:00:15 2 retry of 00:00"]);
    expect(ended.map(({ status }) => status)).toEqual(["timeout", "timeout"]);
  });

  it("is not tried again when it was cancelled", async () => {
    const { scheduler, clock, jobs } = scene({
      work: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
    });
    await scheduler.start([agent("a", { x: every("1h", { retries: 2 }) })]);
    await clock.advance("1s");
    scheduler.cancel(jobs[0]?.id ?? "");
    await clock.advance("1m");
    expect(jobs.length).toBe(1);
  });

  it("is tried as its agent says, unless it says differently itself", async () => {
    const { scheduler, clock, runs } = failing(9);
    const { schedules, ...rest } = agent("a", { x: every("1h"), y: every("1h", { retries: 0 }) });
    await scheduler.start([{ ...rest, schedules, retries: 1, instances: { max_concurrent: 2 } }]);
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/x", "00:00 a/y", "00:00:10 a/x"]);
  });
});

describe("a try of a cron schedule", () => {
  it("is not made when it would not come before the next time", async () => {
    const { scheduler, clock, jobs, state } = failing(3);
    await scheduler.start([agent("a", { x: cron("* * * * *", { retries: { count: 5, delay: "20s" } }) })]);
    await clock.advance("2m");
    // 01:00 fails, and so does 01:20; a third try would come at 02:00.
    expect(tries(jobs)).toEqual([
      "00:01 1 cron of 00:01",
      "00:01:20 2 retry of 00:01",
      "00:02 1 cron of 00:02",
    ]);
    expect(await state("a", "x")).toMatchObject({
      failure_count: 1,
      retry: { slot: "2026-03-01T00:02:00.000Z" },
    });
  });

  it("leaves the times that pass while it runs to be counted", async () => {
    let count = 0;
    const stage = scene({
      work: async () => {
        if (count++ === 0) throw new Error("out of luck");
        await stage.clock.sleep("150s");
      },
    });
    await stage.scheduler.start([agent("a", { x: cron("* * * * *", { retries: 1 }) })]);
    await stage.clock.advance("5m");
    expect(tries(stage.jobs)).toEqual([
      "00:01 1 cron of 00:01",
      "00:01:10 2 retry of 00:01",
      "00:04 1 cron of 00:04",
    ]);
    expect(stage.events).toContain("skipped a/x already_running 00:02 to 00:03 (2)");
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 2 });
  });

  it("keeps to the next time where the clocks change", async () => {
    const clock = new FakeClock("2026-03-29T00:59:00Z");
    const { scheduler, jobs } = failing(9, { clock });
    // 01:30 in London is skipped that night: it runs at 02:00, and again the next night.
    const schedule = cron("30 1 * * *", { timezone: "Europe/London", retries: { count: 2, delay: "1m" } });
    await scheduler.start([agent("a", { x: schedule })]);
    await clock.advance("10m");
    expect(jobs.map(({ slot, attempt }) => `${slot} ${attempt}`)).toEqual([
      "2026-03-29T01:00:00.000Z 1",
      "2026-03-29T01:00:00.000Z 2",
      "2026-03-29T01:00:00.000Z 3",
    ]);
  });
});

describe("a slot that waits for its next try", () => {
  const RETRIED = every("1h", { retries: { count: 2, delay: "1m" } });

  it("is held back by a pause, and keeps its time where the pause ends before it", async () => {
    const { scheduler, clock, jobs, plan } = failing(2);
    await scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("10s");
    await scheduler.pause("a", "x", new Date(Date.parse(START) + 20_000));
    await clock.advance("10s");
    await scheduler.pause("a", "x");
    await clock.advance("10s");
    await scheduler.resume("a", "x");
    await clock.advance("40s");
    expect(tries(jobs).at(-1)).toBe("00:01 2 retry of 00:00");
    await scheduler.pause("a", "x", "2026-03-01T00:30:00Z");
    expect(await plan("a", "x")).toBe("00:30 paused");
    await clock.advance("1h");
    expect(tries(jobs).slice(1, 3)).toEqual(["00:01 2 retry of 00:00", "00:30 3 retry of 00:00"]);
  });

  it("is dropped when its schedule is disabled", async () => {
    const { scheduler, clock, jobs, state } = failing(1);
    await scheduler.start([agent("a", { x: cron("0 * * * *", { retries: 2 }) })]);
    await clock.advance("1h");
    await scheduler.disable("a", "x");
    expect(await state("a", "x")).not.toHaveProperty("retry");
    await scheduler.enable("a", "x");
    await clock.advance("1h");
    expect(tries(jobs)).toEqual(["01:00 1 cron of 01:00", "02:00 1 cron of 02:00"]);
  });

  it("is no slot of a schedule that was disabled while its job ran", async () => {
    const stage = scene({
      work: async () => {
        await stage.clock.sleep("5s");
        throw new Error("out of luck");
      },
    });
    await stage.scheduler.start([agent("a", { x: RETRIED })]);
    await stage.clock.advance("1s");
    await stage.scheduler.disable("a", "x");
    await stage.clock.advance("5m");
    expect(stage.jobs.length).toBe(1);
    expect(await stage.state("a", "x")).not.toHaveProperty("retry");
  });

  it.each<[string, (clock: FakeClock) => StateStore]>([
    ["memory", (clock) => new MemoryStore({ clock })],
    ["files", (clock) => new FileStore({ stateDir: stateDirectory(), clock })],
  ])("survives a restart of the scheduler: %s", async (_, newStore) => {
    const clock = new FakeClock(START);
    const first = failing(1, { store: newStore(clock), clock });
    await first.scheduler.start([agent("a", { x: RETRIED })]);
    // A FileStore needs real time.
    await vi.waitFor(() => expect(first.ended.length).toBe(1));
    await first.scheduler.stop();
    const second = first.again();
    await second.scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("1m");
    await vi.waitFor(() => expect(second.jobs.length).toBe(1));
    expect(second.jobs).toMatchObject([{ slot: START, attempt: 2, trigger: "retry", source: "retry" }]);
    await vi.waitFor(async () => expect(await second.state("a", "x")).toMatchObject({ failure_count: 0 }));
  });

  it("runs after its delay where the clock is set back", async () => {
    const { scheduler, clock, jobs } = failing(1);
    await clock.advance("1h");
    await scheduler.start([agent("a", { x: every("1d", { retries: { count: 1, delay: "5m" } }) })]);
    await clock.advance("1m");
    clock.jump(-3_660_000);
    await clock.advance("6m");
    expect(tries(jobs)).toEqual(["01:00 1 interval of 01:00", "00:05:01 2 retry of 01:00"]);
  });

  it("runs at once when its time passed while no scheduler ran", async () => {
    const first = failing(1, { store: new MemoryStore() });
    await first.scheduler.start([agent("a", { x: RETRIED })]);
    await first.clock.advance("10s");
    await first.scheduler.stop();
    await first.clock.advance("10m");
    const second = first.again();
    await second.scheduler.start([agent("a", { x: RETRIED })]);
    await first.clock.advance(0);
    expect(tries(second.jobs)).toEqual(["00:10:10 2 retry of 00:00"]);
  });

  it("stays when setAgents changes the schedule", async () => {
    const { scheduler, clock, jobs, plan } = failing(1);
    await scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("10s");
    scheduler.setAgents([agent("a", { x: cron("0 * * * *") })]);
    await clock.advance("1m");
    expect(tries(jobs)).toEqual(["00:00 1 interval of 00:00", "00:01 2 retry of 00:00"]);
    expect(await plan("a", "x")).toBe("01:00 baseline-cron");
  });

  it("comes before a hint, which counts from the end of the slot", async () => {
    const { scheduler, clock, jobs, plan } = failing(1);
    await scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("10s");
    await scheduler.hint("a", "x", { interval: "5m", ttl: "1d" });
    expect(await plan("a", "x")).toBe("00:01 retry");
    await clock.advance("1m");
    expect(tries(jobs).at(-1)).toBe("00:01 2 retry of 00:00");
    expect(await plan("a", "x")).toBe("00:06 ai-interval");
  });

  it.each<[string, object]>([
    ["max_interval", { max_interval: "5s" }],
    ["jitter", { jitter: 10 }],
    ["an interval that counts from the start", { anchor: "start" }],
  ])("is not moved by %s", async (_, more) => {
    const { scheduler, clock, jobs } = failing(1, { random: () => 1 });
    await scheduler.start([agent("a", { x: { ...RETRIED, ...more } as AgentSchedule })]);
    await clock.advance("1m");
    expect(tries(jobs)).toEqual(["00:00 1 interval of 00:00", "00:01 2 retry of 00:00"]);
  });

  it.each([
    ["is not given up where only tries of it failed", {}, [2, 3], { failure_count: 0 }],
    [
      "is given up where a process died in a try",
      { interrupted_count: 1 },
      [],
      { failure_count: 1, abandoned_count: 1 },
    ],
  ])("with on_interrupt: skip %s", async (_, more, attempts, after) => {
    const store = new MemoryStore();
    const retry = { slot: "2026-02-28T23:59:00.000Z", attempt: 2, failures: 1, at: START };
    const plan = { next_run_at: START, next_run_source: "retry" } as const;
    await store.update({ agent: "a", schedule: "x" }, { retry, ...plan, ...more });
    const { scheduler, clock, jobs, state } = failing(1, { store });
    const schedule = cron("0 * * * *", { on_interrupt: "skip", retries: { count: 2, delay: "1m" } });
    await scheduler.start([agent("a", { x: schedule })]);
    await clock.advance("10m");
    expect(jobs.map(({ attempt }) => attempt)).toEqual(attempts);
    expect(await state("a", "x")).toMatchObject(after);
  });

  it("is not put off by min_interval", async () => {
    const { scheduler, clock, jobs } = failing(1);
    await scheduler.start([agent("a", { x: { ...RETRIED, min_interval: "30m" } as AgentSchedule })]);
    await clock.advance("2m");
    expect(tries(jobs).at(-1)).toBe("00:01 2 retry of 00:00");
  });

  it("waits for capacity", async () => {
    let failures = 1;
    const stage = scene({
      maxConcurrent: 1,
      work: async ({ agent: { name } }) => {
        if (name === "a" && failures-- > 0) throw new Error("out of luck");
        if (name === "b") await stage.clock.sleep("2m");
      },
    });
    const { scheduler, clock, jobs } = stage;
    await scheduler.start([agent("a", { x: RETRIED }), agent("b", { y: once("2026-03-01T00:00:30Z") })]);
    await clock.advance("3m");
    expect(tries(jobs)).toEqual([
      "00:00 1 interval of 00:00",
      "00:00:30 1 once of 00:00:30",
      "00:02:30 2 retry of 00:00",
    ]);
  });

  it("keeps the count of its tries when a process dies in one of them", async () => {
    const store = new MemoryStore();
    const slot = "2026-02-28T23:59:00.000Z";
    const source = "retry" as const;
    const claim = { token: "of-a-process-that-died", job_id: "job-2026-02-28-aaaaaaaa", slot, source };
    const retry = {
      slot,
      attempt: 2,
      trigger: "interval",
      source: "baseline-interval",
      failures: 1,
      at: "2026-02-28T23:59:50.000Z",
    } as const;
    await store.update({ agent: "a", schedule: "x" }, { status: "running", claim, retry });
    const { scheduler, clock, jobs, state } = failing(9, { store });
    await scheduler.start([agent("a", { x: RETRIED })]);
    expect((await state("a", "x")).retry).toEqual({ ...retry, attempt: 3, at: null });
    await clock.advance("10m");
    // Attempt 2 was interrupted, 3 and 4 are the second failure and the last try.
    expect(jobs.map(({ attempt }) => attempt)).toEqual([3, 4]);
    expect(await state("a", "x")).toMatchObject({ failure_count: 1 });
  });

  it("is given up after five interruptions in all, whatever failed between them", async () => {
    const store = new MemoryStore();
    const slot = "2026-02-28T23:59:00.000Z";
    const claim = {
      token: "of-a-process-that-died",
      job_id: "job-2026-02-28-aaaaaaaa",
      slot,
      source: "retry" as const,
    };
    const retry = {
      slot,
      attempt: 3,
      trigger: "interval",
      source: "baseline-interval",
      failures: 1,
    } as const;
    await store.update(
      { agent: "a", schedule: "x" },
      { status: "running", claim, retry, interrupted_count: 1 },
    );
    const { scheduler, clock, state } = failing(1, { store });
    await scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("1m");
    expect(await state("a", "x")).toMatchObject({ interrupted_count: 2, retry: { attempt: 5, failures: 2 } });
  });

  it("waits while a job on request runs beside it, whose failure counts at once", async () => {
    const { scheduler, clock, jobs, state } = failing(2);
    await scheduler.start([agent("a", { x: RETRIED })]);
    await clock.advance("10s");
    await scheduler.trigger("a", "x");
    await clock.advance("10s");
    expect(await state("a", "x")).toMatchObject({ failure_count: 1, retry: { attempt: 2 } });
    await clock.advance("1m");
    expect(tries(jobs).slice(1)).toEqual(["00:00:10 1 manual of 00:00:10", "00:01 2 retry of 00:00"]);
  });

  it("is not made on request where the time of a once comes first", async () => {
    const { scheduler, clock, jobs } = failing(1);
    await scheduler.start([
      agent("a", { x: once("2026-03-01T00:30:00Z", { retries: { count: 1, delay: "1h" } }) }),
    ]);
    await scheduler.trigger("a", "x");
    await clock.advance("2h");
    expect(tries(jobs)).toEqual(["00:00 1 manual of 00:00", "00:30 1 once of 00:30"]);
  });
});

describe("a job on request that is tried again", () => {
  /** Its first job is the one on request, which fails after a minute. */
  function slow(): Scene {
    const stage: Scene = scene({
      work: async ({ job }) => {
        if (job.trigger !== "manual") return;
        await stage.clock.sleep("1m");
        throw new Error("out of luck");
      },
    });
    return stage;
  }

  it("counts the time of an interval that came due while it ran", async () => {
    const { scheduler, clock, jobs, state, events } = slow();
    await scheduler.start([agent("a", { x: every("1h", { retries: 1 }) })]);
    await clock.advance("3570s");
    await scheduler.trigger("a", "x");
    await clock.advance("5m");
    expect(tries(jobs).slice(1)).toEqual(["00:59:30 1 manual of 00:59:30", "01:00:40 2 retry of 00:59:30"]);
    expect(await state("a", "x")).toMatchObject({
      missed_count: 1,
      last_missed_at: "2026-03-01T01:00:00.000Z",
    });
    expect(events).toContain("skipped a/x already_running 01:00");
  });

  it("counts nothing where it is the order of an edited next_run_at itself", async () => {
    const { scheduler, clock, store, jobs, state } = failing(1);
    await store.update({ agent: "a", schedule: "x" }, { next_run_at: START, next_run_source: "manual" });
    await scheduler.start([agent("a", { x: every("1h", { retries: 1 }) })]);
    await clock.advance("1m");
    expect(tries(jobs)).toEqual(["00:00 1 manual of 00:00", "00:00:10 2 retry of 00:00"]);
    expect(await state("a", "x")).not.toHaveProperty("missed_count");
  });

  it("counts the time of a cron schedule that waited already when it was requested", async () => {
    const { scheduler, clock, jobs, state } = slow();
    await scheduler.start([agent("a", { x: cron("0 * * * *", { retries: 1 }) })]);
    await scheduler.pause("a");
    await clock.advance("90m");
    await scheduler.trigger("a", "x");
    await clock.advance("5m");
    await scheduler.resume("a");
    await clock.advance("5m");
    expect(tries(jobs)).toEqual(["01:30 1 manual of 01:30", "01:35 2 retry of 01:30"]);
    expect(await state("a", "x")).toMatchObject({ missed_count: 1, next_run_at: "2026-03-01T02:00:00.000Z" });
  });
});

/** What Rota promises about hints, failures and the reasons of runs in a running scheduler, one test a promise. */
import { describe, expect, it } from "vitest";
import { type AgentSchedule, FakeClock, type PlanSource } from "../../src/index.js";
import { agent, cron, every, scene, type Scene, START } from "../scheduler/scene.js";

/** `x` has run at 00:00. */
async function idle(
  x: AgentSchedule = every("1h"),
  options: Parameters<typeof scene>[0] = {},
): Promise<Scene> {
  const stage = scene(options);
  await stage.scheduler.start([agent("a", { x })]);
  await stage.clock.advance("1s");
  return stage;
}

describe("repeated failure", () => {
  it("slows retries down: 2, 4, 8 times the interval, at most 32 times", async () => {
    const clock = new FakeClock(START);
    const { runs } = await idle(every("1s"), {
      clock,
      work: () => Promise.reject(new Error("boom")),
    });
    await clock.advance("2m");
    expect(runs.slice(0, 8)).toEqual(
      ["00:00", "00:00:02", "00:00:06", "00:00:14", "00:00:30", "00:01:02", "00:01:34"].map(
        (at) => `${at} a/x`,
      ),
    );
  });
});

describe("the failure count", () => {
  it("is the new one: the first failure waits twice as long, the first success as long as ever", async () => {
    let isFailing = true;
    const { clock, state, plan } = await idle(every("5m"), {
      work: () => (isFailing ? Promise.reject(new Error("boom")) : undefined),
    });
    expect(await state("a", "x")).toMatchObject({ failure_count: 1 });
    expect(await plan("a", "x")).toBe("00:10 baseline-interval");
    isFailing = false;
    await clock.advance("10m");
    expect(await state("a", "x")).toMatchObject({ failure_count: 0 });
    expect(await plan("a", "x")).toBe("00:15 baseline-interval");
  });
});

describe("the source of a plan", () => {
  it.each<[PlanSource, AgentSchedule, string]>([
    ["baseline-interval", every("5m"), "00:05"],
    ["baseline-cron", cron("5 * * * *"), "00:05"],
    ["clamped-min", every("1s", { min_interval: "5m" }), "00:05"],
    ["clamped-max", every("1d", { max_interval: "5m" }), "00:05"],
  ])("is stored with the run it caused: %s", async (source, schedule, at) => {
    const { clock, store } = await idle(schedule);
    await clock.advance("5m");
    const [job] = await store.jobs.list({ limit: 1 });
    expect(job).toMatchObject({ source, started_at: `2026-03-01T${at}:00.000Z`, status: "completed" });
  });

  it("is stored with the run a hint caused", async () => {
    const { scheduler, clock, store } = await idle();
    await scheduler.hint("a", "x", { interval: "1m" });
    await clock.advance("1m");
    await scheduler.hint("a", "x", { runAt: clock.now() });
    await clock.advance("1s");
    const jobs = await store.jobs.list();
    expect(jobs.map(({ source }) => source)).toEqual(["ai-oneshot", "ai-interval", "first-run"]);
  });

  it("is `paused` while a pause lasts, which causes no run", async () => {
    const { scheduler, clock, runs, status } = await idle();
    await scheduler.pause("a", "x", "2026-03-01T03:00:00Z");
    expect(await status("a", "x")).toMatchObject({ source: "paused" });
    await clock.advanceTo("2026-03-01T03:59:00Z");
    expect(runs).toHaveLength(1);
  });
});

describe("a one-shot hint", () => {
  it("for now causes exactly one run, though it lives on; then the baseline counts again", async () => {
    const { scheduler, clock, runs, status } = await idle();
    await scheduler.hint("a", "x", { runAt: clock.now(), ttl: "1d" });
    await clock.advance("30m");
    expect(runs).toEqual(["00:00 a/x", "00:00:01 a/x"]);
    expect(await status("a", "x")).toMatchObject({
      hint: undefined,
      source: "baseline-interval",
      nextRunAt: new Date("2026-03-01T01:00:01Z"),
    });
  });

  it("leaves an interval hint beside it in force", async () => {
    const { scheduler, clock, status } = await idle();
    await scheduler.hint("a", "x", { runAt: clock.now(), interval: "10m" });
    await clock.advance("1s");
    expect(await status("a", "x")).toMatchObject({
      hint: { interval: "10m" },
      source: "ai-interval",
      nextRunAt: new Date("2026-03-01T00:10:01Z"),
    });
  });
});

describe("a hint that has expired", () => {
  it("is gone from the state after the next run", async () => {
    const { scheduler, clock, state } = await idle();
    await scheduler.hint("a", "x", { interval: "10m", ttl: "5m", reason: "for a while" });
    await clock.advance("10m");
    expect((await state("a", "x")).hint ?? null).toBeNull();
  });
});

describe("a plan that is past when its job ends", () => {
  it("is made again from there: a slow job is never claimed again at once", async () => {
    const clock = new FakeClock(START);
    const { runs, plan } = await idle(every("1m", { anchor: "start" }), {
      clock,
      work: () => clock.sleep("5m"),
    });
    await clock.advance("5m");
    expect(await plan("a", "x")).toBe("00:06 baseline-interval");
    expect(runs).toHaveLength(1);
  });

  it("is the next grid time for cron", async () => {
    const clock = new FakeClock(START);
    const { plan } = await idle(cron("0 * * * *"), { clock, work: () => clock.sleep("90m") });
    await clock.advance("150m");
    expect(await plan("a", "x")).toBe("03:00 baseline-cron");
  });
});

describe("a new hint", () => {
  it("takes effect now: 1 s on an idle hourly schedule runs within a second and a check", async () => {
    const { scheduler, clock, runs } = await idle();
    await clock.advance("20m");
    await scheduler.hint("a", "x", { interval: "1s" });
    await clock.advance("2s");
    expect(runs[1]).toBe("00:20:02 a/x");
  });

  it("stays within the limits, and waits for a pause to end", async () => {
    const { scheduler, clock, plan } = await idle(every("1h", { min_interval: "5m" }));
    await clock.advance("20m");
    await scheduler.hint("a", "x", { interval: "1s" });
    expect(await plan("a", "x")).toBe("00:25:01 clamped-min");
    await scheduler.pause("a", "x", "2026-03-01T06:00:00Z");
    await scheduler.hint("a", "x", { interval: "10m" });
    expect(await plan("a", "x")).toBe("06:00 paused");
  });
});

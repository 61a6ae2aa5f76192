import { describe, expect, it } from "vitest";
import { type AgentSchedule, MemoryStore, type ScheduleStatePatch } from "../../src/index.js";
import { agent, cron, every, once, scene, type Scene, shortTime, START } from "./scene.js";

const SLOT = "2026-02-28T23:59:00.000Z";
const KEY = { agent: "a", schedule: "x" };
const claim = (source: "baseline-cron" | "manual" | "retry") => ({
  token: "of-a-process-that-died",
  job_id: "job-2026-02-28-aaaaaaaa",
  slot: SLOT,
  source,
  claimed_at: "2026-02-28T23:59:00.100Z",
});

/** The next owner of a store whose last one died while it ran the schedule. */
async function afterCrash(schedule: AgentSchedule, more: ScheduleStatePatch = {}): Promise<Scene> {
  const store = new MemoryStore();
  await store.update(KEY, { status: "running", claim: claim("baseline-cron"), ...more });
  const stage = scene({ store });
  await stage.scheduler.start([agent("a", { x: schedule })]);
  await stage.settle();
  return stage;
}

describe("a slot whose process died", () => {
  it.each<[string, AgentSchedule]>([
    ["interval", every("1h")],
    ["cron", cron("0 3 * * *")],
    ["once", once(SLOT)],
    ["webhook", { type: "webhook" }],
    ["chat", { type: "chat" }],
  ])("runs again at once with its own time, as attempt 2: %s", async (_, schedule) => {
    const { jobs } = await afterCrash(schedule);
    expect(jobs).toMatchObject([{ slot: SLOT, attempt: 2, trigger: "retry", source: "retry" }]);
  });

  it("runs again with a line in the log", async () => {
    const { lines, jobs } = await afterCrash(cron("0 3 * * *"));
    expect(lines).toContain(`info: a/x runs again (${jobs[0]?.id}): attempt 2 at its slot ${SLOT}`);
  });

  it("tells its job the same slot and key", async () => {
    const told: unknown[] = [];
    const store = new MemoryStore();
    await store.update(KEY, { status: "running", claim: claim("baseline-cron") });
    const { scheduler, settle } = scene({ store });
    const run = ({ slot, key, attempt }: { slot: Date | null; key: string | null; attempt: number }) =>
      told.push([slot?.toISOString(), key, attempt]);
    await scheduler.start([agent("a", { x: cron("0 3 * * *") }, { run })]);
    await settle();
    expect(told).toEqual([[SLOT, `a/x@${SLOT}`, 2]]);
  });

  it("is over when it has run, and the schedule goes on with its next time", async () => {
    const { state, plan } = await afterCrash(cron("0 3 * * *"));
    expect(await plan("a", "x")).toBe("03:00 baseline-cron");
    const { retry, interrupted_count, failure_count, last_error } = await state("a", "x");
    expect({ retry, interrupted_count, failure_count, last_error }).toEqual({
      retry: undefined,
      interrupted_count: undefined,
      failure_count: 0,
      last_error: null,
    });
  });

  it.each([
    [2, 1, "00:01"],
    [3, 2, "00:02"],
    [4, 3, "00:04"],
  ])("is tried as attempt %i after waiting longer, and counts no failure", async (attempt, times, time) => {
    const retry = { slot: SLOT, attempt, trigger: "cron", source: "baseline-cron" } as const;
    const more = { claim: claim("retry"), retry, interrupted_count: times };
    const stage = await afterCrash(cron("0 3 * * *"), more);
    expect(stage.jobs).toEqual([]);
    expect(await stage.plan("a", "x")).toBe(`${time} retry`);
    expect(await stage.state("a", "x")).not.toHaveProperty("failure_count");
    await stage.clock.advance("5m");
    expect(stage.jobs).toMatchObject([{ slot: SLOT, attempt: attempt + 1, trigger: "retry" }]);
    expect(shortTime(stage.jobs[0]?.started_at)).toBe(time);
  });

  it.each<[string, AgentSchedule, ScheduleStatePatch, number]>([
    ["interval", every("1h"), { next_run_source: "baseline-interval" }, 1],
    ["hinted cron", cron("0 3 * * *"), { next_run_source: "ai-interval" }, 1],
    ["cron", cron("58 23 * * *"), { next_run_source: "baseline-cron" }, 1],
    ["paused cron", cron("58 23 * * *"), { next_run_source: "paused", accounted_until: SLOT }, 0],
    [
      "interval that is not due",
      every("1h"),
      { next_run_at: "2026-03-01T01:00:00Z", next_run_source: "baseline-interval" },
      0,
    ],
  ])(
    "on request keeps its time, and the planned one that came due beside it is counted and told: %s",
    async (_, schedule, plan, count) => {
      const beside = { next_run_at: "2026-02-28T23:58:00.000Z", ...plan };
      const { jobs, state, events } = await afterCrash(schedule, {
        claim: claim("manual"),
        missed_count: 3,
        ...beside,
      });
      expect(jobs).toMatchObject([{ slot: SLOT, attempt: 2, trigger: "retry" }]);
      expect(await state("a", "x")).toMatchObject({ missed_count: 3 + count });
      const told = events.filter((event) => /^(skipped|missed) a\/x .*23:58/.test(event));
      expect(told).toHaveLength(count);
      expect(await state("a", "x")).not.toHaveProperty("accounted_until");
    },
  );

  const FIFTH = {
    claim: claim("retry"),
    retry: { slot: SLOT, attempt: 5, trigger: "cron", source: "baseline-cron" },
    interrupted_count: 4,
  } as const;

  it.each<[string, AgentSchedule, string]>([
    ["interval", every("1h"), "02:00 baseline-interval"],
    ["cron", cron("0 3 * * *"), "03:00 baseline-cron"],
    ["once", once(SLOT), "never undefined"],
  ])("is given up aloud after its fifth attempt: %s", async (_, schedule, next) => {
    const store = new MemoryStore();
    await store.update(KEY, { status: "running", ...FIFTH });
    const stage = scene({ store });
    const given: unknown[] = [];
    stage.scheduler.on("schedule:abandoned", (details) => given.push(details));
    await stage.scheduler.start([agent("a", { x: schedule })]);
    await stage.settle();
    expect(stage.jobs).toEqual([]);
    expect(given).toEqual([{ ...KEY, slot: new Date(SLOT), attempts: 5 }]);
    expect(stage.warnings).toContainEqual(
      `a/x gave up its run of ${SLOT} after 5 attempts: the process that ran it ended each time.`,
    );
    expect(await stage.state("a", "x")).toMatchObject({ abandoned_count: 1, failure_count: 1 });
    const { next_run_at, next_run_source } = await stage.state("a", "x");
    expect(`${shortTime(next_run_at)} ${next_run_source ?? undefined}`).toBe(next);
    expect(await stage.state("a", "x")).not.toHaveProperty("retry");
  });

  it("pauses a schedule that pauses after a failure, when it is given up", async () => {
    const stage = await afterCrash(cron("0 3 * * *", { on_failure: "pause" }), FIFTH);
    expect((await stage.state("a", "x")).paused_until).toMatch(/^9999/);
  });

  it("runs at most once with on_interrupt: skip", async () => {
    const store = new MemoryStore();
    await store.update(KEY, { status: "running", claim: claim("baseline-cron") });
    const stage = scene({ store });
    const given: unknown[] = [];
    stage.scheduler.on("schedule:abandoned", (details) => given.push(details));
    await stage.scheduler.start([agent("a", { x: cron("0 3 * * *", { on_interrupt: "skip" }) })]);
    await stage.clock.advance("1h");
    expect(stage.jobs).toEqual([]);
    expect(given).toEqual([{ ...KEY, slot: new Date(SLOT), attempts: 1 }]);
    expect(await stage.plan("a", "x")).toBe("03:00 baseline-cron");
  });

  it("waits for the end of a pause, and keeps its time", async () => {
    const stage = await afterCrash(cron("0 3 * * *"), { paused_until: "2026-03-01T01:00:00.000Z" });
    expect(stage.jobs).toEqual([]);
    await stage.clock.advance("1h");
    expect(stage.jobs).toMatchObject([{ slot: SLOT, attempt: 2, trigger: "retry" }]);
  });

  it("is gone when its schedule is disabled", async () => {
    const stage = await afterCrash(cron("0 3 * * *"), { paused_until: "2026-03-01T01:00:00.000Z" });
    await stage.scheduler.disable("a", "x");
    await stage.scheduler.resume("a", "x");
    await stage.scheduler.enable("a", "x");
    expect(await stage.plan("a", "x")).toBe("03:00 baseline-cron");
    expect(stage.jobs).toEqual([]);
  });

  it("waits while a job runs on request, and keeps its attempt", async () => {
    const retry = { slot: SLOT, attempt: 2, trigger: "cron", source: "baseline-cron" } as const;
    const stage = await afterCrash(cron("0 3 * * *"), { claim: claim("retry"), retry, interrupted_count: 1 });
    expect(await stage.plan("a", "x")).toBe("00:01 retry");
    expect(await stage.scheduler.trigger("a", "x")).toMatchObject({ success: true });
    await stage.settle();
    expect(stage.jobs).toMatchObject([{ trigger: "manual", attempt: 1, slot: START }]);
    expect(await stage.plan("a", "x")).toBe("00:01 retry");
    await stage.clock.advance("1m");
    expect(stage.jobs[1]).toMatchObject({ slot: SLOT, attempt: 3, trigger: "retry" });
  });

  it("is kept when a job on request is interrupted too, which is given up", async () => {
    const retry = { slot: SLOT, attempt: 2, trigger: "cron", source: "baseline-cron" } as const;
    const plan = { next_run_at: "2026-03-01T00:01:00.000Z", next_run_source: "retry" } as const;
    const asked = { ...claim("manual"), slot: START, claimed_at: START };
    const stage = await afterCrash(cron("0 3 * * *"), { ...plan, retry, interrupted_count: 1, claim: asked });
    expect(await stage.state("a", "x")).toMatchObject({ retry, abandoned_count: 1, failure_count: 1 });
    await stage.clock.advance("1m");
    expect(stage.jobs).toMatchObject([{ slot: SLOT, attempt: 2, trigger: "retry" }]);
  });
});

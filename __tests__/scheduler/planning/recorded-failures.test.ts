/** A process that died after it had written the record of a job that failed, and before the state. */
import { describe, expect, it } from "vitest";
import {
  type AgentSchedule,
  FakeClock,
  type JobOutcomeRecord,
  MemoryStore,
  type ScheduleStatePatch,
  type StoredClaim,
} from "../../../src/index.js";
import { GatedStore } from "../gated-store.js";
import { agent, cron, every, once, scene, type Scene, START } from "../scene.js";

const SLOT = "2026-02-28T23:59:00.000Z";

/** A store whose owner died after it had written the record of a job that failed, and before the state. */
async function recordedFailure(
  claim: Pick<StoredClaim, "slot" | "source">,
  more: ScheduleStatePatch = {},
  end: Partial<JobOutcomeRecord> = {},
): Promise<{ stage: Scene; recorded: string }> {
  const clock = new FakeClock(START);
  const stage = scene({ clock, store: new MemoryStore({ clock }) });
  const key = { agent: "a", schedule: "x" };
  const recorded = "job-2026-02-28-aaaaaaaa";
  const died = { token: "of-a-process-that-died", job_id: recorded, ...claim };
  await stage.store.jobs.start({ id: recorded, ...key, trigger: "interval" });
  await stage.store.jobs.finish(recorded, { status: "failed", error: "no", ...end });
  await stage.store.update(key, { status: "running", claim: died, ...more });
  return { stage, recorded };
}

const RETRIED = every("1h", { retries: { count: 2, delay: "1m" } });

describe("a slot whose job failed by its record", () => {
  it.each([
    ["tries it again", 1, { failure_count: 0 }, [2]],
    ["counts one failure after the last try", 0, { failure_count: 1 }, []],
  ])(
    "whose failure was recorded just before a crash: the next scheduler %s",
    async (_, retries, after, tried) => {
      const { stage, recorded } = await recordedFailure({ slot: SLOT, source: "baseline-interval" });
      await stage.scheduler.start([agent("a", { x: every("1h", { retries }) })]);
      await stage.clock.advance("1m");
      expect(stage.jobs.map(({ slot, attempt }) => ({ slot, attempt }))).toEqual(
        tried.map((attempt) => ({ slot: SLOT, attempt })),
      );
      expect(await stage.state("a", "x")).toMatchObject(after);
      expect(await stage.state("a", "x")).not.toHaveProperty("retry");
      expect(await stage.store.jobs.get(recorded)).toMatchObject({ status: "failed" });
    },
  );

  it("whose last try was recorded just before a crash has failed, and pauses its schedule", async () => {
    const retry = {
      slot: SLOT,
      attempt: 3,
      trigger: "interval",
      source: "baseline-interval",
      failures: 2,
    } as const;
    const { stage } = await recordedFailure({ slot: SLOT, source: "retry" }, { retry, failure_count: 4 });
    await stage.scheduler.start([agent("a", { x: every("1h", { retries: 2, on_failure: "pause" }) })]);
    await stage.clock.advance("1m");
    expect(stage.jobs).toEqual([]);
    const state = await stage.state("a", "x");
    expect(state).toMatchObject({ failure_count: 5, paused_until: expect.stringMatching(/^9999/) });
    expect(state).not.toHaveProperty("retry");
  });

  it("whose second failure was recorded just before a crash waits from its end on, with the next attempt", async () => {
    const retry = {
      slot: SLOT,
      attempt: 3,
      trigger: "interval",
      source: "baseline-interval",
      failures: 1,
    } as const;
    const { stage } = await recordedFailure({ slot: SLOT, source: "retry" }, { retry, interrupted_count: 1 });
    await stage.clock.advance("30s");
    await stage.scheduler.start([agent("a", { x: RETRIED })]);
    await stage.settle();
    expect(await stage.plan("a", "x")).toBe("00:02 retry");
    const next = { slot: SLOT, attempt: 4, failures: 2, at: "2026-03-01T00:02:00.000Z" };
    expect(await stage.state("a", "x")).toMatchObject({ retry: next, interrupted_count: 1 });
  });

  it.each<[string, AgentSchedule]>([
    ["interval", every("1h", { retries: 1 })],
    ["cron", cron("0 * * * *", { retries: 1 })],
    ["once", once(SLOT, { retries: 1 })],
    ["webhook", { type: "webhook", retries: 1 }],
  ])(
    "on request, whose failure was recorded just before a crash, keeps its order: %s",
    async (_, schedule) => {
      const { stage, recorded } = await recordedFailure({ slot: SLOT, source: "manual" });
      await stage.scheduler.start([agent("a", { x: schedule })]);
      await stage.settle();
      expect(await stage.state("a", "x")).toMatchObject({
        retry: { slot: SLOT, attempt: 2, job_id: recorded, failures: 1 },
      });
    },
  );

  it("is tried again after a timeout too, on the same work item", async () => {
    const end = { status: "timeout", work_item: { id: "inbox:7", title: "First" } } as const;
    const { stage } = await recordedFailure({ slot: SLOT, source: "baseline-interval" }, {}, end);
    await stage.scheduler.start([agent("a", { x: RETRIED })]);
    await stage.settle();
    expect(await stage.state("a", "x")).toMatchObject({ retry: { attempt: 2, work_item: "inbox:7" } });
  });

  it("counts the planned time that came due beside it, where it was on request", async () => {
    const plan = { next_run_at: "2026-02-28T23:59:30.000Z", next_run_source: "baseline-interval" } as const;
    const { stage } = await recordedFailure({ slot: SLOT, source: "manual" }, plan);
    await stage.scheduler.start([agent("a", { x: RETRIED })]);
    await stage.clock.advance("5m");
    expect(stage.jobs).toMatchObject([{ slot: SLOT, attempt: 2 }]);
    expect(await stage.state("a", "x")).toMatchObject({ missed_count: 1, last_missed_at: plan.next_run_at });
  });

  it("is not tried again where it was on request beside a slot that waits, which goes on", async () => {
    const waiting = {
      slot: "2026-02-28T23:00:00.000Z",
      attempt: 2,
      failures: 1,
      at: "2026-03-01T00:01:00.000Z",
    };
    const more = { retry: waiting, next_run_at: waiting.at, next_run_source: "retry" } as const;
    const { stage } = await recordedFailure({ slot: SLOT, source: "manual" }, more);
    await stage.scheduler.start([agent("a", { x: RETRIED })]);
    await stage.settle();
    expect(await stage.plan("a", "x")).toBe("00:01 retry");
    expect(await stage.state("a", "x")).toMatchObject({ failure_count: 1, retry: waiting });
    await stage.clock.advance("1m");
    expect(stage.jobs).toMatchObject([{ slot: waiting.slot, attempt: 2 }]);
  });

  it("is decided with the first change of its schedule, where the start could not", async () => {
    const store = new GatedStore();
    const key = { agent: "a", schedule: "x" };
    const job = { id: "job-2026-02-28-aaaaaaaa", slot: SLOT, attempt: 1, status: "failed" } as const;
    const retry = { slot: SLOT, attempt: 1, trigger: "interval", source: "baseline-interval" } as const;
    await store.update(key, { retry, last_job: job, last_error: "no", failure_count: 1 });
    const { scheduler, clock, jobs, state } = scene({ store });
    store.fail("updateAll", new Error("the disk is full"));
    store.fail("update", new Error("the disk is full"), 2);
    await scheduler.start([agent("a", { x: RETRIED })]);
    await scheduler.hint("a", "x", { interval: "5m" });
    expect(await state("a", "x")).toMatchObject({ failure_count: 0, retry: { attempt: 2, failures: 1 } });
    await clock.advance("2m");
    expect(jobs).toMatchObject([{ slot: SLOT, attempt: 2 }]);
  });
});

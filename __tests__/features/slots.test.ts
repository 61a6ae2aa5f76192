/** What Rota promises about slots, triggers and past periods, one test a promise. */
import { describe, expect, it } from "vitest";
import { explainNextRun, FakeClock, type Job, MemoryStore } from "../../src/index.js";
import { agent, cron, every, scene, START } from "../scheduler/scene.js";

describe("a slot", () => {
  // Processes are killed in scheduler/scheduler-processes.test.ts and state/postgres/node.
  it("whose process died keeps its time and its key: the next run is attempt 2 of the same slot", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const key = { agent: "a", schedule: "x" };
    await store.open();
    await store.define({ schedules: [key] });
    await store.update(key, { next_run_at: START });
    await store.claimDue(1);
    await clock.advance("45s");
    const seen: unknown[] = [];
    const run = ({ slot, key: jobKey, record }: Job): void => {
      seen.push([slot?.toISOString(), jobKey, record.attempt, record.trigger]);
    };
    const { scheduler } = scene({ store, clock });
    await scheduler.start([agent("a", { x: every("1h") }, { run })]);
    await clock.advance("1m");
    expect(seen).toEqual([[START, `a/x@${START}`, 2, "retry"]]);
  });
});

describe("a downtime over seven slots", () => {
  it("is one event with the first slot, the last slot and the count, and is counted in the state", async () => {
    const before = scene();
    const agents = [agent("a", { x: cron("0 * * * *") })];
    await before.scheduler.start(agents);
    await before.clock.advance("30m");
    await before.scheduler.stop();
    await before.clock.advance("7h");
    const after = before.again();
    await after.scheduler.start(agents);
    await after.settle();
    expect(after.events.filter((event) => event.startsWith("missed"))).toEqual([
      "missed a/x 01:00 to 07:00 (7)",
    ]);
    expect(await after.state("a", "x")).toMatchObject({ missed_count: 7 });
    await after.clock.advance("30m");
    expect(after.runs).toEqual(["08:00 a/x"]);
  });
});

describe("a trigger", () => {
  it.each(["webhook", "chat"] as const)(
    "by %s fills its data into the prompt, and the record keeps trigger, prompt, data and cause",
    async (trigger) => {
      const prompts: string[] = [];
      const { scheduler, clock, jobs } = scene();
      await scheduler.start([
        agent(
          "a",
          { hook: { type: trigger, prompt: "Answer {{from.name}}." } },
          { run: ({ prompt }) => prompts.push(prompt) },
        ),
      ]);
      const data = { from: { name: "ada" } };
      const { jobId } = await scheduler.trigger("a", "hook", { data, trigger, cause: "a message" });
      await clock.advance("1s");
      expect(prompts).toEqual(["Answer ada."]);
      expect(jobs).toMatchObject([{ id: jobId, trigger, prompt: "Answer ada.", data, cause: "a message" }]);
    },
  );
});

describe("a plan", () => {
  it("says why, rule by rule: the interval, its failures, the limit, the pause", () => {
    const explained = explainNextRun({
      now: new Date(START),
      schedule: { type: "interval", interval: "1m", max_interval: "10m" },
      state: { last_completed_at: START, failure_count: 5, paused_until: "2026-03-01T01:00:00Z" },
    });
    expect(explained).toMatchObject({ nextRunAt: new Date("2026-03-01T01:00:00Z"), source: "paused" });
    expect(explained?.trail.map(({ rule }) => rule)).toEqual(["baseline", "failures", "limits", "pause"]);
  });
});

describe("a backfill", () => {
  it("lists the slots of a past period, then runs each of them one time, oldest first", async () => {
    const slots: (string | undefined)[] = [];
    const { scheduler, clock, starts } = scene();
    await scheduler.start([
      agent(
        "a",
        { x: cron("0 * * * *") },
        { run: ({ slot }) => slots.push(slot?.toISOString().slice(11, 16)) },
      ),
    ]);
    const period = { from: "2026-02-28T01:00:00Z", to: "2026-02-28T03:00:00Z" };
    const { slots: listed } = await scheduler.backfill("a", "x", { ...period, dryRun: true });
    expect(listed.map((slot) => slot.toISOString().slice(11, 16))).toEqual(["01:00", "02:00", "03:00"]);
    await clock.advance("10m");
    expect(starts).toEqual([]);
    await scheduler.backfill("a", "x", period);
    await clock.advance("40m");
    expect(slots).toEqual(["01:00", "02:00", "03:00"]);
  });
});

/** What Rota promises about its loop, one test a promise. */
import { describe, expect, it } from "vitest";
import { checkSchedule, type ScheduleQuestion } from "../../src/index.js";
import { agent, cron, every, gatedScene } from "../scheduler/scene.js";

describe("the check loop", () => {
  it("runs a pass every second: 10 passes in 10 idle seconds", async () => {
    const { scheduler, clock } = gatedScene();
    await scheduler.start([agent("a", { work: cron("0 12 * * *") })]);
    await clock.advance(9_999);
    expect(scheduler.getState().checkCount).toBe(10);
  });

  it("survives errors: a throwing job and a failing pass leave the other agent on time", async () => {
    const { scheduler, clock, store, starts } = gatedScene();
    const run = (): never => {
      throw new Error("always");
    };
    await scheduler.start([agent("A", { work: every("1s") }, { run }), agent("B", { work: every("10s") })]);
    await clock.advance("5s");
    store.fail("claimDue", new Error("once"));
    await clock.advance("25s");
    expect(starts.filter((start) => start.startsWith("B"))).toEqual([
      "B 00:00",
      "B 00:00:10",
      "B 00:00:20",
      "B 00:00:30",
    ]);
  });

  it("stops at once although it would sleep for 60 s", async () => {
    const { scheduler, clock, settle } = gatedScene({ checkInterval: 60_000 });
    await scheduler.start([agent("a", { work: cron("0 12 * * *") })]);
    await settle();
    await scheduler.stop();
    expect([clock.time(), clock.sleeping]).toEqual(["00:00", 0]);
  });

  it("names the first reason for a skip: type, disabled, running, capacity, time, pause", () => {
    const everything: ScheduleQuestion = {
      schedule: { type: "webhook" },
      state: {
        status: "disabled",
        next_run_at: "2026-03-01T02:00:00Z",
        paused_until: "2026-03-01T03:00:00Z",
      },
      isRunning: true,
      isAtCapacity: true,
      nowMs: Date.parse("2026-03-01T01:00:00Z"),
    };
    const removals: readonly ((question: ScheduleQuestion) => ScheduleQuestion)[] = [
      (question) => question,
      (question) => ({ ...question, schedule: { type: "interval" } }),
      (question) => ({ ...question, state: { ...question.state, status: "idle" } }),
      (question) => ({ ...question, isRunning: false }),
      (question) => ({ ...question, isAtCapacity: false }),
      (question) => ({ ...question, state: { ...question.state, next_run_at: "2026-03-01T01:00:00Z" } }),
      (question) => ({ ...question, state: { ...question.state, paused_until: null } }),
    ];
    let question = everything;
    const answers = removals.map((remove) => {
      question = remove(question);
      const answer = checkSchedule(question);
      return answer.shouldTrigger ? "runs" : answer.skipReason;
    });
    expect(answers).toEqual([
      "unsupported_type",
      "disabled",
      "already_running",
      "at_capacity",
      "not_due",
      "paused",
      "runs",
    ]);
  });

  it("shows what each schedule waits for", async () => {
    const { scheduler, clock } = gatedScene();
    const run = (): Promise<void> => clock.sleep("1h");
    await scheduler.start([
      agent("busy", { runs: every("1h"), waits: every("1h") }, { run }),
      agent("idle", { hook: { type: "webhook" }, off: cron("0 1 * * *"), later: cron("0 1 * * *") }),
    ]);
    await scheduler.disable("idle", "off");
    await clock.advance("1s");
    const waiting = (await scheduler.getSchedules()).map((status) => [status.schedule, status.waiting]);
    expect(waiting).toEqual([
      ["runs", "already_running"],
      ["waits", "at_capacity"],
      ["hook", "unsupported_type"],
      ["off", "disabled"],
      ["later", "not_due"],
    ]);
  });

  it("reports skips to the log and the listeners, with agent, schedule and reason", async () => {
    const { scheduler, clock, lines } = gatedScene();
    const told: unknown[] = [];
    scheduler.on("schedule:skipped", ({ agent: name, schedule, reason }) =>
      told.push([name, schedule, reason]),
    );
    const schedules = { first: every("1h"), second: every("1h") };
    await scheduler.start([agent("a", schedules, { run: () => clock.sleep("10s") })]);
    await clock.advance("5s");
    expect(told).toEqual([["a", "second", "at_capacity"]]);
    expect(lines).toContain("debug: Skipping a/second at 2026-03-01T00:00:00.000Z: at_capacity");
  });

  it("applies new agents at its next pass: a removed agent ends its job and starts none", async () => {
    const { scheduler, clock, store, starts } = gatedScene();
    await scheduler.start([agent("a", { work: every("5s") }, { run: () => clock.sleep("10s") })]);
    await clock.advance("5s");
    scheduler.setAgents([agent("b", { work: every("30s") })]);
    await clock.advance("35s");
    expect(starts).toEqual(["a 00:00", "b 00:00:05", "b 00:00:35"]);
    expect(await store.jobs.list({ agent: "a" })).toMatchObject([{ status: "completed" }]);
  });

  it("applies changes between two passes: pause, hint, edit", async () => {
    const { scheduler, clock, store, starts } = gatedScene();
    await scheduler.start([
      agent("paused", { work: every("10s") }),
      agent("hinted", { work: every("1h") }),
      agent("edited", { work: cron("0 12 * * *") }),
    ]);
    await clock.advance(5_500);
    await scheduler.pause("paused");
    await scheduler.hint("hinted", "work", { interval: "10s" });
    await store.changeFromOutside(
      { agent: "edited", schedule: "work" },
      { next_run_at: "2026-03-01T00:00:07.000Z" },
    );
    await clock.advance(6_000);
    expect(starts).toEqual(["paused 00:00", "hinted 00:00", "edited 00:00:07", "hinted 00:00:10"]);
  });
});

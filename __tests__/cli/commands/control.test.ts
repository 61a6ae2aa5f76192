import { describe, expect, it, vi } from "vitest";
import { zonedTime } from "../../../src/cli/format/when.js";
import { NO_END } from "../../../src/scheduler/planning/state-after-job.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import type { ScheduleState } from "../../../src/state/schedule-state.js";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { rota } from "../terminal.js";

async function stateOf(scene: Scene, name: string): Promise<ScheduleState> {
  const [agent = "", schedule = ""] = name.split("/");
  await using store = new FileStore({ stateDir: scene.stateDir });
  return store.read({ agent, schedule });
}

describe("rota pause", () => {
  it("pauses a schedule until it is resumed", async () => {
    const scene = new Scene();
    expect(await scene.run("pause", "reports/hourly")).toBe(0);
    expect(scene.err).toBe("Paused reports/hourly.\n");
    expect((await stateOf(scene, "reports/hourly")).paused_until).toBe(NO_END);
    expect(await scene.run("resume", "reports/hourly")).toBe(0);
    expect(scene.err).toBe("Resumed reports/hourly.\n");
    expect((await stateOf(scene, "reports/hourly")).paused_until).toBeUndefined();
  });

  it.each([
    ["--for", "2h"],
    ["--until", "2026-03-01T14:00:00Z"],
  ])("pauses an agent %s %s, and writes no schedule", async (option, value) => {
    const scene = new Scene();
    expect(await scene.run("pause", "reports", option, value, "--json")).toBe(0);
    const pause = { by: "user", since: "2026-03-01T12:00:00.000Z", until: "2026-03-01T14:00:00.000Z" };
    expect(scene.json).toEqual({ agent: "reports", pause });
    expect((await stateOf(scene, "reports/hourly")).paused_until).toBeUndefined();
    expect(await scene.run("list", "reports", "--json")).toBe(0);
    expect(scene.json).toMatchObject(
      [
        ["nightly", "paused", "paused with its agent until 2026-03-01T14:00:00+00:00"],
        ["hourly", "paused", "paused with its agent until 2026-03-01T14:00:00+00:00"],
        ["old", "disabled", "switched off in the configuration"],
      ].map(([schedule, status, why]) => ({ schedule, status, agent_pause: pause, why })),
    );
  });

  it("of an agent lasts until the agent is resumed, and a schedule alone cannot be resumed", async () => {
    const scene = new Scene();
    expect(await scene.run("pause", "reports")).toBe(0);
    expect(scene.err).toBe("Paused agent reports.\n");
    expect(await scene.run("resume", "reports/hourly")).toBe(1);
    expect(scene.err).toContain("`rota resume reports` resumes the agent");
    expect(await scene.run("next", "reports/hourly")).toBe(0);
    expect(scene.err).toContain("No next run: paused with its agent until it is resumed");
    expect(await scene.run("why", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ verdict: "paused" });
    expect(await scene.run("resume", "reports")).toBe(0);
    expect(scene.err).toBe("Resumed agent reports.\n");
    expect(await scene.run("list", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ status: "idle", agent_pause: null }]);
  });

  it("leaves a pause that a failure has caused, and says so", async () => {
    const scene = new Scene();
    await using store = new FileStore({ stateDir: scene.stateDir, clock: scene.clock });
    const pause = { by: "failure", since: "2026-03-01T11:00:00.000Z", note: "out of paper" } as const;
    await store.changePause("reports", () => pause);
    expect(await scene.run("pause", "reports", "--for", "2h")).toBe(0);
    expect(scene.err).toBe(
      "Agent reports stays paused until it is resumed, because a run failed: out of paper.\n",
    );
    expect(await scene.run("status")).toBe(4);
    expect(scene.out).toContain("! reports: paused until it is resumed, because a run failed: out of paper");
    expect(await scene.run("describe", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ agent_pause: pause }]);
  });

  it("of an agent reaches a running scheduler", async () => {
    const scene = new Scene();
    const { call, scheduler } = await startScheduler(scene, () => "done");
    expect(await call("pause", "inbox")).toBe(0);
    await vi.waitFor(async () => {
      await scene.clock.advance("1s");
      expect((await scheduler.getSchedules())[0]).toMatchObject({ agentPause: { by: "user" } });
    });
  });

  it("pauses for a length of time with several units", async () => {
    const scene = new Scene();
    expect(await scene.run("pause", "reports/hourly", "--for", "1h30m")).toBe(0);
    expect((await stateOf(scene, "reports/hourly")).paused_until).toBe("2026-03-01T13:30:00.000Z");
  });

  it.each([
    ["--for together with --until", ["--for", "2h", "--until", "2026-03-01T14:00:00Z"], "not both"],
    ["an end in the past", ["--until", "2026-03-01T11:00:00Z"], "in the past"],
    ["an invalid time", ["--until", "soon"], 'Invalid --until "soon"'],
    ["a number without a unit", ["--for", "90"], 'Invalid --for "90": expected a duration such as "90m"'],
    ["no time at all", ["--for", "0m"], 'Invalid --for "0m"'],
  ])("refuses %s", async (_, options, says) => {
    const scene = new Scene();
    expect(await scene.run("pause", "reports", ...options)).toBe(2);
    expect(scene.err).toContain(says);
  });

  it("reaches a running scheduler", async () => {
    const scene = new Scene();
    const { call, scheduler } = await startScheduler(scene, () => "done");
    expect(await call("pause", "inbox/hook")).toBe(0);
    await vi.waitFor(async () => {
      await scene.clock.advance("1s");
      expect((await scheduler.getSchedules())[0]?.pausedUntil).toEqual(new Date(NO_END));
    });
  });

  it("works as a process", async () => {
    const scene = new Scene();
    expect(await rota(["pause", "reports/hourly"], scene.cwd)).toMatchObject({ exitCode: 0 });
    expect(await rota(["resume", "reports/hourly"], scene.cwd)).toMatchObject({ exitCode: 0 });
  });
});

describe("rota disable", () => {
  it("disables a schedule and removes its plan, until it is enabled", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { next_run_at: "2026-03-01T13:00:00Z" });
    expect(await scene.run("disable", "reports/hourly")).toBe(0);
    expect(await stateOf(scene, "reports/hourly")).toMatchObject({ status: "disabled", next_run_at: null });
    expect(await scene.run("enable", "reports/hourly")).toBe(0);
    expect(await stateOf(scene, "reports/hourly")).toMatchObject({ status: "idle" });
  });

  it("exits with 3 for an unknown schedule", async () => {
    const scene = new Scene();
    expect(await scene.run("disable", "report")).toBe(3);
    expect(scene.err).toContain('Did you mean "reports"?');
  });

  it("works as a process", async () => {
    const scene = new Scene();
    expect(await rota(["disable", "reports"], scene.cwd)).toMatchObject({ exitCode: 0 });
    expect(await rota(["enable", "reports"], scene.cwd)).toMatchObject({ exitCode: 0 });
  });
});

describe("rota hint", () => {
  it("sets a different interval for a while", async () => {
    const scene = new Scene();
    const advice = ["--interval", "1m", "--ttl", "30m", "--reason", "busy"];
    expect(await scene.run("hint", "reports/hourly", ...advice)).toBe(0);
    expect(scene.err).toBe(
      `Hint set for reports/hourly: every 1m until ${zonedTime(new Date("2026-03-01T12:30:00Z"))}.\n`,
    );
    expect((await stateOf(scene, "reports/hourly")).hint).toMatchObject({
      interval: "1m",
      expires_at: "2026-03-01T12:30:00.000Z",
      reason: "busy",
    });
  });

  it("adds one extra run, and removes the hint", async () => {
    const scene = new Scene();
    expect(await scene.run("hint", "reports/hourly", "--at", "10m")).toBe(0);
    expect(scene.err).toBe(
      `Hint set for reports/hourly: one extra run at ${zonedTime(new Date("2026-03-01T12:10:00Z"))}.\n`,
    );
    expect((await stateOf(scene, "reports/hourly")).hint).toMatchObject({
      next_run_at: "2026-03-01T12:10:00.000Z",
    });
    expect(await scene.run("hint", "reports/hourly", "--clear")).toBe(0);
    expect(scene.err).toBe("Hint removed from reports/hourly.\n");
    expect((await stateOf(scene, "reports/hourly")).hint).toBeUndefined();
  });

  it.each([
    ["a call without options", []],
    ["a hint together with --clear", ["--clear", "--at", "10m"]],
  ])("refuses %s", async (_, options) => {
    const scene = new Scene();
    expect(await scene.run("hint", "reports/hourly", ...options)).toBe(2);
  });

  it("refuses an invalid interval", async () => {
    const scene = new Scene();
    expect(await scene.run("hint", "reports/hourly", "--interval", "often")).toBe(2);
    expect(scene.err).toContain('"often"');
    expect(await scene.run("hint", "reports/hourly", "--interval", "5m", "--ttl", "long")).toBe(2);
    expect(scene.err).toContain('"long"');
  });

  it("works as a process", async () => {
    const scene = new Scene();
    expect(await rota(["hint", "reports/hourly", "--at", "1h"], scene.cwd)).toMatchObject({ exitCode: 0 });
  });
});

import { describe, expect, it } from "vitest";
import { NO_END } from "../../../src/scheduler/planning/state-after-job.js";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { NOW } from "../terminal.js";

interface Status {
  readonly status: string;
  readonly schedules: Readonly<Record<string, number>>;
  readonly schedulers: readonly unknown[];
  readonly warnings: readonly { readonly about: string; readonly message: string }[];
}

const PLANNED = { next_run_at: "2026-03-01T13:00:00Z", next_run_source: "baseline-interval" } as const;

async function statusOf(scene: Scene, exitCode: number): Promise<Status> {
  expect(await scene.run("status", "--json")).toBe(exitCode);
  return scene.json as Status;
}

describe("rota status", () => {
  it("exits with 0 while a scheduler runs and nothing needs attention", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    expect(await scene.run("status")).toBe(0);
    expect(scene.lines).toEqual([
      expect.stringMatching(
        /^healthy: 4 schedules, 1 disabled\. Scheduler: process \d+ on \S+, started .*\.$/,
      ),
    ]);
  });

  it("exits with 4 when no scheduler runs and schedules wait for one", async () => {
    const scene = new Scene();
    expect(await scene.run("status")).toBe(4);
    expect(scene.lines).toEqual([
      `warned: 4 schedules, 1 disabled. No scheduler runs on ${scene.stateDir}.`,
      `! scheduler: none runs on ${scene.stateDir}, and 2 schedules wait for one`,
    ]);
  });

  it("exits with 0 without a scheduler when no schedule waits for one", async () => {
    const scene = new Scene();
    await scene.state("reports/nightly", { status: "disabled" });
    await scene.state("reports/hourly", { paused_until: NO_END });
    expect(await statusOf(scene, 0)).toMatchObject({
      status: "healthy",
      schedulers: [],
      schedules: { total: 4, paused: 1, disabled: 2 },
    });
  });

  it("exits with 4 when a schedule fails, and says how often and why", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    await scene.state("reports/hourly", { ...PLANNED, failure_count: 3, last_error: "no such\nfile" });
    expect(await statusOf(scene, 4)).toMatchObject({
      status: "warned",
      schedules: { failing: 1 },
      warnings: [{ about: "reports/hourly", message: "3 failures in a row: no such\nfile" }],
    });
    await scene.run("status");
    expect(scene.lines[1]).toBe("! reports/hourly: 3 failures in a row: no such file");
  });

  it("exits with 4 when a slot is overdue although a scheduler runs", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    await scene.state("reports/hourly", { ...PLANNED, next_run_at: "2026-03-01T11:55:00Z" });
    const { warnings } = await statusOf(scene, 4);
    expect(warnings).toEqual([
      { about: "reports/hourly", message: expect.stringMatching(/^overdue by 5m: /) as string },
    ]);
  });

  it("exits with 2 for an invalid configuration", async () => {
    const scene = new Scene();
    scene.write("agents: 7");
    expect(await scene.run("status")).toBe(2);
  });

  it("cuts no name on a terminal of 80 columns", async () => {
    const scene = new Scene({ columns: 80, env: { NO_COLOR: "1" } });
    const [agent, schedule] = [`${"quarterly-reporting-".repeat(4)}agent`, "every-business-day"];
    const name = `${agent}/${schedule}`;
    const definition = `schedules: { ${schedule}: { type: interval, interval: 1h } }`;
    scene.write(`agents: [{ name: ${agent}, runtime: command, command: [node], ${definition} }]`);
    await scene.state(name, { failure_count: 2, last_error: "no luck", next_run_at: NOW });
    await scene.run("status");
    expect(scene.out).toContain(`${name}: 2 failures in a row: no luck\n`);
  });
});

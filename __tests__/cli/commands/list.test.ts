import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NO_END } from "../../../src/scheduler/planning/state-after-job.js";
import { Scene } from "../scene.js";
import { NOW, rota, Terminal } from "../terminal.js";

const CLAIM = { token: "t", job_id: "job-2026-03-01-aaaaaa", slot: NOW, claimed_at: NOW };

/** The last columns of the row that has this name: what follows the times. */
async function whyOf(scene: Scene, name: string): Promise<string> {
  expect(await scene.run("list", "--all")).toBe(0);
  const line = scene.lines.find((one) => one.includes(` ${name}`)) ?? "";
  return line.slice(line.indexOf(name) + name.length).trim();
}

describe("rota list", () => {
  it("shows every schedule of the configuration, sorted by next run", async () => {
    const scene = new Scene({ env: { TZ: "UTC" } });
    await scene.state("reports/nightly", {
      next_run_at: "2026-03-01T12:05:00Z",
      next_run_source: "baseline-cron",
    });
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T12:04:30Z",
      next_run_source: "baseline-interval",
      last_run_at: "2026-03-01T09:00:00Z",
    });
    expect(await scene.run("list")).toBe(0);
    const rows = scene.lines.map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual(["NEXT", "IN", "LAST", "AGO", "STATUS", "AGENT/SCHEDULE", "WHY"]);
    expect(rows[1]?.slice(1)).toEqual([
      "4m 30s",
      expect.any(String),
      "3h ago",
      "idle",
      "reports/hourly",
      "every 1h",
    ]);
    expect(rows[2]?.slice(1)).toEqual([
      "5m",
      "-",
      "-",
      "idle",
      "reports/nightly",
      "cron 30 2 * * * Europe/Berlin",
    ]);
    expect(rows).toHaveLength(5);
  });

  it("shows no run before the end of a pause that no scheduler has seen", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T12:04:30Z",
      next_run_source: "baseline-interval",
      paused_until: "2026-03-01T14:00:00Z",
    });
    await scene.run("list", "reports/hourly", "--json");
    expect(scene.json).toMatchObject([{ status: "paused", next_run_at: "2026-03-01T14:00:00.000Z" }]);
  });

  it("prints the number of schedules and that no scheduler runs, on stderr", async () => {
    const scene = new Scene();
    await scene.run("list");
    expect(scene.err).toBe(`4 schedules. No scheduler runs on ${scene.stateDir}.\n`);
  });

  it("names the process of the scheduler", async () => {
    const scene = new Scene();
    await using _ = await scene.owned();
    await scene.run("list", "inbox");
    expect(scene.err).toContain(`1 schedule. Scheduler: process ${process.pid} on `);
  });

  it.each([
    ["a schedule that was never planned", {}, "not planned yet"],
    [
      "a running job whose scheduler is gone",
      { status: "running", claim: CLAIM },
      `running ${CLAIM.job_id}, whose scheduler is gone`,
    ],
    ["a disabled schedule", { status: "disabled" }, "disabled"],
    ["a pause with an end", { paused_until: "2026-03-01T13:00:00Z" }, "paused until "],
    ["a pause without an end", { paused_until: NO_END }, "paused until it is resumed"],
    ["a time that has passed", { next_run_at: "2026-03-01T11:00:00Z" }, "due, but no scheduler runs"],
    [
      "failures that slow it down",
      { next_run_at: "2026-03-01T13:00:00Z", next_run_source: "baseline-interval", failure_count: 3 },
      "every 1h, slower after 3 failures",
    ],
    [
      "a hint and its reason",
      {
        next_run_at: "2026-03-01T13:00:00Z",
        next_run_source: "ai-interval",
        hint: { interval: "5m", expires_at: "2026-03-01T14:00:00Z", reason: "busy morning" },
      },
      "hint, every 5m: busy morning",
    ],
  ] as const)("shows the reason for %s", async (_, patch, why) => {
    const scene = new Scene();
    await scene.state("reports/hourly", patch);
    expect(await whyOf(scene, "reports/hourly")).toContain(why);
  });

  it("shows that a due schedule waits for capacity", async () => {
    const scene = new Scene();
    await scene.state("reports/nightly", { status: "running", claim: CLAIM });
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T11:59:00Z",
      next_run_source: "baseline-interval",
    });
    await using owner = scene.store();
    await owner.open();
    await scene.state("reports/nightly", { status: "running", claim: CLAIM });
    expect(await whyOf(scene, "reports/hourly")).toBe("waiting for capacity: 1 of 1 running");
  });

  it.each([
    ["reports/old", "switched off in the configuration"],
    ["inbox/hook", "runs on web requests only"],
  ])("shows %s as %s", async (name, why) => {
    expect(await whyOf(new Scene(), name)).toBe(why);
  });

  it.each([
    ["baseline-cron", null],
    ["manual", "2026-03-01T12:05:00.000Z"],
  ] as const)("shows the next run of a webhook with source %s: %s", async (source, shown) => {
    const scene = new Scene();
    await scene.state("inbox/hook", { next_run_at: "2026-03-01T12:05:00Z", next_run_source: source });
    await scene.run("list", "inbox", "--json");
    expect(JSON.parse(scene.out)).toMatchObject([{ schedule: "hook", next_run_at: shown }]);
  });

  it("shows schedules that exist only in the state with --all", async () => {
    const scene = new Scene();
    await scene.state("gone/once", { last_run_at: NOW });
    await scene.run("list");
    expect(scene.out).not.toContain("gone/once");
    expect(await whyOf(scene, "gone/once")).toBe("no longer planned");
  });

  it("prints JSON", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T12:04:30Z",
      next_run_source: "first-run",
      failure_count: 2,
    });
    expect(await scene.run("list", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toEqual([
      {
        agent: "reports",
        schedule: "hourly",
        status: "failing",
        next_run_at: "2026-03-01T12:04:30.000Z",
        next_run_source: "first-run",
        last_run_at: null,
        last_error: null,
        failure_count: 2,
        missed_count: 0,
        abandoned_count: 0,
        paused_until: null,
        agent_pause: null,
        hint: null,
        job: null,
        why: "first run",
      },
    ]);
  });

  it("prints only names with --names", async () => {
    const scene = new Scene();
    await scene.run("list", "--names");
    expect(scene.lines).toEqual(["reports/nightly", "reports/hourly", "reports/old", "inbox/hook"]);
  });

  it("cuts no name and no id of a running job on a terminal of 80 columns", async () => {
    const scene = new Scene({ columns: 80, env: { NO_COLOR: "1" } });
    const name = "quarterly-reporting/every-business-day";
    const claim = { token: "t", job_id: "job-2026-03-01-abcdefgh", slot: NOW, claimed_at: NOW };
    await scene.state(name, { next_run_at: "2026-03-01T13:00:00Z", next_run_source: "first-run" });
    await using _ = await scene.owned();
    await scene.state("reports/hourly", { status: "running", claim });
    await scene.run("list", "--all");
    expect(scene.out).toContain(name);
    expect(scene.out).toContain("abcdefgh\n");
    expect(Math.max(...scene.lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it("fits a terminal of 80 columns", async () => {
    const scene = new Scene({ columns: 80, env: { NO_COLOR: "1" } });
    await scene.state("reports/hourly", {
      paused_until: "2026-03-01T13:00:00Z",
      last_run_at: "2026-02-01T00:00:00Z",
    });
    await scene.state("reports/nightly", {
      next_run_at: "2026-03-02T01:30:00Z",
      last_run_at: "2026-03-01T01:30:00Z",
    });
    await scene.run("list");
    expect(Math.max(...scene.lines.map(({ length }) => length))).toBe(80);
  });

  it("exits with 3 for an unknown agent, and lists the known agents", async () => {
    const scene = new Scene();
    expect(await scene.run("list", "report")).toBe(3);
    expect(scene.err).toBe(
      'rota: There is no agent "report". Did you mean "reports"? Known agents: "reports", "inbox".\n',
    );
  });

  it("works without a configuration", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { last_run_at: NOW });
    const elsewhere = new Terminal();
    expect(await elsewhere.run("list", "--state-dir", scene.stateDir, "--names")).toBe(0);
    expect(elsewhere.lines).toEqual(["reports/hourly"]);
  });

  it("finds the configuration in a directory above", async () => {
    const scene = new Scene();
    mkdirSync(join(scene.cwd, "a/b"), { recursive: true });
    const { exitCode, out } = await rota(["list", "--names"], join(scene.cwd, "a/b"));
    expect(exitCode).toBe(0);
    expect(out).toContain("reports/nightly\n");
  });

  it("changes and creates no file", async () => {
    const scene = new Scene();
    await scene.run("list");
    await scene.run("jobs");
    expect(await scene.run("list", "--state-dir", "nowhere", "-c", "rota.yaml")).toBe(0);
    expect(readdirSync(scene.cwd)).toEqual(["rota.yaml"]);
  });

  it.each([
    [2, "there is no configuration", []],
    [3, "the state directory does not exist", ["--state-dir", "nowhere"]],
    [2, "the configuration does not exist", ["--config", "nowhere.yaml"]],
  ])("exits with %i when %s", async (exitCode, _, args) => {
    expect(await new Terminal().run("list", ...args)).toBe(exitCode);
  });
});

import { describe, expect, it } from "vitest";
import { Scene } from "../scene.js";
import { NOW, rota, Terminal } from "../terminal.js";

/** The run, source and remark of each row. */
function rows(terminal: Terminal): string[][] {
  return terminal.lines.slice(1).map((line) => line.split(/ {2,}/));
}

async function times(...args: string[]): Promise<unknown[]> {
  const terminal = new Terminal();
  expect(await terminal.run("next", "--json", ...args)).toBe(0);
  return (terminal.json as { at: unknown }[]).map(({ at }) => at);
}

describe("rota next", () => {
  it("shows the runs of a cron expression in its zone, with their offset", async () => {
    const zone = ["--timezone", "Asia/Kolkata", "-n", "2"];
    expect(await times("--cron", "0 9 * * *", ...zone)).toEqual([
      "2026-03-02T09:00:00+05:30",
      "2026-03-03T09:00:00+05:30",
    ]);
  });

  it("shows ten runs by default", async () => {
    expect(await times("--cron", "@hourly")).toHaveLength(10);
  });

  it("plans an interval from now, with the first run now", async () => {
    expect(await times("--interval", "5m", "-n", "3")).toHaveLength(3);
    const terminal = new Terminal();
    await terminal.run("next", "--interval", "5m", "-n", "3");
    expect(rows(terminal).map(([, ...row]) => row)).toEqual([
      ["now", "first-run"],
      ["5m", "baseline-interval"],
      ["10m", "baseline-interval"],
    ]);
  });

  it("marks the run where the clocks go forward", async () => {
    const terminal = new Terminal();
    const from = ["--from", "2026-03-28T12:00:00Z", "-n", "2"];
    await terminal.run("next", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", ...from);
    expect(terminal.lines[1]).toMatch(/^2026-03-29T03:00:00\+02:00 .* the clocks go forward 1h here$/);
    expect(terminal.lines[2]).toMatch(/baseline-cron$/);
  });

  it("marks which of two equal local times a run has", async () => {
    const terminal = new Terminal();
    const from = ["--from", "2026-10-24T23:30:00Z", "-n", "4"];
    await terminal.run("next", "--cron", "0 * * * *", "--timezone", "Europe/Berlin", ...from);
    expect(rows(terminal).map(([at, , , remark]) => [at, remark])).toEqual([
      ["2026-10-25T02:00:00+02:00", "this local time comes twice: the first time"],
      ["2026-10-25T02:00:00+01:00", "this local time comes twice: the second time"],
      ["2026-10-25T03:00:00+01:00", undefined],
      ["2026-10-25T04:00:00+01:00", undefined],
    ]);
  });

  it("plans a schedule of the configuration from its state", async () => {
    const scene = new Scene();
    const planned = { next_run_at: "2026-03-01T12:20:00Z", next_run_source: "baseline-interval" } as const;
    await scene.state("reports/hourly", { last_run_at: "2026-03-01T11:20:00Z", ...planned });
    expect(await scene.run("next", "reports/hourly", "-n", "2")).toBe(0);
    expect(rows(scene).map(([, ...row]) => row)).toEqual([
      ["20m", "baseline-interval"],
      ["1h 20m", "baseline-interval"],
    ]);
  });

  it("starts with the backoff after failures, and continues without it", async () => {
    const scene = new Scene();
    const planned = { next_run_at: "2026-03-01T16:00:00Z", next_run_source: "baseline-interval" } as const;
    await scene.state("reports/hourly", { last_run_at: NOW, failure_count: 2, ...planned });
    await scene.run("next", "reports/hourly", "-n", "2");
    expect(rows(scene).map(([, when]) => when)).toEqual(["4h", "5h"]);
  });

  it("uses a hint for one extra run, and then follows the rule again", async () => {
    const scene = new Scene();
    const hint = { next_run_at: "2026-03-01T12:10:00Z", expires_at: "2026-03-01T13:00:00Z" };
    await scene.state("reports/hourly", { last_completed_at: NOW, last_run_at: NOW, hint });
    await scene.run("next", "reports/hourly", "-n", "2");
    expect(rows(scene).map(([, ...row]) => row)).toEqual([
      ["10m", "ai-oneshot"],
      ["1h 10m", "baseline-interval"],
    ]);
  });

  it("leaves the running job out of the next runs", async () => {
    const scene = new Scene();
    const claim = { token: "t", job_id: "job-2026-03-01-aaaaaa", slot: NOW, claimed_at: NOW };
    const planned = { next_run_at: NOW, next_run_source: "baseline-interval" } as const;
    await scene.state("reports/hourly", { status: "running", claim, ...planned });
    await scene.run("next", "reports/hourly", "-n", "2");
    expect(rows(scene).map(([, when]) => when)).toEqual(["1h", "2h"]);
  });

  it("shows no run within a pause", async () => {
    const scene = new Scene();
    await scene.state("reports/nightly", { paused_until: "2026-03-04T00:00:00Z" });
    await scene.run("next", "reports/nightly", "-n", "1");
    expect(scene.lines[1]).toMatch(/^2026-03-04T02:30:00\+01:00/);
  });

  it.each([
    [
      "is paused until it is resumed",
      { paused_until: "9999-12-31T23:59:59.999Z" },
      "paused until it is resumed",
    ],
    ["is disabled", { status: "disabled" }, "disabled"],
  ] as const)("shows the reason when there is no next run of a schedule that %s", async (_, patch, why) => {
    const scene = new Scene();
    await scene.state("reports/nightly", patch);
    expect(await scene.run("next", "reports/nightly")).toBe(0);
    expect(scene.out).toBe("");
    expect(scene.err).toBe(`No next run: ${why}.\n`);
  });

  it("accepts the name of an agent with one schedule", async () => {
    const scene = new Scene();
    expect(await scene.run("next", "inbox")).toBe(0);
    expect(scene.err).toContain("runs on web requests only");
  });

  it.each([
    [2, "an invalid expression", ["--cron", "61 * * * *"], "The minute goes from 0 to 59"],
    [
      2,
      "an unknown zone",
      ["--cron", "@daily", "--timezone", "Mars/Olympus"],
      'Unknown time zone "Mars/Olympus"',
    ],
    [2, "an invalid interval", ["--interval", "5x"], 'Invalid time unit "x"'],
    [2, "no arguments", [], "Give exactly one of agent/schedule, --cron and --interval"],
    [
      2,
      "a schedule together with --cron",
      ["reports/hourly", "--cron", "@daily"],
      "Give exactly one of agent/schedule, --cron and --interval",
    ],
    [2, "a zone without an expression", ["reports/hourly", "--timezone", "UTC"], "works with --cron only"],
    [2, "an invalid time", ["--cron", "@daily", "--from", "noon"], 'Invalid --from "noon"'],
    [2, "too many runs", ["--cron", "@daily", "-n", "99999"], "at most 10000"],
    [2, "an agent with several schedules", ["reports"], 'Name one: "reports/nightly", "reports/hourly"'],
    [2, "a schedule that is switched off", ["reports/old"], "switched off in the configuration"],
    [3, "an unknown schedule", ["reports/nihgtly"], 'Did you mean "reports/nightly"?'],
  ])("exits with %i for %s", async (exitCode, _, args, message) => {
    const scene = new Scene();
    expect(await scene.run("next", ...args)).toBe(exitCode);
    expect(scene.err).toContain(message);
  });

  it("needs no configuration for --cron, as a process", async () => {
    const args = [
      "next",
      "--cron",
      "0 0 29 2 *",
      "--timezone",
      "UTC",
      "--from",
      "2026-03-01T00:00:00Z",
      "-n",
      "1",
    ];
    const { exitCode, out } = await rota(args, new Terminal().cwd);
    expect(exitCode).toBe(0);
    expect(out.split("\n")[1]).toMatch(/^2028-02-29T00:00:00\+00:00 /);
  });
});

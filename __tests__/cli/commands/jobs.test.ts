import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Scene } from "../scene.js";
import { rota } from "../terminal.js";

const DONE = { status: "completed", summary: "all well", duration_ms: 90_000 } as const;

/** Three jobs, the newest last: their ids. */
async function withJobs(scene: Scene): Promise<string[]> {
  return [
    await scene.job(
      { started_at: "2026-02-28T10:00:00Z" },
      { status: "failed", error: "no such\nfile", duration_ms: 250 },
    ),
    await scene.job(
      { started_at: "2026-03-01T10:00:00Z", agent: "inbox", schedule: null, trigger: "manual" },
      DONE,
    ),
    await scene.job({ started_at: "2026-03-01T11:55:00Z" }),
  ];
}

async function idsOf(scene: Scene, ...args: string[]): Promise<string[]> {
  expect(await scene.run("jobs", "--json", ...args)).toBe(0);
  return (scene.json as { id: string }[]).map(({ id }) => id);
}

describe("rota jobs", () => {
  it("lists jobs newest first, with start, duration, status and summary", async () => {
    const scene = new Scene();
    const [failed = "", done = "", running = ""] = await withJobs(scene);
    expect(await scene.run("jobs")).toBe(0);
    const rows = scene.lines.map((line) => line.split(/ {2,}/));
    const titles = ["ID", "STARTED", "TOOK", "STATUS", "TRIGGER", "AGENT/SCHEDULE", "WHY", "SUMMARY"];
    expect(rows[0]).toEqual(titles);
    const when = expect.any(String) as string;
    expect(rows.slice(1)).toEqual([
      [running, when, "5m…", "running", "interval", "reports/hourly", "interval"],
      [done, when, "1m 30s", "completed", "manual", "inbox", "manual", "all well"],
      [failed, when, "250ms", "failed", "interval", "reports/hourly", "interval", "no such file"],
    ]);
  });

  it.each([
    ["baseline-cron", { slot: "2026-03-01T11:55:00Z" }, "its cron time"],
    ["baseline-interval", { attempt: 3 }, "its interval, attempt 3"],
    ["catch-up", { slot: "2026-03-01T11:00:00Z" }, "catch-up for a missed run, 55m late"],
    ["ai-oneshot", {}, "hint, one extra run"],
    ["manual", {}, "triggered manually"],
  ] as const)("says why a job ran: %s", async (source, more, why) => {
    const scene = new Scene();
    await scene.job({ started_at: "2026-03-01T11:55:00Z", source, ...more }, DONE);
    await scene.run("jobs");
    expect(scene.lines[1]?.split(/ {2,}/)[6]).toBe(why);
  });

  it.each([
    ["of an agent by its name", ["inbox"], [1]],
    ["of an agent/schedule", ["reports/hourly"], [2, 0]],
    ["of several statuses", ["--status", "failed,completed"], [1, 0]],
    ["of several statuses, up to a number", ["--status", "failed,completed", "-n", "1"], [1]],
    ["since a local time", ["--since", "2026-02-28 20:00"], [2, 1]],
    ["of an agent", ["--agent", "inbox"], [1]],
    ["of a schedule", ["--schedule", "hourly"], [2, 0]],
    ["of a status", ["--status", "failed"], [0]],
    ["since a time", ["--since", "2026-03-01T00:00:00Z"], [2, 1]],
    ["of the last hours", ["--since", "1h"], [2]],
    ["until a time", ["--until", "2026-03-01T11:00:00Z"], [1, 0]],
    ["between two times", ["--since", "1d", "--until", "1h"], [1]],
    ["up to a number", ["--limit", "2"], [2, 1]],
    ["up to a number, of jobs before a time", ["--until", "1h", "-n", "1"], [1]],
  ])("lists only jobs %s", async (_, args, expected) => {
    const scene = new Scene();
    const ids = await withJobs(scene);
    expect(await idsOf(scene, ...args)).toEqual(expected.map((index) => ids[index]));
  });

  it("prints whole records as JSON", async () => {
    const scene = new Scene();
    await scene.job({ started_at: "2026-03-01T11:55:00Z", prompt: "count" }, DONE);
    await scene.run("jobs", "--json");
    expect(scene.json).toEqual([expect.objectContaining({ ...DONE, prompt: "count", exit_code: null })]);
  });

  it("fits a terminal of 80 columns", async () => {
    const scene = new Scene({ columns: 80, env: { NO_COLOR: "1" } });
    await scene.job({ started_at: "2026-03-01T11:55:00Z" }, { ...DONE, summary: "all well, ".repeat(20) });
    await scene.job({ started_at: "2026-03-01T11:56:00Z" }, { status: "interrupted", duration_ms: null });
    await scene.run("jobs");
    expect(scene.lines.every(({ length }) => length <= 80)).toBe(true);
  });

  it("cuts no id and no name on a terminal of 80 columns", async () => {
    const scene = new Scene({ columns: 80, env: { NO_COLOR: "1" } });
    const names = [{ agent: "quarterly-reporting", schedule: "every-business-day" }, {}];
    for (const name of names) await scene.job({ ...name, started_at: "2026-03-01T11:55:00Z" }, DONE);
    const ids = await idsOf(scene);
    await scene.run("jobs");
    for (const id of ids) expect(scene.out).toContain(`${id} `);
    expect(scene.out).toContain("quarterly-reporting/every-business-day");
    expect(scene.lines.every(({ length }) => length <= 80)).toBe(true);
  });

  it("lists no job of a schedule that never ran, and exits with 3 for an unknown schedule", async () => {
    const scene = new Scene();
    await withJobs(scene);
    expect(await scene.run("jobs", "reports/nightly")).toBe(0);
    expect(scene.err).toBe("No matching jobs.\n");
    expect(await scene.run("jobs", "reports/nightl")).toBe(3);
    expect(scene.err).toContain('Did you mean "reports/nightly"?');
  });

  it("prints a message when no job matches", async () => {
    const scene = new Scene();
    expect(await scene.run("jobs")).toBe(0);
    expect([scene.out, scene.err]).toEqual(["", "No matching jobs.\n"]);
  });

  it("exits with 3 for an unknown agent, and with 0 for an agent without jobs", async () => {
    const scene = new Scene();
    await scene.job({ agent: "removed" }, DONE);
    expect(await scene.run("jobs", "--agent", "inbox")).toBe(0);
    expect(await scene.run("jobs", "--agent", "removed", "--status", "failed")).toBe(0);
    expect(await scene.run("jobs", "--agent", "inbx")).toBe(3);
    expect(scene.err).toContain('Did you mean "inbox"?');
  });

  it("prints only ids with --ids", async () => {
    const scene = new Scene();
    const ids = await withJobs(scene);
    expect(await scene.run("jobs", "--ids")).toBe(0);
    expect(scene.lines).toEqual(ids.toReversed());
  });

  it.each([
    ["an agent without a name", ["--agent", ""], "--agent needs a value"],
    ["a name beside --agent", ["reports", "--agent", "reports"], "not both"],
    ["an unknown status", ["--status", "failed,done"], "expected one of running, completed"],
    ["an invalid time", ["--since", "recently"], 'or "2h" for two hours ago'],
    ["a time outside the range of dates", ["--since", "999999999999d"], "it is outside the range of dates"],
  ])("exits with 2 for %s", async (_, args, message) => {
    const scene = new Scene();
    expect(await scene.run("jobs", ...args)).toBe(2);
    expect(scene.err).toContain(message);
  });

  it("works with an invalid configuration when the state is named, as a process", async () => {
    const scene = new Scene();
    const id = await scene.job({}, DONE);
    scene.write("agents: 7");
    expect((await rota(["jobs"], scene.cwd)).exitCode).toBe(2);
    const { exitCode, out } = await rota(["jobs", "--state-dir", ".rota"], scene.cwd);
    expect(exitCode).toBe(0);
    expect(out).toContain(id);
  });

  it("finds the default state directory without a configuration", async () => {
    const scene = new Scene();
    const id = await scene.job({}, DONE);
    rmSync(join(scene.cwd, "rota.yaml"));
    expect(await scene.run("jobs")).toBe(0);
    expect(scene.out).toContain(id);
  });
});

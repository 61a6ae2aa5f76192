import { describe, expect, it } from "vitest";
import { Scene } from "../scene.js";
import { NOW, rota } from "../terminal.js";

/** The text beside a label. */
function startScheduler({ lines }: Scene, label: string): string | undefined {
  const line = lines.find((one) => one.startsWith(`  ${label} `));
  return line?.slice(2 + label.length).trim();
}

describe("rota describe", () => {
  it("shows the definition and the state of a schedule", async () => {
    const scene = new Scene();
    await scene.state("reports/nightly", {
      next_run_at: "2026-03-02T01:30:00Z",
      next_run_source: "baseline-cron",
      last_run_at: "2026-03-01T01:30:00Z",
      last_error: "no such\nfile",
      failure_count: 2,
      missed_count: 1,
      last_missed_at: "2026-02-27T01:30:00Z",
      hint: { interval: "5m", expires_at: "2026-03-01T13:00:00Z", reason: "busy" },
    });
    expect(await scene.run("describe", "reports/nightly")).toBe(0);
    expect(scene.lines[0]).toBe("reports/nightly");
    expect(startScheduler(scene, "Status")).toBe("failing: cron 30 2 * * * Europe/Berlin");
    expect(startScheduler(scene, "Definition")).toBe(
      "type: cron, expression: 30 2 * * *, timezone: Europe/Berlin",
    );
    expect(startScheduler(scene, "Next run")).toBe("2026-03-02T02:30:00+01:00 (in 13h), baseline-cron");
    expect(startScheduler(scene, "Last run")).toMatch(/\(10h ago\)$/);
    expect(startScheduler(scene, "Last error")).toBe("no such file");
    expect(startScheduler(scene, "Failures")).toBe("2 in a row");
    expect(startScheduler(scene, "Missed")).toMatch(/^1, the last at .* \(2d 10h ago\)$/);
    expect(startScheduler(scene, "Hint")).toBe(
      "interval: 5m, expires_at: 2026-03-01T13:00:00Z, reason: busy",
    );
  });

  it("shows the next five runs and the last jobs", async () => {
    const scene = new Scene();
    const id = await scene.job(
      { schedule: "nightly" },
      { status: "failed", error: "no luck", duration_ms: 1_000 },
    );
    await scene.run("describe", "reports/nightly");
    const at = scene.lines.indexOf("  Next 5 runs");
    expect(scene.lines.slice(at + 1, at + 7).map((line) => line.trim().slice(0, 10))).toEqual([
      "2026-03-02",
      "2026-03-03",
      "2026-03-04",
      "2026-03-05",
      "2026-03-06",
      "Last jobs",
    ]);
    expect(scene.lines.at(-1)).toMatch(new RegExp(`^ {4}${id} .* failed 1s  no luck$`));
  });

  it("shows until when a schedule is paused", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { paused_until: "2026-03-01T13:00:00Z" });
    await scene.run("describe", "reports/hourly");
    expect(startScheduler(scene, "Paused")).toMatch(/^until .* \(in 1h\)$/);
  });

  it("shows the running job", async () => {
    const scene = new Scene();
    const claim = { token: "t", job_id: "job-2026-03-01-aaaaaa", slot: NOW, claimed_at: NOW };
    await using _ = await scene.owned();
    await scene.state("reports/hourly", { status: "running", claim });
    await scene.run("describe", "reports/hourly");
    expect(startScheduler(scene, "Status")).toBe("running job-2026-03-01-aaaaaa");
  });

  it("prints no control characters", async () => {
    const scene = new Scene();
    const hint = { interval: "5m", expires_at: "2026-03-01T13:00:00Z", reason: "\u001b[2J" };
    const plan = { next_run_at: "2026-03-01T12:05:00Z", next_run_source: "ai-interval" } as const;
    await scene.state("reports/hourly", { hint, last_error: "\u001b]0;title\u0007", ...plan });
    await scene.job({}, { status: "failed", error: "\u009b31m" });
    await scene.run("describe", "reports/hourly");
    expect(scene.lines.join("")).not.toMatch(/\p{Control}/u);
  });

  it("shows all schedules of an agent", async () => {
    const scene = new Scene();
    await scene.run("describe", "reports");
    expect(scene.lines.filter((line) => /^\S/.test(line))).toEqual([
      "reports/nightly",
      "reports/hourly",
      "reports/old",
    ]);
  });

  it("prints JSON, as a process", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { last_run_at: NOW });
    const { exitCode, out } = await rota(["describe", "reports/hourly", "--json"], scene.cwd);
    expect(exitCode).toBe(0);
    const [description] = JSON.parse(out) as Record<string, unknown>[];
    expect(description).toMatchObject({
      agent: "reports",
      schedule: "hourly",
      origin: "configured",
      definition: { type: "interval", interval: "1h" },
      agent_definition: { name: "reports", instances: { max_concurrent: 1 } },
      state: { last_run_at: NOW },
      last_jobs: [],
    });
    expect(description?.["next_runs"]).toHaveLength(5);
  });

  it.each(["--no-color", "--json"])("shows no secret, with %s", async (how) => {
    const scene = new Scene({ env: { HIDE_ME: "s3cr3t-word" } });
    scene.write(`
version: 1
agents:
  - name: web
    runtime: http
    url: https://example.org/hooks/\${HIDE_ME}
    headers: { Authorization: "Bearer \${HIDE_ME}", X-Mine: "\${HIDE_ME}" }
    schedules: { one: { type: webhook } }
  - name: shell
    runtime: command
    command: [node, --password, "\${HIDE_ME}"]
    env: { API_TOKEN: "\${HIDE_ME}" }
    schedules: { two: { type: webhook } }
`);
    for (const agent of ["web", "shell"]) {
      expect(await scene.run("describe", agent, how)).toBe(0);
      expect(scene.out).toContain("[hidden]");
      expect(scene.out).not.toContain("s3cr3t");
    }
  });

  it("exits with 3 for an unknown schedule", async () => {
    const scene = new Scene();
    expect(await scene.run("describe", "reports/weekly")).toBe(3);
    expect(scene.err).toContain(
      'Known schedules: "reports/nightly", "reports/hourly", "reports/old", "inbox/hook"',
    );
  });
});

import { describe, expect, it } from "vitest";
import { Scene } from "../scene.js";

/** The text beside a label. */
function told({ lines }: Scene, label: string): string | undefined {
  return lines
    .find((one) => one.startsWith(`  ${label} `))
    ?.slice(2 + label.length)
    .trim();
}

const FAILED = {
  status: "failed",
  error: "exited with code 3: no\nspace",
  exit_code: 3,
  duration_ms: 90_000,
} as const;

async function failedJob(scene: Scene, lines = 3): Promise<string> {
  return scene.job(
    {
      schedule: "nightly",
      trigger: "cron",
      slot: "2026-03-01T01:30:00Z",
      source: "baseline-cron",
      attempt: 2,
      prompt: "Write the report",
      work_item: { id: "issue-7", title: "Report" },
      started_at: "2026-03-01T01:35:00Z",
    },
    FAILED,
    Array.from({ length: lines }, (_, at) => `line ${at + 1}\n`).join(""),
  );
}

describe("rota describe with a job", () => {
  it("shows what a job was triggered with, and by whom", async () => {
    const scene = new Scene();
    const id = await scene.job({
      schedule: "hook",
      trigger: "manual",
      source: "manual",
      data: { mail: { from: "Ada" }, lines: ["one", "two, three"] },
      cause: "ada: rota trigger",
    });
    expect(await scene.run("describe", id)).toBe(0);
    expect(told(scene, "Data")).toBe('mail: { from: Ada }, lines: [one, "two, three"]');
    expect(told(scene, "Cause")).toBe("ada: rota trigger");
  });

  it("shows when, why and for which slot it ran, how it ended, and its last lines", async () => {
    const scene = new Scene();
    const id = await failedJob(scene);
    expect(await scene.run("describe", id)).toBe(0);
    expect(scene.lines[0]).toBe(id);
    expect(told(scene, "Status")).toBe("failed after 1m 30s");
    expect(told(scene, "Schedule")).toBe("reports/nightly");
    expect(told(scene, "Why")).toBe("its cron time, attempt 2, 5m late (baseline-cron)");
    expect(told(scene, "Slot")).toMatch(/\(10h ago\)$/);
    expect(told(scene, "Attempt")).toBe("2");
    expect(told(scene, "Prompt")).toBe("Write the report");
    expect(told(scene, "Work item")).toBe("id: issue-7, title: Report");
    expect(told(scene, "Exit code")).toBe("3");
    expect(told(scene, "Error")).toBe("exited with code 3: no space");
    expect(scene.lines.slice(-4)).toEqual(["  Output", "    line 1", "    line 2", "    line 3"]);
  });

  it("shows the last ten lines of a longer output", async () => {
    const scene = new Scene();
    const id = await failedJob(scene, 25);
    await scene.run("describe", id);
    expect(scene.lines).toContain("  Last 10 lines of 25");
    expect(scene.lines.slice(-10)[0]).toBe("    line 16");
    expect(scene.err).toBe(`\`rota logs ${id}\` prints the whole output.\n`);
  });

  it("finds a job by the end of its id", async () => {
    const scene = new Scene();
    const id = await failedJob(scene);
    expect(await scene.run("describe", id.slice(-6))).toBe(0);
    expect(scene.lines[0]).toBe(id);
  });

  it("shows a running job without an end", async () => {
    const scene = new Scene();
    const id = await scene.job({ started_at: "2026-03-01T11:55:00Z", source: "first-run" });
    await scene.run("describe", id);
    expect(told(scene, "Status")).toBe("running for 5m");
    expect(told(scene, "Why")).toBe("first run (first-run)");
    expect([told(scene, "Ended"), told(scene, "Error")]).toEqual([undefined, undefined]);
  });

  it("prints JSON with the whole record", async () => {
    const scene = new Scene();
    const id = await failedJob(scene);
    expect(await scene.run("describe", id, "--json")).toBe(0);
    expect(scene.json).toMatchObject({
      job: { id, ...FAILED, attempt: 2 },
      why: "its cron time, attempt 2, 5m late",
      node: null,
      last_lines: ["line 1", "line 2", "line 3"],
    });
  });

  it("prints no control characters", async () => {
    const scene = new Scene();
    const id = await scene.job(
      { prompt: "\u001b[2J" },
      { status: "failed", error: "\u009b31m" },
      "\u001b]0;t\u0007\n",
    );
    await scene.run("describe", id);
    expect(scene.lines.join("")).not.toMatch(/\p{Control}/u);
  });

  it("exits with 3 for an unknown job", async () => {
    const scene = new Scene();
    expect(await scene.run("describe", "job-2026-03-01-aaaaaaaa")).toBe(3);
    expect(scene.err).toContain('There is no job "job-2026-03-01-aaaaaaaa"');
  });
});

/** Commands that read a database. */
import { describe, expect, it } from "vitest";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import { until } from "../../state/child.js";
import { NOW } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

const DONE = { status: "completed", duration_ms: 3_000, summary: "all read" } as const;

describe("commands on a database", () => {
  it("list shows every schedule with its state, and that no scheduler runs there", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("reports/hourly", { next_run_at: "2026-03-01T12:30:00.000Z", last_run_at: NOW });
    expect(await scene.run("list")).toBe(0);
    expect(scene.out).toMatch(/30m .*reports\/hourly/);
    expect(scene.out).toContain("inbox/hook");
    expect(scene.err).toBe(`4 schedules. No scheduler runs on ${scene.location}.\n`);
  });

  it("list needs no configuration", async () => {
    const scene = new DatabaseScene();
    await scene.run("migrate");
    await scene.state("a/x", { last_error: "no" });
    expect(await scene.run("list", "--names")).toBe(0);
    expect(scene.lines).toEqual(["a/x"]);
  });

  it("list names the schedulers that run", async () => {
    const scene = await DatabaseScene.made();
    for (const nodeName of ["one", "two"]) {
      const node = scene.store({ nodeName });
      await node.open();
    }
    await scene.run("list");
    expect(scene.err).toBe("4 schedules. 2 schedulers: one, two.\n");
  });

  it("list and describe mark a due schedule that no running scheduler knows", async () => {
    const scene = await DatabaseScene.made();
    const due = { next_run_at: "2026-03-01T11:00:00.000Z", next_run_source: "baseline-interval" } as const;
    await scene.state("reports/hourly", due);
    await scene.state("reports/nightly", due);
    const [node, gone] = [scene.store({ nodeName: "one" }), scene.store({ nodeName: "gone" })];
    await gone.open();
    await gone.define({ schedules: [{ agent: "reports", schedule: "hourly" }] });
    await scene.silence();
    await node.open();
    await node.define({ schedules: [{ agent: "reports", schedule: "nightly" }] });
    const nobody = "due, but no running scheduler has it in its configuration";
    expect(await scene.run("list", "reports", "--json")).toBe(0);
    const rows = scene.json as { schedule: string; why: string }[];
    const why = (name: string): string | undefined => rows.find(({ schedule }) => schedule === name)?.why;
    expect(why("hourly")).toBe(nobody);
    expect(why("nightly")).not.toContain("due");
    await scene.run("describe", "reports/hourly");
    expect(scene.out).toContain(nobody);
  });

  it("describe shows the state and the last jobs", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("reports/hourly", { next_run_at: "2026-03-01T12:30:00.000Z", last_error: "no disk" });
    const id = await scene.job({}, DONE);
    expect(await scene.run("describe", "reports/hourly")).toBe(0);
    expect(scene.out).toContain("no disk");
    expect(scene.out).toContain(`${id}  `);
  });

  it("next plans from the state", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T12:30:00.000Z",
      next_run_source: "baseline-interval",
    });
    expect(await scene.run("next", "reports/hourly", "-n", "2", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ source: "baseline-interval" }, { source: "baseline-interval" }]);
    expect(scene.out).toContain("12:30:00");
  });

  it("jobs lists jobs, newest first", async () => {
    const scene = await DatabaseScene.made();
    const old = await scene.job({ started_at: "2026-03-01T10:00:00Z" }, DONE);
    const young = await scene.job({ started_at: "2026-03-01T11:00:00Z" }, DONE);
    expect(await scene.run("jobs", "--ids")).toBe(0);
    expect(scene.lines).toEqual([young, old]);
  });

  it("jobs exits with 3 for an unknown agent", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("billing/x", { last_error: "no" });
    expect(await scene.run("jobs", "--agent", "biling")).toBe(3);
    expect(scene.err).toContain('Did you mean "billing"?');
  });

  it("logs prints a job's output unchanged", async () => {
    const scene = await DatabaseScene.made();
    const id = await scene.job({}, DONE, "one\n\u001b[31mtwö");
    expect(await scene.run("logs", id.slice(-6))).toBe(0);
    expect([scene.out, scene.err]).toEqual(["one\n\u001b[31mtwö", ""]);
  });
});

/** Lets time pass until the command has ended. */
async function passing(scene: DatabaseScene, running: Promise<ExitCode>): Promise<ExitCode> {
  const race = { isOver: false };
  void running.finally(() => {
    race.isOver = true;
  });
  while (!race.isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    if (scene.clock.sleeping > 0) await scene.clock.advance(100);
  }
  return running;
}

describe("rota logs -f on a database", () => {
  it("follows the output until the job has ended, also when a read ends within a character", async () => {
    const scene = await DatabaseScene.made();
    const node = scene.store();
    await node.open();
    const id = await scene.job({});
    const output = await node.jobs.openOutput(id);
    await output.write(Buffer.from([0x61, 0xc3]));
    const following = scene.run("logs", id, "-f", "--json");
    await until(() => scene.lines.length > 0);
    await output.write(Buffer.from([0xb6]));
    await output.close();
    await node.jobs.finish(id, DONE);
    expect(await passing(scene, following)).toBe(0);
    const lines = scene.lines.map((line): unknown => JSON.parse(line));
    expect(lines).toMatchObject([
      { type: "output", text: "a" },
      { type: "output", text: "ö" },
      { type: "end", job: { id, status: "completed" } },
    ]);
  });

  it("ends when no live node could end the job", async () => {
    const scene = await DatabaseScene.made();
    const id = await scene.job({}, undefined, "so far\n");
    expect(await scene.run("logs", id, "-f")).toBe(1);
    expect(scene.out).toBe("so far\n");
    expect(scene.err).toContain("will never end");
  });
});

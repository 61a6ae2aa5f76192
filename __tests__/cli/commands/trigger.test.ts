import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { FileStore } from "../../../src/state/file/file-store.js";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { MAIN, rota } from "../terminal.js";

describe("rota trigger with a running scheduler", () => {
  it("starts a job, and prints its id", async () => {
    const scene = new Scene();
    const { call, started } = await startScheduler(scene, () => "done");
    expect(await call("trigger", "inbox/hook")).toBe(0);
    expect(scene.out).toBe(`${started[0]?.id}\n`);
    expect(started[0]).toMatchObject({ trigger: "manual", schedule: "hook" });
  });

  it("accepts the name of an agent with one schedule", async () => {
    const scene = new Scene();
    const { call, started } = await startScheduler(scene, () => "done");
    expect(await call("trigger", "inbox")).toBe(0);
    expect(started).toHaveLength(1);
  });

  it("prints the job's id as JSON", async () => {
    const scene = new Scene();
    const { call, started } = await startScheduler(scene, () => "done");
    expect(await call("trigger", "inbox", "--json")).toBe(0);
    expect(scene.json).toEqual({ agent: "inbox", schedule: "hook", job: started[0]?.id });
  });

  it("waits for the job's end with --wait", async () => {
    const scene = new Scene();
    const { call } = await startScheduler(scene, async () => {
      await scene.clock.sleep("2s");
      return "all read";
    });
    expect(await call("trigger", "inbox", "--wait")).toBe(0);
    expect(scene.err).toMatch(/^job-\S+ completed after 2s: all read\n$/);
  });

  it("shows the elapsed time on a terminal", async () => {
    const scene = new Scene({ columns: 60 });
    const { call } = await startScheduler(scene, () => scene.clock.sleep("5s"));
    expect(await call("trigger", "inbox", "--wait")).toBe(0);
    expect(scene.err).toMatch(/⠋ job-\S+ running, \d/);
    expect(scene.err.slice(0, scene.err.lastIndexOf("job-")).endsWith("\r\u001B[K")).toBe(true);
  });

  it("exits with 5 when the job fails", async () => {
    const scene = new Scene();
    const { call } = await startScheduler(scene, async () => {
      await scene.clock.sleep("1s");
      throw new Error("no answer");
    });
    expect(await call("trigger", "inbox", "--wait", "--json")).toBe(5);
    expect(scene.json).toMatchObject({ status: "failed", error: "no answer" });
  });

  it("prints why the scheduler refused", async () => {
    const scene = new Scene();
    const { call, scheduler } = await startScheduler(scene, () => scene.clock.sleep("1h"));
    await scheduler.trigger("inbox");
    expect(await call("trigger", "inbox")).toBe(1);
    expect(scene.err).toContain("inbox/hook was not started: a job of this schedule is running");
  });

  it("reports a schedule that the running scheduler does not know", async () => {
    const scene = new Scene();
    const { call } = await startScheduler(scene, () => "done");
    expect(await call("trigger", "reports/hourly")).toBe(1);
    expect(scene.err).toContain("the running scheduler does not know it");
  });

  it("exits with 3 for an unknown schedule", async () => {
    const scene = new Scene();
    expect(await scene.run("trigger", "inbox/hok")).toBe(3);
    expect(scene.err).toContain('Did you mean "inbox/hook"?');
  });
});

describe("rota trigger with a scheduler that does not reply", () => {
  it("gives up after ten seconds", async () => {
    const scene = new Scene();
    // The directory has an owner that does not act on requests.
    await using _ = await scene.owned();
    const running = scene.run("trigger", "inbox");
    const race = { isOver: false };
    void running.finally(() => {
      race.isOver = true;
    });
    while (!race.isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      await scene.clock.advance(100);
    }
    expect(await running).toBe(1);
    expect(scene.err).toContain("did not reply within 10 s");
  });
});

describe("rota trigger without a scheduler", () => {
  it("runs the job in its own process, records it, and plans the next run", async () => {
    const scene = new Scene();
    expect(await scene.run("trigger", "reports/hourly")).toBe(0);
    expect(scene.err).toMatch(
      /^No scheduler runs, so reports\/hourly runs in this process\.\njob-\S+ completed after /,
    );
    await using store = new FileStore({ stateDir: scene.stateDir });
    expect(await store.read({ agent: "reports", schedule: "hourly" })).toMatchObject({
      status: "idle",
      next_run_at: "2026-03-01T13:00:00.000Z",
    });
  });

  it("runs one job of a schedule that is also due", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", {
      next_run_at: "2026-03-01T11:59:59.000Z",
      next_run_source: "baseline-interval",
    });
    expect(await scene.run("trigger", "reports/hourly")).toBe(0);
    await using store = scene.store();
    expect(await store.jobs.list()).toMatchObject([{ schedule: "hourly", trigger: "manual" }]);
  });

  it("exits with 5 when the job fails", async () => {
    const scene = new Scene();
    scene.write(`
version: 1
agents:
  - name: a
    runtime: command
    command: [node, -e, process.exit(3)]
    schedules: { x: { type: interval, interval: 1h } }
`);
    expect(await scene.run("trigger", "a", "--json")).toBe(5);
    expect(scene.json).toMatchObject({ status: "failed", exit_code: 3 });
  });

  it("refuses a disabled schedule", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { status: "disabled" });
    expect(await scene.run("trigger", "reports/hourly")).toBe(1);
    expect(scene.err).toContain("the schedule is disabled");
  });

  it("refuses a schedule that exists only in the state", async () => {
    const scene = new Scene();
    await scene.state("gone/x", { last_error: "before" });
    expect(await scene.run("trigger", "gone/x")).toBe(1);
    expect(scene.err).toContain("the configuration does not define it");
  });

  it("runs the job as a process, which ends by itself", async () => {
    const scene = new Scene();
    const { exitCode, out, err } = await rota(["trigger", "reports/hourly", "--json"], scene.cwd);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ status: "completed", trigger: "manual" });
  });

  it("cancels the job at Ctrl-C, and records it", async () => {
    const scene = new Scene();
    scene.write(`
version: 1
agents:
  - name: a
    runtime: command
    command: [node, -e, "console.log('up'); setInterval(() => {}, 1000)"]
    schedules: { x: { type: interval, interval: 1h } }
`);
    const child = spawn(process.execPath, [MAIN, "trigger", "a", "--json"], { cwd: scene.cwd });
    const ended = once(child, "exit");
    await using store = new FileStore({ stateDir: scene.stateDir });
    const jobId = await vi.waitFor(
      async () => {
        const [job] = await store.jobs.list();
        expect(await store.jobs.readOutput(job?.id ?? "job-2026-03-01-aaaaaa")).toBe("up\n");
        return job?.id ?? "";
      },
      { timeout: 20_000, interval: 100 },
    );
    child.kill("SIGINT");
    expect(await ended).toEqual([5, null]);
    expect(await store.jobs.get(jobId)).toMatchObject({ status: "cancelled" });
    expect(await store.read({ agent: "a", schedule: "x" })).toMatchObject({ status: "idle" });
  });

  it("shows the elapsed time of its own job on a terminal", async () => {
    const scene = new Scene({ columns: 60 });
    expect(await scene.run("trigger", "reports/hourly")).toBe(0);
    expect(scene.err).toContain("⠋ reports/hourly running, 0ms\r\u001B[Kjob-");
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore, type JobRecord } from "../../../src/index.js";
import { askScheduler } from "../../../src/scheduler/control/ask-scheduler.js";
import { until } from "../../state/child.js";
import { ENDLESS, fleetText, RunScene } from "../run/run-scene.js";

const HELLO = "console.log('hello')";
const JOB = "job-2026-03-01-[a-z0-9]{8}";

async function jobsOf({ stateDir }: RunScene): Promise<readonly JobRecord[]> {
  await using store = new FileStore({ stateDir });
  return store.jobs.list();
}

/** A run with a job that ends only when it is cancelled. */
async function busy(...args: string[]): Promise<RunScene> {
  const scene = RunScene.with();
  scene.write(fleetText({ slow: { script: ENDLESS } }));
  scene.start(...args);
  await scene.heard("started");
  await scene.heard("Running");
  return scene;
}

describe("rota run", () => {
  it("runs due schedules, and prints a line when a job starts and when it ends", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ greeter: { script: HELLO } }));
    scene.start();
    await scene.heard("completed");
    const time = String.raw`^2026-03-01T[\d:]+[+-]\d\d:\d\d`;
    expect(scene.lines).toEqual([
      expect.stringMatching(new RegExp(`${time}  greeter/work  started  ${JOB}: first run$`)),
      expect.stringMatching(new RegExp(`${time}  greeter/work  completed  ${JOB} after [0-9a-z ]+: hello$`)),
    ]);
  });

  it("prints on stderr what runs and where the state is", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ one: { script: HELLO }, two: { script: HELLO } }));
    scene.start();
    await scene.heard("Running");
    expect(scene.err).toMatch(
      /^Running 2 agents with 2 schedules from \S*rota.yaml, state in \S*\.rota. Ctrl-C stops.\n/,
    );
  });

  it("prints why a job failed", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ bad: { script: "process.exit(3)" } }));
    scene.start();
    await scene.heard("failed");
    expect(scene.lines[1]).toMatch(/bad\/work {2}failed {2}\S+ after .+: The command exited with code 3\.$/);
  });

  it("runs only the agents of --agent", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ one: { script: HELLO }, two: { script: HELLO }, three: { script: HELLO } }));
    scene.start("--agent", "three, one");
    await until(() => scene.lines.length === 4);
    expect(scene.err).toContain("Running 2 agents");
    expect(scene.out).not.toContain("two/work");
  });

  it("exits with 3 for an unknown agent, and lists the known agents", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ reports: { script: HELLO } }));
    expect(await scene.run("run", "--agent", "report")).toBe(3);
    expect(scene.err).toContain('There is no agent "report". Did you mean "reports"?');
  });

  it("exits with 2 and prints all problems of an invalid configuration", async () => {
    const scene = RunScene.with();
    scene.write(`${fleetText({ a: { script: HELLO, interval: "5x" } })}timezon: UTC\n`);
    expect(await scene.run("run")).toBe(2);
    expect(scene.err).toContain('Invalid time unit "x"');
    expect(scene.err).toContain('"timezon"');
  });

  it("exits with 2 without a configuration", async () => {
    const scene = RunScene.with();
    expect(await scene.run("run", "--database-url", "postgres://db/app")).toBe(2);
    expect(scene.err).toMatch(
      /^rota: There is no rota\.yaml in \S+ or above it: create one with `rota init`, or name one with --config\n/,
    );
  });

  it("exits with 2 for an invalid stop timeout", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: {} }));
    expect(await scene.run("run", "--stop-timeout", "soon")).toBe(2);
    expect(scene.err).toContain('Invalid --stop-timeout "soon": expected a duration such as 30s or 5m');
  });

  it.each([
    [["--node-name", "one"], "--node-name needs a database: name one with --database-url"],
    [["--node-name", "one", "--state-dir", "."], "--node-name needs a database"],
    [["--node-name", " ", "--database-url", "postgres://db/app"], 'Invalid --node-name " "'],
  ])("exits with 2 for an invalid or unused node name: %j", async (args, message) => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: {} }));
    scene.start(...args);
    await until(() => scene.exitCode !== undefined || scene.said.includes("Running"));
    expect(scene.exitCode).toBe(2);
    expect(scene.err).toContain(message);
  });

  it("exits with 1 when another scheduler owns the state, and names its process", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: { script: HELLO } }));
    await using store = new FileStore({ stateDir: scene.stateDir });
    await store.open();
    expect(await scene.run("run")).toBe(1);
    expect(scene.err).toContain(`process ${process.pid}`);
    expect(scene.out).toBe("");
  });

  it("keeps its state in the directory of --state-dir", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: { script: HELLO } }, "state_dir: other\n"));
    scene.start("--state-dir", ".rota");
    await scene.heard("completed");
    expect(await jobsOf(scene)).toHaveLength(1);
  });

  it("removes all of its listeners when it ends", async () => {
    const scene = RunScene.with({ columns: 80 });
    scene.write(fleetText({ a: { script: HELLO } }));
    scene.start();
    await scene.seen("completed");
    scene.host.signal("SIGTERM");
    await scene.end();
    expect(scene.host.listeners).toBe(0);
    expect(scene.clock.sleeping).toBe(0);
  });
});

describe("a signal to rota run", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("stops the run: %s", async (signal) => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: { script: HELLO } }));
    scene.start();
    await scene.heard("completed");
    scene.host.signal(signal);
    expect(await scene.end()).toBe(0);
    expect(scene.err).toContain(`Stopping after ${signal}: no job is running.`);
    expect(scene.err).toContain("1 job done, 0 failed.");
  });

  it("waits for a running job, names it, and records its end", async () => {
    const scene = RunScene.with();
    const script = `${ENDLESS} setInterval(() => { if (require("fs").existsSync("go")) process.exit(0); }, 5)`;
    scene.write(fleetText({ slow: { script, more: `, cwd: ${scene.cwd}` } }));
    scene.start();
    await scene.heard("started");
    await scene.heard("Running");
    scene.host.signal("SIGTERM");
    expect(scene.err).toMatch(
      new RegExp(`Stopping after SIGTERM, waiting up to 30s for 1 job: slow/work \\(${JOB}\\)`),
    );
    writeFileSync(join(scene.cwd, "go"), "");
    expect(await scene.end()).toBe(0);
    expect(await jobsOf(scene)).toMatchObject([{ status: "completed" }]);
  });

  it("cancels jobs that take longer than the stop timeout, records them, and exits with 1", async () => {
    const scene = await busy("--stop-timeout", "5m");
    scene.host.signal("SIGTERM");
    expect(scene.err).toContain("waiting up to 5m for 1 job");
    await scene.clock.advance("299s");
    expect(scene.err).not.toContain("cancelling and waiting");
    await scene.clock.advance("1s");
    expect(await scene.end()).toBe(1);
    expect(scene.err).toContain("1 job did not end within 5m: cancelling and waiting for the end.");
    expect(await jobsOf(scene)).toMatchObject([{ status: "cancelled" }]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("exits immediately when it is the second: %s", async (signal, exitCode) => {
    const scene = await busy();
    scene.host.signal("SIGTERM");
    expect(scene.host.exitCode).toBeUndefined();
    scene.host.signal(signal);
    expect(scene.host.exitCode).toBe(exitCode);
    expect(scene.err).toContain(
      "Exiting immediately: cancelled 1 job. The next start records it as interrupted.",
    );
  });

  it("still lets rota cancel reach the job that the stop waits for", async () => {
    const scene = await busy("--stop-timeout", "10m");
    scene.host.signal("SIGTERM");
    await using store = new FileStore({ stateDir: scene.stateDir, clock: scene.clock });
    await until(async () => (await jobsOf(scene)).length > 0);
    const [job] = await jobsOf(scene);
    const request = { action: "cancel", job_id: job?.id ?? "" } as const;
    const asking = askScheduler(store, { agent: "slow", schedule: "work" }, request, { clock: scene.clock });
    await scene.goOnUntil(() => scene.exitCode !== undefined);
    expect(await asking).toMatchObject({ job_id: job?.id });
    expect(await jobsOf(scene)).toMatchObject([{ status: "cancelled" }]);
  });

  it("cancels jobs before the immediate exit", async () => {
    const scene = await busy();
    scene.host.signal("SIGINT");
    scene.host.signal("SIGINT");
    await scene.heard("cancelled");
    expect(await scene.end()).toBe(1);
  });

  it("stops the run while it starts", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: { script: HELLO } }));
    scene.start();
    await until(() => scene.host.listeners > 0);
    scene.host.signal("SIGTERM");
    expect(await scene.end()).toBe(0);
  });

  it("is not needed when the reader of the output is gone", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ a: { script: HELLO } }));
    scene.start();
    await scene.heard("completed");
    scene.hangUp();
    expect(await scene.end()).toBe(0);
    expect(scene.err).toContain("Stopping after its output was closed");
  });
});

describe("rota run --json", () => {
  it("prints a line for each notice, with stable keys", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ greeter: { script: HELLO } }));
    scene.start("--json");
    await scene.heard("job:finished");
    scene.host.signal("SIGTERM");
    await scene.end();
    const job = { agent: "greeter", schedule: "work", job: expect.objectContaining({ agent: "greeter" }) };
    const time = expect.stringMatching(/^2026-03-01T12:00:0\d\.\d{3}Z$/);
    const key = { agent: "greeter", schedule: "work" };
    expect(scene.notices).toEqual([
      { time, event: "schedule:planned", ...key, next_run_at: expect.any(String), source: "first-run" },
      { time, event: "scheduler:started", pid: process.pid },
      { time, event: "job:started", ...job },
      {
        time,
        event: "schedule:planned",
        ...key,
        next_run_at: expect.any(String),
        source: "baseline-interval",
      },
      { time, event: "job:finished", ...job },
      { time, event: "scheduler:stopping", reason: "SIGTERM", timeout_ms: 30_000, jobs: [] },
      { time, event: "scheduler:stopped", running_job_count: 0 },
    ]);
  });

  it("has no live view on a terminal", async () => {
    const scene = RunScene.with({ columns: 80 });
    scene.write(fleetText({ greeter: { script: HELLO } }));
    scene.start("--json");
    await scene.heard("job:finished");
    expect(scene.notices.length).toBeGreaterThan(2);
  });
});

describe("rota run --quiet", () => {
  it("prints only failures and warnings", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ bad: { script: "process.exit(3)" }, good: { script: HELLO } }));
    scene.start("--quiet");
    await scene.heard("failed");
    scene.host.signal("SIGTERM");
    await scene.end();
    expect(scene.lines).toEqual([expect.stringContaining("bad/work  failed")]);
    expect(scene.err).toBe("");
  });

  it("prints only failures as JSON", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ bad: { script: "process.exit(3)" }, good: { script: HELLO } }));
    scene.start("--quiet", "--json");
    await scene.heard("failed");
    scene.host.signal("SIGTERM");
    await scene.end();
    expect(scene.notices.map(({ event, agent }) => [event, agent])).toEqual([["job:finished", "bad"]]);
  });
});

import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import { fleetText, ENDLESS, RunScene } from "../run/run-scene.js";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { Terminal } from "../terminal.js";

/** Runs a command to its end while time passes. */
async function runOn(scene: Terminal, ...args: string[]): Promise<ExitCode> {
  const ends: ExitCode[] = [];
  void scene.run(...args).then((exitCode) => ends.push(exitCode));
  for (;;) {
    const [exitCode] = ends;
    if (exitCode !== undefined) return exitCode;
    await setTimeout(10);
    await scene.clock.advance(100);
  }
}

describe("rota stop", () => {
  it("stops the scheduler of a directory, and says which jobs it waited for", async () => {
    const scene = new Scene();
    const { scheduler, start } = await startScheduler(scene, () => scene.clock.sleep("3s"));
    const jobId = await start();
    expect(await runOn(scene, "stop")).toBe(0);
    expect(scene.err).toMatch(
      new RegExp(
        `^Stopping process ${process.pid} on .*\\. Waiting for 1 job: inbox/hook \\(${jobId}\\)\\.\nStopped after \\d.*s: ${jobId} completed\\.\n$`,
      ),
    );
    expect(scheduler.getState().status).toBe("stopped");
    expect(await runOn(scene, "stop")).toBe(0);
    expect(scene.err).toBe(`No scheduler runs on ${scene.stateDir}.\n`);
  });

  it("works beside an invalid configuration if the state is named, and says so", async () => {
    const scene = new Scene();
    const { scheduler } = await startScheduler(scene, () => {});
    scene.write("version: 1\nagents: none\n");
    expect(await runOn(scene, "stop")).toBe(2);
    expect(scene.err).toContain("without the configuration: name the state with --state-dir");
    expect(await runOn(scene, "stop", "--state-dir", ".rota")).toBe(0);
    expect(scheduler.getState().status).toBe("stopped");
  });

  it("exits with 1 when jobs were cancelled", async () => {
    const scene = new Scene();
    const { start } = await startScheduler(scene, ({ signal }) => scene.clock.sleep("1h", signal));
    const jobId = await start();
    expect(await runOn(scene, "stop", "--json")).toBe(1);
    expect(scene.json).toMatchObject({
      stopped: true,
      node: null,
      pid: process.pid,
      jobs: [{ id: jobId, status: "cancelled" }],
    });
  });

  it("exits with 1 when the scheduler has not stopped in time, and names its jobs", async () => {
    const scene = new Scene();
    const { scheduler, start } = await startScheduler(scene, () => scene.clock.sleep("20s"));
    const jobId = await start();
    expect(await runOn(scene, "stop", "--timeout", "5s")).toBe(1);
    expect(scene.err).toContain(
      `rota: It has not stopped within 5s, and 1 job still running: inbox/hook (${jobId})\n`,
    );
    while (scheduler.getState().status !== "stopped") {
      await setTimeout(10);
      await scene.clock.advance("1s");
    }
  });

  it("leaves the next scheduler alone", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    await runOn(scene, "stop");
    const { scheduler } = await startScheduler(scene, () => "done");
    await scene.clock.advance("5s");
    expect(scheduler.getState().status).toBe("running");
  });

  it("exits with 2 for the name of a node in a directory", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    expect(await scene.run("stop", "api-1")).toBe(2);
    expect(scene.err).toContain("A directory has one scheduler: leave the name of the node out");
  });

  it("stops rota run as SIGTERM does, with its exit code", async () => {
    const scene = RunScene.with();
    scene.write(fleetText({ slow: { script: ENDLESS } }));
    scene.start("--stop-timeout", "1s");
    await scene.heard("started");
    const stopping = new Terminal();
    onTestFinished(() => stopping.hangUp());
    void stopping.run("stop", "--state-dir", scene.stateDir);
    await scene.goOnUntil(() => scene.exitCode !== undefined);
    expect(scene.err).toContain("rota stop");
    expect(scene.exitCode).toBe(1);
  });
});

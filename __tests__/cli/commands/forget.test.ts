import { describe, expect, it } from "vitest";
import { readFleetState } from "../../../src/state/file/state-functions.js";
import { join } from "node:path";
import { startScheduler } from "../running-scheduler.js";
import { NOW } from "../terminal.js";
import { Scene } from "../scene.js";

async function namesIn(scene: Scene): Promise<string[]> {
  const { agents } = await readFleetState(join(scene.stateDir, "state.yaml"));
  return Object.entries(agents).flatMap(([agent, { schedules = {} }]) =>
    Object.keys(schedules).map((schedule) => `${agent}/${schedule}`),
  );
}

async function withRemoved(): Promise<Scene> {
  const scene = new Scene();
  await scene.state("reports/hourly", { last_run_at: NOW });
  await scene.state("reports/gone", { last_run_at: NOW });
  await scene.state("old/one", { status: "disabled" });
  return scene;
}

describe("rota forget", () => {
  it("removes the states of all schedules that are not configured, and leaves their jobs", async () => {
    const scene = await withRemoved();
    await scene.job({ agent: "old", schedule: "one" }, { status: "completed" });
    expect(await scene.run("forget", "--dry-run")).toBe(0);
    expect(scene.err).toBe(
      "Would forget reports/gone. Its jobs stay.\nWould forget old/one. Its jobs stay.\n",
    );
    expect(await namesIn(scene)).toHaveLength(3);
    expect(await scene.run("forget")).toBe(0);
    expect(scene.err).toBe("Forgot reports/gone. Its jobs stay.\nForgot old/one. Its jobs stay.\n");
    expect(await namesIn(scene)).toEqual(["reports/hourly"]);
    await scene.run("jobs", "old/one", "--json");
    expect(scene.json).toHaveLength(1);
    expect(await scene.run("forget")).toBe(0);
    expect(scene.err).toBe("No schedule was removed.\n");
  });

  it("forgets one schedule, or those of an agent", async () => {
    const scene = await withRemoved();
    expect(await scene.run("forget", "reports/gone", "--json")).toBe(0);
    expect(scene.json).toEqual({
      dry_run: false,
      forgotten: [{ agent: "reports", schedule: "gone" }],
      kept: [],
    });
    expect(await scene.run("forget", "old")).toBe(0);
    expect(await namesIn(scene)).toEqual(["reports/hourly"]);
  });

  it("keeps what is still configured, also if it is switched off, and what has a job", async () => {
    const scene = await withRemoved();
    await using owner = await scene.owned();
    const claim = { token: "t", job_id: "job-2026-03-01-abcdefgh", slot: NOW, claimed_at: NOW };
    await scene.state("old/one", { status: "running", claim });
    for (const name of ["reports/hourly", "reports/old"]) {
      expect(await scene.run("forget", name)).toBe(1);
      expect(scene.err).toContain(`Kept ${name}: it is still configured`);
    }
    expect(await scene.run("forget", "old/one")).toBe(1);
    expect(scene.err).toBe("Kept old/one: a job of it is running.\n");
    await owner.close();
    // As a scheduler that was killed leaves it.
    await scene.state("old/one", { status: "running", claim });
    expect(await scene.run("forget", "old/one")).toBe(1);
    expect(scene.err).toContain("the next scheduler has to record that first");
    expect(await scene.run("forget", "nothing/here")).toBe(3);
    expect(await namesIn(scene)).toHaveLength(3);
  });

  it("forgets beside a scheduler, which does not write it again", async () => {
    const scene = await withRemoved();
    const { scheduler, start } = await startScheduler(scene, () => "done");
    expect(await scene.run("forget", "reports/gone")).toBe(0);
    await start();
    await scheduler.pause("inbox", "hook");
    await scene.clock.advance("2s");
    expect(await namesIn(scene)).toEqual(["reports/hourly", "old/one", "inbox/hook"]);
  });

  it("keeps what a running scheduler still plans, and names that a missing configuration cannot judge", async () => {
    const scene = await withRemoved();
    await startScheduler(scene, () => "done");
    await scene.state("reports/gone", { next_run_at: NOW });
    expect(await scene.run("forget", "reports/gone")).toBe(1);
    expect(scene.err).toContain("the running scheduler still plans it");
    scene.write("agents: []", "empty.yaml");
    const alone = ["--state-dir", scene.stateDir, "--config", join(scene.cwd, "empty.yaml")];
    expect(await scene.run("forget", "old/one", ...alone)).toBe(0);
  });
});

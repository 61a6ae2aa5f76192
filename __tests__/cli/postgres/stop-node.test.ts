/** `rota stop` on a database. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Scheduler } from "../../../src/index.js";
import { DatabaseScene } from "./database-scene.js";

async function nodeOf(scene: DatabaseScene, nodeName: string): Promise<Scheduler> {
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const scheduler = new Scheduler({ store: scene.store({ nodeName }), clock: scene.clock, logger });
  await scheduler.start([
    { name: "inbox", schedules: { hook: { type: "webhook" } }, run: () => scene.clock.sleep("2s") },
  ]);
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  return scheduler;
}

async function runOn(scene: DatabaseScene, ...args: string[]): Promise<number> {
  const ends: number[] = [];
  void scene.run(...args).then((exitCode) => ends.push(exitCode));
  while (ends.length === 0) {
    await setTimeout(10);
    await scene.clock.advance(100);
  }
  return ends[0] ?? -1;
}

describe("rota stop on a database", () => {
  it("stops the named node only, and says which of its jobs it waited for", async () => {
    const scene = await DatabaseScene.made();
    const [one, two] = [await nodeOf(scene, "one"), await nodeOf(scene, "two")];
    expect(await scene.run("stop")).toBe(2);
    expect(scene.err).toContain('2 schedulers run. Name one: "one", "two"');
    expect(await scene.run("stop", "tow")).toBe(3);
    expect(scene.err).toContain('There is no node "tow". Did you mean "two"?');
    const { jobId = "" } = await two.trigger("inbox");
    await expect.poll(() => scene.store().jobs.get(jobId)).toBeDefined();
    expect(await runOn(scene, "stop", "two")).toBe(0);
    expect(scene.err).toContain(`Waiting for 1 job: inbox/hook (${jobId}).\n`);
    expect(scene.err).toContain(`: ${jobId} completed.\n`);
    // The node is gone, and its jobs keep its name.
    await runOn(scene, "jobs", "--json");
    expect(scene.json).toMatchObject([{ id: jobId, node: "two" }]);
    expect([one.getState().status, two.getState().status]).toEqual(["running", "stopped"]);
    expect(await runOn(scene, "stop")).toBe(0);
    expect(one.getState().status).toBe("stopped");
    expect(await runOn(scene, "stop")).toBe(0);
    expect(scene.err).toBe(`No scheduler runs on ${scene.location}.\n`);
  });
});

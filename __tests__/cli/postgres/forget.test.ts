/** `rota forget` on a database. */
import { describe, expect, it, onTestFinished } from "vitest";
import { Scheduler } from "../../../src/index.js";
import { NOW } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

const NEVER_RAN = { status: "idle", last_run_at: null, next_run_at: null, last_error: null };

describe("rota forget on a database", () => {
  it("removes the state of a schedule that is neither configured nor known to a live node", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("old/one", { status: "disabled", last_run_at: NOW });
    await scene.job({ agent: "old", schedule: "one" }, { status: "completed" });
    const logger = { info: () => {}, warn: () => {}, error: () => {} };
    const scheduler = new Scheduler({ store: scene.store(), clock: scene.clock, logger });
    await scheduler.start([
      { name: "coded", schedules: { often: { type: "interval", interval: "1h" } }, run: () => "done" },
    ]);
    onTestFinished(() => scheduler.stop({ waitForJobs: false }));
    expect(await scene.run("forget", "coded/often")).toBe(1);
    expect(scene.err).toBe("Kept coded/often: a running scheduler still knows it.\n");
    expect(await scene.run("forget", "old/one")).toBe(0);
    expect(scene.err).toBe("Forgot old/one. Its jobs stay.\n");
    expect(await scene.stateOf("old/one")).toEqual(NEVER_RAN);
    await scene.run("list", "--all", "--names");
    expect(scene.lines).not.toContain("old/one");
    await scene.run("jobs", "old/one", "--json");
    expect(scene.json).toHaveLength(1);
    await scheduler.stop();
    expect(await scene.run("forget", "coded")).toBe(0);
  });

  it("lets a schedule that comes back begin anew", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("old/one", { status: "disabled" });
    await scene.run("forget");
    const store = scene.store();
    await store.open();
    const [defined] = await store.define({ schedules: [{ agent: "old", schedule: "one" }] });
    expect(defined?.state).toEqual(NEVER_RAN);
    expect(await store.claim({ agent: "old", schedule: "one" })).toMatchObject({ agent: "old" });
    expect(await scene.run("forget", "old/one")).toBe(1);
    expect(scene.err).toBe("Kept old/one: a job of it is running.\n");
  });
});

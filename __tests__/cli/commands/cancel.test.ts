import { describe, expect, it } from "vitest";
import { beside } from "../fleet-beside.js";
import { Scene } from "../scene.js";
import { rota } from "../terminal.js";

describe("rota cancel", () => {
  it("tells a running job to end", async () => {
    const scene = new Scene();
    const { call, start, ended } = await beside(scene, ({ signal }) => scene.clock.sleep("1h", signal));
    const jobId = await start();
    expect(await call("cancel", jobId)).toBe(0);
    expect(scene.err).toBe(`Told ${jobId} to end.\n`);
    expect(ended).toMatchObject([{ id: jobId, status: "cancelled" }]);
  });

  it("waits for its end where that is wanted", async () => {
    const scene = new Scene();
    const { call, start } = await beside(scene, ({ signal }) => scene.clock.sleep("1h", signal));
    await start();
    expect(await call("cancel", "inbox/hook", "--wait", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ status: "cancelled" });
  });

  it("says that a job has ended already", async () => {
    const scene = new Scene();
    const id = await scene.job({}, { status: "completed" });
    expect(await scene.run("cancel", id)).toBe(1);
    expect(scene.err).toContain(`${id} was not cancelled: it has ended already (completed)`);
  });

  it("says that nobody runs the job, in a process of its own", async () => {
    const scene = new Scene();
    const id = await scene.job({});
    const { exitCode, err } = await rota(["cancel", id], scene.cwd);
    expect(exitCode).toBe(1);
    expect(err).toContain("no scheduler runs it");
  });

  it("says that a job belongs to no schedule", async () => {
    const scene = new Scene();
    await beside(scene, () => "done");
    const id = await scene.job({ schedule: undefined });
    expect(await scene.run("cancel", id)).toBe(1);
    expect(scene.err).toContain("it belongs to no schedule");
  });

  it("does not find a job that is not there", async () => {
    const scene = new Scene();
    expect(await scene.run("cancel", "job-2026-03-01-zzzzzz")).toBe(3);
  });
});

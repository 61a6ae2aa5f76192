import { describe, expect, it, vi } from "vitest";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { rota } from "../terminal.js";

describe("rota cancel", () => {
  it("cancels a running job", async () => {
    const scene = new Scene();
    const { call, start, ended } = await startScheduler(scene, ({ signal }) =>
      scene.clock.sleep("1h", signal),
    );
    const jobId = await start();
    expect(await call("cancel", jobId)).toBe(0);
    expect(scene.err).toBe(`Cancelling ${jobId}.\n`);
    await vi.waitFor(() => expect(ended).toMatchObject([{ id: jobId, status: "cancelled" }]));
  });

  it("waits for the job's end with --wait", async () => {
    const scene = new Scene();
    const { call, start } = await startScheduler(scene, ({ signal }) => scene.clock.sleep("1h", signal));
    await start();
    expect(await call("cancel", "inbox/hook", "--wait", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ status: "cancelled" });
  });

  it("refuses a job that has already ended", async () => {
    const scene = new Scene();
    const id = await scene.job({}, { status: "completed" });
    expect(await scene.run("cancel", id)).toBe(1);
    expect(scene.err).toContain(`${id} was not cancelled: it has already ended (completed)`);
  });

  it("refuses a job without a scheduler, as a process", async () => {
    const scene = new Scene();
    const id = await scene.job({});
    const { exitCode, err } = await rota(["cancel", id], scene.cwd);
    expect(exitCode).toBe(1);
    expect(err).toContain("no scheduler runs. The next scheduler marks it interrupted");
  });

  it("refuses a job without a schedule", async () => {
    const scene = new Scene();
    await startScheduler(scene, () => "done");
    const id = await scene.job({ schedule: undefined });
    expect(await scene.run("cancel", id)).toBe(1);
    expect(scene.err).toContain("it has no schedule");
  });

  it("exits with 3 for an unknown job", async () => {
    const scene = new Scene();
    expect(await scene.run("cancel", "job-2026-03-01-zzzzzz")).toBe(3);
  });
});

/** Checks the documented rights and connections of a scheduler's user against a real scheduler. */
import { describe, expect, it, vi } from "vitest";
import { POOL_SETTINGS } from "../../../src/state/postgres/connection/database.js";
import { textOf } from "../../package/pages.js";
import { RotaProcess } from "../run/rota-process.js";
import { fleetText } from "../run/run-scene.js";
import { GRANTS, UserScene } from "./user-scene.js";

describe("the documented rights of a scheduler's user", () => {
  it("are found in the documentation", () => {
    expect(GRANTS.length).toBeGreaterThan(0);
  });

  it("suffice for a scheduler and the commands", async () => {
    const scene = await UserScene.onTables(...GRANTS);
    scene.write(fleetText({ a: { interval: "1s", script: "console.log('hello')" } }));
    const node = new RotaProcess(["--json", ...scene.where], scene.cwd);
    await node.heard("scheduler:started");
    const { jobs } = scene.store();
    await vi.waitFor(
      async () => expect((await jobs.list({ status: "completed" })).length).toBeGreaterThanOrEqual(2),
      { timeout: 30_000, interval: 100 },
    );
    expect(await scene.run("pause", "a")).toBe(0);
    expect(await scene.run("nodes")).toBe(0);
    expect(await scene.run("logs", "a/work")).toBe(0);
    expect(scene.out).toBe("hello\n");
    node.signal("SIGTERM");
    expect(await node.end()).toBe(0);
    expect(node.err).not.toMatch(/permission|refused/);
    expect(node.out).not.toContain("scheduler:error");
  });
});

describe("the documentation", () => {
  it("states the maximum number of connections of a node", () => {
    expect(textOf("docs/several-machines.md")).toContain(`up to ${POOL_SETTINGS.max} connections`);
  });
});

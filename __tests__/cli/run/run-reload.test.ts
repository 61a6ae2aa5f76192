import { describe, expect, it } from "vitest";
import { fleetText, RunScene } from "./run-scene.js";

describe("rota run, when its configuration changes,", () => {
  const often = { script: "console.log('hello')", interval: "5s" };
  const one = fleetText({ one: often });
  const both = fleetText({ one: often, two: often });

  async function running(...args: string[]): Promise<RunScene> {
    const scene = RunScene.with();
    scene.write(one);
    scene.start(...args);
    await scene.heard("Running");
    await scene.heard("completed");
    return scene;
  }

  it("reloads it after SIGHUP, and prints the changes", async () => {
    const scene = await running("--no-watch");
    scene.write(both);
    scene.host.signal("SIGHUP");
    await scene.heard("two/work  completed");
    expect(scene.err).toMatch(/Reloaded \S*rota.yaml: added agent two\.\n/);
  });

  it("prints after SIGHUP that nothing changed", async () => {
    const scene = await running("--no-watch");
    scene.host.signal("SIGHUP");
    await scene.heard("nothing changed");
    expect(scene.err).toMatch(/Reloaded \S*rota.yaml: nothing changed\.\n/);
  });

  it("reloads it without a signal", async () => {
    const scene = await running();
    scene.write(both);
    await scene.seen("two/work");
    expect(scene.err).toContain("added agent two");
  });

  it("does not reload it with --no-watch", async () => {
    const scene = await running("--no-watch");
    scene.write(both);
    // Twice the polling interval for files.
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 4);
    expect(scene.err).not.toContain("Reloaded");
  });

  it("keeps the last valid one when it is invalid, and prints every problem", async () => {
    const scene = await running("--no-watch");
    scene.write(`${one}timezon: UTC\nstate_dri: x\n`);
    scene.host.signal("SIGHUP");
    await scene.heard("Not reloaded");
    expect(scene.err).toContain("Not reloaded, the previous configuration stays in use.");
    expect(scene.err).toContain('"timezon"');
    expect(scene.err).toContain('"state_dri"');
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 3);
  });

  it("marks options that take effect at the next start", async () => {
    const scene = await running("--no-watch");
    scene.write(fleetText({ one: often }, "timezone: Asia/Tokyo\n"));
    scene.host.signal("SIGHUP");
    await scene.heard("changed timezone, in effect from the next start on");
    expect(scene.exitCode).toBeUndefined();
  });

  it("ignores agents that --agent does not name", async () => {
    const scene = await running("--no-watch", "--agent", "one");
    scene.write(both);
    scene.host.signal("SIGHUP");
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 3);
    expect(scene.out).not.toContain("two/work");
  });
});

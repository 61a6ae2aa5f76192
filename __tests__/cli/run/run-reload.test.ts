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

  it("goes by it after SIGHUP, and says what is different", async () => {
    const scene = await running("--no-watch");
    scene.write(both);
    scene.host.signal("SIGHUP");
    await scene.heard("two/work  completed");
    expect(scene.err).toMatch(/Reloaded \S*rota.yaml: added agent two\.\n/);
  });

  it("says after SIGHUP when nothing is different", async () => {
    const scene = await running("--no-watch");
    scene.host.signal("SIGHUP");
    await scene.heard("nothing has changed");
    expect(scene.err).toMatch(/Read \S*rota.yaml again: nothing has changed\.\n/);
  });

  it("goes by it without a signal", async () => {
    const scene = await running();
    scene.write(both);
    await scene.seen("two/work");
    expect(scene.err).toContain("added agent two");
  });

  it("does not look at it with --no-watch", async () => {
    const scene = await running("--no-watch");
    scene.write(both);
    // Twice as long as it takes to look at a file that nobody told of.
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 4);
    expect(scene.err).not.toContain("Reloaded");
  });

  it("goes on with the last good one when it is bad, and reports every problem", async () => {
    const scene = await running("--no-watch");
    scene.write(`${one}timezon: UTC\nstate_dri: x\n`);
    scene.host.signal("SIGHUP");
    await scene.heard("Not reloaded");
    expect(scene.err).toContain("Not reloaded, the configuration before goes on.");
    expect(scene.err).toContain('"timezon"');
    expect(scene.err).toContain('"state_dri"');
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 3);
  });

  it("says of options that they wait for the next start", async () => {
    const scene = await running("--no-watch");
    scene.write(fleetText({ one: often }, "timezone: Asia/Tokyo\n"));
    scene.host.signal("SIGHUP");
    await scene.heard("timezone from the next start on");
    expect(scene.exitCode).toBeUndefined();
  });

  it("takes no notice of agents that it was not told to run", async () => {
    const scene = await running("--no-watch", "--agent", "one");
    scene.write(both);
    scene.host.signal("SIGHUP");
    await scene.goOnUntil(() => scene.out.split("one/work  completed").length === 3);
    expect(scene.out).not.toContain("two/work");
  });
});

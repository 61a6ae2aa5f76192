/** The first start of a process loads the checks of agents, which takes a moment: what comes in that moment. */
import { describe, expect, it } from "vitest";
import { root } from "../package/pages.js";
import { runNode } from "../package/run-node.js";

/** The output of a program with a `scheduler` on a store that counts how often it is opened. */
async function printed(program: string): Promise<string> {
  const before = `
    import { FakeClock, MemoryStore, Scheduler } from "rota";
    let opened = 0;
    const store = new (class extends MemoryStore { open(clock) { opened++; return super.open(clock); } })();
    const runs = [];
    const agent = (name) => ({ name, schedules: { x: { type: "interval", interval: "1h" } }, run: () => runs.push(name) });
    const clock = new FakeClock();
    const scheduler = new Scheduler({ store, clock, logger: { info() {}, warn() {}, error: console.error } });
    const said = (promise) => promise.then(() => "resolved", (error) => error.code);`;
  const { out, err } = await runNode(["--input-type=module", "--eval", before + program], { cwd: root });
  expect(err).toBe("");
  return out.trim();
}

describe("during the first start of a process", () => {
  it("stop resolves, and so does start: the store is not opened, and nothing runs", async () => {
    const program = `
      const [start, stop] = [said(scheduler.start([agent("a")])), said(scheduler.stop())];
      console.log(await start, await stop, scheduler.getStatus(), opened);
      await clock.advance("1h");
      console.log(runs.length, clock.sleeping);`;
    expect(await printed(program)).toBe("resolved resolved stopped 0\n0 0");
  });

  it("setAgents replaces the agents that are being checked", async () => {
    const program = `
      const start = scheduler.start([agent("old")]);
      scheduler.setAgents([agent("new")]);
      await start;
      await clock.advance("1s");
      await scheduler.stop();
      console.log(...runs);`;
    expect(await printed(program)).toBe("new");
  });

  it("setAgents with agents that can never run makes start reject, and nothing is opened", async () => {
    const program = `
      const start = said(scheduler.start([agent("a")]));
      scheduler.setAgents([{ name: "a", shedules: {} }]);
      console.log(await start, scheduler.getStatus(), opened);`;
    expect(await printed(program)).toBe("INVALID_CONFIG stopped 0");
  });
});

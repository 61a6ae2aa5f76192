import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/index.js";
import { agent, every, scene, type Scene } from "./scene.js";

const failing = (): never => {
  throw new Error("out of luck");
};
const repaired = (): string => "done";
const of = (run: Agent["run"], prompt?: string): Agent[] => [
  agent("a", { x: every("1h", prompt === undefined ? {} : { prompt }) }, { run }),
];

/** A schedule that has failed twice, at 00:00 and 02:00, and is due again at 06:00. */
async function failedTwice(): Promise<Scene> {
  const stage = scene();
  await stage.scheduler.start(of(failing));
  await stage.clock.advance("2h");
  expect(await stage.plan("a", "x")).toBe("06:00 baseline-interval");
  return stage;
}

describe("the failures of a schedule", () => {
  it("count no longer when its run function is changed: what is overdue is due now", async () => {
    const { scheduler, clock, runs, plan, state } = await failedTwice();
    await clock.advance("90m");
    scheduler.setAgents(of(repaired));
    await clock.advance("1s");
    expect(runs.at(-1)).toBe("03:30 a/x");
    expect(await plan("a", "x")).toBe("04:30 baseline-interval");
    const { failure_count, failed_run } = await state("a", "x");
    expect({ failure_count, failed_run }).toEqual({ failure_count: 0, failed_run: undefined });
  });

  it("count no longer when its prompt is changed: the wait is the interval", async () => {
    const { scheduler, clock, plan, state } = await failedTwice();
    scheduler.setAgents(of(failing, "try this"));
    await clock.advance("1s");
    expect(await plan("a", "x")).toBe("03:00 baseline-interval");
    expect(await state("a", "x")).toMatchObject({ failure_count: 0 });
    await clock.advance("1h");
    expect(await state("a", "x")).toMatchObject({ failure_count: 1 });
  });

  it("count no longer after a restart with a different function", async () => {
    const first = await failedTwice();
    await first.scheduler.stop();
    const second = first.again();
    await second.scheduler.start(of(repaired));
    expect(await second.plan("a", "x")).toBe("03:00 baseline-interval");
  });

  it("count as before when nothing that runs is changed", async () => {
    const { scheduler, clock, plan, state } = await failedTwice();
    const [same] = of(failing);
    scheduler.setAgents(
      same === undefined ? [] : [{ ...same, description: "writes reports", data: { id: 2 } }],
    );
    await clock.advance("1s");
    expect(await plan("a", "x")).toBe("06:00 baseline-interval");
    expect(await state("a", "x")).toMatchObject({ failure_count: 2 });
  });

  it("start anew when what runs is changed during a job that fails", async () => {
    const stage = scene();
    const slow = async (): Promise<never> => {
      await stage.clock.sleep("10m");
      return failing();
    };
    await stage.scheduler.start(of(slow));
    await stage.clock.advance("135m");
    expect(await stage.state("a", "x")).toMatchObject({ status: "running", failure_count: 1 });
    stage.scheduler.setAgents(of(failing));
    await stage.clock.advance("10m");
    expect(await stage.state("a", "x")).toMatchObject({ failure_count: 1 });
  });
});

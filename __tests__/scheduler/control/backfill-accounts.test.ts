/** Every own slot of a schedule with a backfill is a run or a counted skip, whatever its jobs and people do. */
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/index.js";
import { Dice } from "../../simulation/dice.js";
import { agent, cron, scene, type Scene, START } from "../scene.js";

const STEPS = 40;
const MINUTE_MS = 60_000;

/** Lives for some hours with a schedule of every ten minutes, and backfills of the two hours before the start. */
async function live(seed: number): Promise<{ readonly stage: Scene; readonly asked: readonly string[] }> {
  const dice = new Dice(seed, 3);
  const schedule = cron("*/10 * * * *", dice.chance(0.3) ? { missed: "once" } : {});
  let running = 0;
  const run = async (): Promise<void> => {
    expect(++running).toBe(1);
    try {
      await stage.clock.sleep(
        dice.chance(0.7) ? dice.whole(0, 3 * MINUTE_MS) : dice.whole(0, 35 * MINUTE_MS),
      );
      if (dice.chance(0.2)) throw new Error("no");
    } finally {
      running--;
    }
  };
  const stage = scene({ store: new MemoryStore() });
  const other = { type: "webhook" } as const;
  await stage.scheduler.start([agent("a", { x: schedule, other }, { run, capacity: 1 })]);
  const startMs = Date.parse(START);
  const { slots } = await stage.scheduler.backfill("a", "x", {
    from: startMs - 120 * MINUTE_MS,
    to: startMs - MINUTE_MS,
  });
  for (let step = 0; step < STEPS; step++) {
    await stage.clock.advance(dice.whole(1, 12 * MINUTE_MS));
    const kind = dice.random();
    if (kind < 0.15) await stage.scheduler.trigger("a", "other");
    else if (kind < 0.25) await stage.scheduler.trigger("a", "x");
    else if (kind < 0.35)
      await stage.scheduler.pause("a", "x", new Date(stage.clock.now().getTime() + 20 * MINUTE_MS));
    else if (kind < 0.45) await stage.scheduler.resume("a", "x");
  }
  await stage.scheduler.resume("a", "x");
  await stage.clock.advance("48h");
  return { stage, asked: slots.map((slot) => slot.toISOString()) };
}

describe("the slots of a schedule with a backfill", () => {
  it.each(Array.from({ length: 12 }, (_, index) => index + 1))("add up, seed %i", async (seed) => {
    const { stage, asked } = await live(seed);
    const jobs = stage.jobs.filter(({ schedule }) => schedule === "x");
    const past = jobs.filter(({ slot }) => slot !== null && slot < START).map(({ slot }) => slot);
    expect(past).toEqual(asked);
    const own = jobs.filter(({ slot, source }) => slot !== null && slot >= START && source !== "manual");
    const { backfill, missed_count, next_run_at, claim } = await stage.state("a", "x");
    expect(backfill).toBeUndefined();
    const untilMs = Date.parse(claim?.slot ?? next_run_at ?? "");
    const first = Math.floor(Date.parse(START) / (10 * MINUTE_MS)) + 1;
    const slots = Math.ceil(untilMs / (10 * MINUTE_MS)) - first + (claim == null ? 0 : 1);
    expect(own.length + (missed_count ?? 0)).toBe(slots);
  });
});

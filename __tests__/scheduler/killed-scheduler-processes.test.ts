/** What schedulers on files that are killed leave to the next one. `npm run test:crash` does the same for longer. */
import { expect, it } from "vitest";
import { seededRandom } from "../../src/random.js";
import { runKilledSchedulers } from "./killed-scheduler-processes.js";

it("schedulers on files with many short jobs that are killed 8 times break no promise", async () => {
  const setting = { agents: 5, schedules: 12, capacity: 4, random: seededRandom(1) };
  const { breaches, starts, interrupted } = await runKilledSchedulers({
    kills: 8,
    everyMs: 1_000,
    ...setting,
  });
  expect(breaches).toEqual([]);
  expect(starts).toBeGreaterThan(100);
  expect(interrupted).toBeGreaterThan(0);
}, 240_000);

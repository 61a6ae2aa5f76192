/** The same as killed-scheduler-processes.test.ts at length: minutes of it, so it runs on its own and not with every `npm test`. */
import { expect, it } from "vitest";
import { systemRandom } from "../../src/random.js";
import { runKilledSchedulers } from "./killed-scheduler-processes.js";

it("schedulers on files with many short jobs that are killed 150 times break no promise", async () => {
  const setting = { agents: 20, schedules: 30, capacity: 10, random: systemRandom };
  const campaign = await runKilledSchedulers({ kills: 150, everyMs: 3_000, ...setting });
  const { breaches, ...counts } = campaign;
  process.stdout.write(`150 kills: ${JSON.stringify(counts)}\n`);
  expect(breaches).toEqual([]);
  expect(counts.starts).toBeGreaterThan(10_000);
});

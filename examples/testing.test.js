/** How to test agents and their schedules without waiting: node --test examples/testing.test.js */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, MemoryStore, Scheduler } from "rota";

/** A scheduler of one agent on a clock of the test's own. */
async function startAgent(t, clock, run) {
  const logger = { info() {}, warn() {}, error() {} };
  const scheduler = new Scheduler({ clock, store: new MemoryStore(), logger });
  t.after(() => scheduler.stop({ waitForJobs: false }));
  await scheduler.start([{ name: "agent", schedules: { often: { type: "interval", interval: "5m" } }, run }]);
}

test("a slow job never piles up on itself", async (t) => {
  const clock = new FakeClock("2026-03-01T00:00:00Z");
  const starts = [];
  await startAgent(t, clock, async () => {
    starts.push(clock.time());
    await clock.sleep("10m");
  });
  await clock.advance("31m");
  assert.deepEqual(starts, ["00:00", "00:15", "00:30"]);
});

test("a job that fails waits longer each time", async (t) => {
  const clock = new FakeClock("2026-03-01T00:00:00Z");
  const starts = [];
  await startAgent(t, clock, () => {
    starts.push(clock.time());
    throw new Error("no answer");
  });
  await clock.advance("1h");
  assert.deepEqual(starts, ["00:00", "00:10", "00:30"]);
});

// A scheduler in a process of its own, on a state directory and the machine's time. Prints what happens, one JSON line each.
// Arguments: the directory ("" for the default), how its one agent is scheduled and run, as JSON. Input: "stop" stops it.
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Scheduler } from "../../../dist/index.js";

const [stateDir, how] = process.argv.slice(2);
const {
  interval = "1s",
  jobMs = 0,
  blockMs = 0,
  unref = false,
  stopAfterStart = false,
  options = {},
} = JSON.parse(how);

const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const scheduler = new Scheduler({
  ...(stateDir === "" ? {} : { stateDir }),
  ...(unref ? { unref } : {}),
  ...options,
  logger: { info() {}, warn: (message) => say({ warn: message }), error() {} },
});

scheduler.on("job:started", ({ job }) => say({ started: job.id, slot: job.slot, source: job.source }));
scheduler.on("job:finished", ({ job }) => say({ finished: job.id, status: job.status }));
scheduler.on("schedule:missed", ({ slot }) => say({ missed: slot }));
scheduler.on("scheduler:error", ({ error }) => say({ error: error.name, message: error.message }));
scheduler.on("scheduler:stopped", () => say({ stopped: true }));

/** Keeps the event loop busy, as parsing a huge text or a synchronous call does. */
const block = () => {
  say({ blocked: Date.now() });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
  say({ unblocked: Date.now() });
};
const run = () =>
  blockMs > 0 ? block() : jobMs === 0 ? undefined : setTimeout(jobMs, undefined, { ref: !unref });
const agents = [{ name: "a", schedules: { work: { type: "interval", interval } }, run }];
try {
  await scheduler.start(agents);
  say({ running: process.pid });
} catch ({ name, message, owner }) {
  say({ refused: name, message, owner });
}
if (stopAfterStart) await scheduler.stop();
else if (!unref) {
  process.stdin.once("data", () => {
    process.stdin.destroy();
    void scheduler.stop().then(() => say({ done: true }));
  });
}

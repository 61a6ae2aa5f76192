// A scheduler with one job that goes on until it is said "end", also when it is told to end. Prints "started", "told" with
// the reason, and "finished" with the job's status.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Scheduler } from "../../../../dist/index.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

const [, , connectionString, schema, leaseMs] = process.argv;
const say = (line) => writeSync(1, `${line}\n`);
const logger = { info() {}, warn() {}, error() {} };
const store = new PostgresStore({ connectionString, schema, leaseMs: Number(leaseMs), logger });
const scheduler = new Scheduler({ store, logger, checkInterval: 200 });
let end = () => {};
const run = ({ signal }) => {
  signal.addEventListener("abort", () => say(`told ${signal.reason.message}`));
  say("started");
  return new Promise((resolve) => {
    end = () => resolve("all done, too late");
  });
};
scheduler.on("job:finished", ({ job }) => say(`finished ${job.status}`));
await scheduler.start([{ name: "long", schedules: { work: { type: "interval", interval: "1h" } }, run }]);
for await (const line of createInterface({ input: process.stdin })) if (line === "end") end();
await scheduler.stop({ waitForJobs: false });

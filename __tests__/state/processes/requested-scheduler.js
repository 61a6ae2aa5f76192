// A scheduler on a state directory or a schema whose agents run on request only. Prints "ready"; each job prints "ran" with
// its id, prompt, data and attempt; the jobs of "slow" last a minute. The end of its input stops it.
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { FileStore, Scheduler } from "../../../dist/index.js";

const [, , stateDir, connectionString, schema] = process.argv;
const logger = { info() {}, warn() {}, error() {} };
const store =
  connectionString === undefined
    ? new FileStore({ stateDir, logger })
    : new (await import("../../../dist/state/postgres/index.js")).PostgresStore({
        connectionString,
        schema,
        leaseMs: 2_000,
        logger,
      });
const scheduler = new Scheduler({ store, logger });
const run = async ({ agent, jobId, prompt, data, attempt }) => {
  writeSync(1, `ran ${JSON.stringify({ jobId, prompt, data: data ?? null, attempt })}\n`);
  if (agent.name === "slow") await setTimeout(60_000);
};
const schedules = { work: { type: "webhook", prompt: "default" } };
const names = ["slow", ...Array.from({ length: 100 }, (_, index) => `a${index}`)];
await scheduler.start(names.map((name) => ({ name, schedules, run })));
writeSync(1, "ready\n");
for await (const _ of process.stdin);
await scheduler.stop({ waitForJobs: false });

// Runs jobs that keep the event loop from turning for five seconds, with a timeout of one second, on the real clock.
import { setTimeout } from "node:timers/promises";
import { JobExecutor } from "../../../dist/runner/job-executor.js";
import { MemoryStore } from "../../../dist/state/memory/memory-store.js";

function block() {
  const endsAt = performance.now() + 5_000;
  while (performance.now() < endsAt);
  return "done";
}

const runs = {
  "at once": block,
  later: async () => {
    await setTimeout(10);
    return block();
  },
  never: async () => {
    await setTimeout(10);
    block();
    return new Promise(() => {});
  },
};

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const store = new MemoryStore();
const executor = new JobExecutor({ store, graceMs: 100, logger });
const agent = { name: "blocker", timeout: "1s", run: runs[process.argv[2]] };
const { jobId, status, error } = await executor.execute({ agent, prompt: "" });
const { runningCount, abandonedCount } = executor;
const { status: recorded } = await store.jobs.get(jobId);
process.stdout.write(`${JSON.stringify({ status, error, recorded, runningCount, abandonedCount })}\n`);

// Runs a job whose abort listener throws, in a host that hears of what nobody caught.
import { JobExecutor } from "../../../dist/runner/job-executor.js";
import { MemoryStore } from "../../../dist/state/memory/memory-store.js";

const uncaught = [];
process.on("uncaughtException", ({ message }) => uncaught.push(message));
const run = ({ signal }) => {
  signal.addEventListener("abort", () => {
    throw new Error("boom");
  });
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
};
const store = new MemoryStore();
const executor = new JobExecutor({ store });
const agent = { name: "thrower", timeout: 10, run };
const { jobId, status } = await executor.execute({ agent, prompt: "" });
const { status: recorded } = await store.jobs.get(jobId);
process.stdout.write(
  `${JSON.stringify({ status, recorded, runningCount: executor.runningCount, uncaught })}\n`,
);

/**
 * An agent SDK through the `messages` runtime: whatever answers an async iterable of messages will do. The generator here
 * stands in for an SDK's own query function, which is given to the scheduler in the same way.
 */
import { MemoryStore, Scheduler } from "rota";

/** As an SDK would: some text while it works, then a result. `abortController` ends it when the job is to end. */
async function* query({ prompt, options, abortController }) {
  yield { type: "system", subtype: "init", model: options.model };
  yield { type: "assistant", message: { content: [{ type: "text", text: "Let me read it." }] } };
  if (abortController.signal.aborted) return;
  if (prompt.includes("impossible"))
    yield { type: "result", subtype: "error_during_execution", is_error: true, result: "I gave up." };
  else yield { type: "result", subtype: "success", result: `Reviewed: ${prompt}` };
}

const store = new MemoryStore();
const logger = { info() {}, warn: console.warn, error: console.error };
const scheduler = new Scheduler({ sdkQuery: query, store, logger });
const finished = new Promise((resolve) => {
  let count = 0;
  scheduler.on("job:finished", async ({ job }) => {
    console.log(job.schedule, job.status, job.summary);
    count += 1;
    if (count === 2) resolve(job);
  });
});
await scheduler.start([
  {
    name: "reviewer",
    runtime: { type: "messages", options: { model: "small" } },
    timeout: "10m",
    schedules: {
      hourly: { type: "interval", interval: "1h", prompt: "the open changes" },
      daily: { type: "interval", interval: "1d", prompt: "the impossible" },
    },
  },
]);
const { id } = await finished;
console.log(await store.jobs.readOutput(id)); // every message, a line each
await scheduler.stop();

/**
 * An endpoint that is asked more often while it has work to do. Its answer says how much is waiting: while there is any,
 * a hint makes it due again in a second; then the hint is cleared and the schedule's own hour counts.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { MemoryStore, Scheduler } from "rota";

// The endpoint, here a server of our own: each request does one piece of work.
let waiting = 3;
const server = createServer((request, response) => {
  waiting = Math.max(0, waiting - 1);
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ waiting }));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const logger = { info() {}, warn: console.warn, error: console.error };
const scheduler = new Scheduler({ store: new MemoryStore(), logger });
const calm = new Promise((resolve) => {
  scheduler.on("job:finished", async ({ job }) => {
    const { agent, schedule, response_body: answer } = job;
    console.log(`${answer.waiting} waiting [${job.source}]`);
    if (answer.waiting > 0)
      await scheduler.hint(agent, schedule, { interval: "1s", ttl: "5m", reason: "the queue is not empty" });
    else {
      await scheduler.clearHints(agent, schedule);
      resolve();
    }
  });
});
await scheduler.start([
  {
    name: "drain",
    runtime: { type: "http", url: `http://127.0.0.1:${server.address().port}/drain`, timeout: "10s" },
    schedules: { queue: { type: "interval", interval: "1h" } },
  },
]);
await calm;
const [{ source }] = await scheduler.getSchedules("drain");
console.log(`next by ${source}`);
await scheduler.stop();
server.close();

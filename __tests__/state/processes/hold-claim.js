/** Claims the one due schedule of a state directory, says so, and runs it until it is killed. */
import { FileStore } from "../../../dist/index.js";

const [stateDir] = process.argv.slice(2);
const key = { agent: "reader", schedule: "hourly" };
const store = new FileStore({ stateDir });
await store.open();
await store.define({ schedules: [key] });
await store.update(key, { next_run_at: new Date(0).toISOString() });
const { claims } = await store.claimDue(1);
for (const { jobId, agent, schedule } of claims) {
  await store.jobs.start({ id: jobId, agent, schedule, trigger: "interval" });
  process.stdout.write(`${jobId}\n`);
}

/** Claims twenty due schedules of a state directory, prints their job ids, and runs them without a record until it is killed. */
import { FileStore } from "../../../dist/index.js";

const [stateDir] = process.argv.slice(2);
const schedules = Array.from({ length: 20 }, (_, index) => ({ agent: "reader", schedule: `s${index}` }));
const store = new FileStore({ stateDir });
await store.open();
await store.define({ agents: [{ agent: "reader", maxConcurrent: 20 }], schedules });
const next_run_at = new Date(0).toISOString();
await store.updateAll(schedules, () => ({ next_run_at, next_run_source: "baseline-cron" }));
const { claims } = await store.claimDue(20);
process.stdout.write(`${claims.map(({ jobId }) => jobId).join(" ")}\n`);
setInterval(() => {}, 1000);

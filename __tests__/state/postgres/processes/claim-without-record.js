// Claims twenty due schedules, prints their job ids, and runs them without a record until it is killed.
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

const [, , connectionString, schema, leaseMs] = process.argv;
const schedules = Array.from({ length: 20 }, (_, index) => ({ agent: "reader", schedule: `s${index}` }));
const store = new PostgresStore({ connectionString, schema, leaseMs: Number(leaseMs) });
await store.open();
await store.define({ agents: [{ agent: "reader", maxConcurrent: 20 }], schedules });
const next_run_at = new Date(0).toISOString();
await store.updateAll(schedules, () => ({ next_run_at, next_run_source: "baseline-cron" }));
const { claims } = await store.claimDue(20);
process.stdout.write(`${claims.map(({ jobId }) => jobId).join(" ")}\n`);

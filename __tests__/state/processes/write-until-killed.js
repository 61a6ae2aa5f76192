// Owns a state directory and writes to it until it is killed: updates a count, claims a schedule, completes it.
// Prints each step once it is acknowledged: "ready 7", "updated 8", "claimed 8", "completed 8", "updated 9".
import { writeSync } from "node:fs";
import { FileStore } from "../../../dist/state/file/file-store.js";

const PAST = "2026-01-01T00:00:00.000Z";
const count = { agent: "a", schedule: "count" };
const task = { agent: "b.with/odd: name", schedule: "task" };
const acknowledge = (what, number) => writeSync(1, `${what} ${number}\n`);

const store = new FileStore({ stateDir: process.argv[2] });
await store.open();
await store.define({ schedules: [task] });
let { missed_count: number } = await store.read(count);
number ??= 0;
await store.update(task, { next_run_at: PAST, last_error: String(number) });
acknowledge("ready", number);

for (;;) {
  number++;
  await store.update(count, { missed_count: number });
  acknowledge("updated", number);
  const { claims } = await store.claimDue(10);
  if (claims.length !== 1) throw new Error(`${claims.length} claims in place of one`);
  acknowledge("claimed", number);
  const [claim] = claims;
  await store.jobs.start({
    id: claim.jobId,
    agent: claim.agent,
    schedule: claim.schedule,
    trigger: "interval",
  });
  // After a crash the record may be there and the state not, or the other way round.
  const record = await store.jobs.get(claim.jobId);
  const finished_at = new Date().toISOString();
  await store.finishJobs([
    {
      claim,
      change: { next_run_at: PAST, last_error: String(number) },
      record: { ...record, status: "completed", finished_at, duration_ms: 0 },
    },
  ]);
  acknowledge("completed", number);
}

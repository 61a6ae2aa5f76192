// A node that claims slots and completes each at once with the next of its schedule, until all schedules have had theirs.
// Every completion that was accepted is noted in a table that refuses the same slot twice. Prints "ready", then "done" and
// how many slots it has claimed.
import { writeSync } from "node:fs";
import { Pool } from "pg";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

const [, , connectionString, schema, agents, slots, batch, leaseMs] = process.argv;
const say = (line) => writeSync(1, `${line}\n`);
const START_MS = Date.parse("2026-01-01T00:00:00.000Z");
const pool = new Pool({ connectionString, max: 4 });
const store = new PostgresStore({ pool, schema, leaseMs: Number(leaseMs) });
const keys = Array.from({ length: Number(agents) }, (_, i) => ({
  agent: `a${i % 20}`,
  schedule: `s${i}`,
}));
const names = [...new Set(keys.map(({ agent }) => agent))];
let claimed = 0;

/** The number of the slot is kept in the state: a slot that was cut off is run again at another time. */
const next = ({ missed_count: done }) => ({
  missed_count: (done ?? 0) + 1,
  ...((done ?? 0) + 1 < Number(slots)
    ? {
        next_run_at: new Date(START_MS + 1_000 * ((done ?? 0) + 1)).toISOString(),
        next_run_source: "baseline-interval",
      }
    : {}),
});

/** What was cut off twice in a row has to be planned by somebody. */
async function plan() {
  await store.updateAll(keys, (state) =>
    state.claim == null && state.next_run_at == null && (state.missed_count ?? 0) < Number(slots)
      ? { next_run_at: new Date(START_MS).toISOString(), next_run_source: "catch-up" }
      : {},
  );
}

async function isFinished() {
  const states = await Promise.all(names.map((agent) => store.list(agent)));
  return states.every((ofAgent) =>
    [...ofAgent.values()].every(({ missed_count: done }) => (done ?? 0) >= Number(slots)),
  );
}

/** Again and again until it works, as a scheduler does. */
async function completed(claims) {
  for (;;) {
    try {
      const results = await store.finishJobs(claims.map((claim) => ({ claim, change: next })));
      return results.map(({ claim }) => claim === "ended");
    } catch (error) {
      say(`trouble: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

await store.open();
await store.define({ agents: names.map((agent) => ({ agent, maxConcurrent: 30 })), schedules: keys });
await plan();
say("ready");
for (;;) {
  try {
    const { claims } = await store.claimDue(Number(batch));
    if (claims.length === 0) {
      if (await isFinished()) break;
      await plan();
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    claimed += claims.length;
    const areHeld = await completed(claims);
    const done = claims.filter((_, index) => areHeld[index]);
    await pool.query(
      `insert into "${schema}".accepted (schedule, number, token) select * from unnest($1::text[], $2::int[], $3::text[])`,
      [
        done.map(({ schedule }) => schedule),
        done.map(({ state }) => state.missed_count ?? 0),
        done.map(({ token }) => token),
      ],
    );
  } catch (error) {
    // The database may be away for a moment; that the same slot was accepted twice is what this is about.
    say(error.code === "23505" ? `twice: ${error.detail}` : `trouble: ${error.message}`);
    if (error.code === "23505") process.exit(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
say(`done ${claimed}`);
await store.close();
await pool.end();

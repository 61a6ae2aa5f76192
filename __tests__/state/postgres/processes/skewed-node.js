// A node whose clock is wrong by so many milliseconds: prints what it claims, of a slot that is due and one that is not.
import { writeSync } from "node:fs";
import { Pool } from "pg";
import { systemClock } from "../../../../dist/clock.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";
import { skewClock } from "./skewed-clock.js";

const [, , skewMs, connectionString, schema] = process.argv;
skewClock(Number(skewMs));
const store = new PostgresStore({ connectionString, schema });
await store.open(systemClock);
const pool = new Pool({ connectionString });
const { rows } = await pool.query("select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms");
const at = (ms) => new Date(ms).toISOString();
const databaseMs = rows[0].ms;
await store.define({
  schedules: [
    { agent: "a", schedule: "due" },
    { agent: "b", schedule: "later" },
  ],
});
await store.update({ agent: "a", schedule: "due" }, { next_run_at: at(databaseMs - 1_000) });
await store.update({ agent: "b", schedule: "later" }, { next_run_at: at(databaseMs + 300_000) });
const { claims } = await store.claimDue(10);
const { started_at } = await store.jobs.start({ agent: "a", trigger: "manual" });
const times = [...claims.map(({ claimedAt }) => claimedAt.getTime()), Date.parse(started_at)];
const isOff = times.some((ms) => Math.abs(ms - databaseMs) > 60_000);
writeSync(1, `${claims.map(({ schedule }) => schedule).join(" ")}, ${isOff ? "wrong" : "right"} times\n`);
await store.close();
await pool.end();

// A node whose clock is wrong by so many milliseconds: prints what it claims, of a slot that is due and one that is not.
import { writeSync } from "node:fs";
import { Pool } from "pg";

const [, , connectionString, schema, skewMs] = process.argv;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + Number(skewMs));
    else super(...args);
  }

  static now() {
    return RealDate.now() + Number(skewMs);
  }
};
const { PostgresStore } = await import("../../../../dist/state/postgres/index.js");
const { systemClock } = await import("../../../../dist/clock.js");

const store = new PostgresStore({ connectionString, schema });
await store.open(systemClock);
const pool = new Pool({ connectionString });
const { rows } = await pool.query("select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms");
const at = (ms) => new RealDate(ms).toISOString();
const databaseMs = rows[0].ms;
await store.define([
  { agent: "a", schedule: "due" },
  { agent: "b", schedule: "later" },
]);
await store.update({ agent: "a", schedule: "due" }, { next_run_at: at(databaseMs - 1_000) });
await store.update({ agent: "b", schedule: "later" }, { next_run_at: at(databaseMs + 300_000) });
const { claims } = await store.claimDue(10);
const { started_at } = await store.jobs.start({ agent: "a", trigger: "manual" });
const times = [...claims.map(({ claimedAt }) => claimedAt.getTime()), RealDate.parse(started_at)];
const isOff = times.some((ms) => Math.abs(ms - databaseMs) > 60_000);
writeSync(1, `${claims.map(({ schedule }) => schedule).join(" ")}, ${isOff ? "wrong" : "right"} times\n`);
await store.close();
await pool.end();

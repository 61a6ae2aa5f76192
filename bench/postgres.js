/** How many slots a second are claimed and completed by one store, beside a bare claim loop on the same server. */
import { cpus, platform, release } from "node:os";
import { Client, Pool } from "pg";
import { PostgresStore } from "../dist/state/postgres/index.js";
import { startServer } from "./postgres/server.js";

const SLOTS = Number(process.argv[2] ?? 20_000);
const BATCHES = [100, 1_000];
const PER_AGENT = [1, 100];

const seconds = async (act) => {
  const before = performance.now();
  await act();
  return (performance.now() - before) / 1_000;
};
const perSecond = (count, time) => Math.round(count / time).toLocaleString("en");

const server = await startServer();
try {
  console.log(`postgres: wall time of ${SLOTS} slots, one connection, durable commits`);
  console.log(
    `node ${process.versions.node}, ${platform()} ${release()}, ${cpus().length} × ${cpus()[0]?.model}`,
  );
  for (const batch of BATCHES) {
    console.log(`bare loop, batch ${batch}: ${await bareLoop(server.url, batch)} claims/s`);
    for (const size of PER_AGENT) await measureStore(batch, size);
  }
} finally {
  await server.stop();
}

async function measureStore(batch, size) {
  const pool = new Pool({ connectionString: server.url, max: 6 });
  const store = new PostgresStore({ pool, schema: `bench_${batch}_${size}` });
  await store.open();
  const keys = Array.from({ length: SLOTS }, (_, i) => ({
    agent: `agent-${Math.floor(i / size)}`,
    schedule: `schedule-${i % size}`,
    maxConcurrent: size,
  }));
  const defining = await seconds(() => store.define(keys));
  const planning = await seconds(() =>
    store.updateAll(keys, () => ({
      next_run_at: "2026-01-01T00:00:00.000Z",
      next_run_source: "baseline-interval",
    })),
  );
  await pool.query(`analyze "bench_${batch}_${size}".schedules`);
  const all = [];
  const claiming = await seconds(async () => {
    for (;;) {
      const { claims } = await store.claimDue(batch);
      if (claims.length === 0) break;
      all.push(claims);
    }
  });
  const completing = await seconds(async () => {
    for (const claims of all)
      await store.completeAll(
        claims.map((claim) => ({
          claim,
          change: { last_run_at: "2026-01-01T00:00:00.000Z", failure_count: 0 },
        })),
      );
  });
  const count = all.flat().length;
  console.log(
    `store, batch ${batch}, ${size} schedules an agent: claim ${perSecond(count, claiming)}/s, ` +
      `complete ${perSecond(count, completing)}/s (${count} slots; define ${defining.toFixed(2)} s, plan ${planning.toFixed(2)} s)`,
  );
  await store.close();
  await pool.end();
}

/** The plain statement that every store of this kind is measured by. */
async function bareLoop(connectionString, batch) {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`drop table if exists bare; create table bare (id bigint primary key, due_at timestamptz not null,
    token text, owner text, lease_until timestamptz);
    insert into bare select i, now() - interval '1 day' from generate_series(1, ${SLOTS}) i;
    create index on bare (due_at, id) where token is null; analyze bare`);
  let count = 0;
  const time = await seconds(async () => {
    for (;;) {
      const { rowCount } = await client.query({
        name: "bare",
        text: `update bare set token = gen_random_uuid(), owner = 'me', lease_until = clock_timestamp() + interval '30 s'
          where ctid = any(array(select ctid from bare where token is null and due_at <= clock_timestamp()
            order by due_at, id limit $1 for update skip locked)) returning id, due_at, token`,
        values: [batch],
      });
      if (rowCount === 0) break;
      count += rowCount;
    }
  });
  await client.end();
  return perSecond(count, time);
}

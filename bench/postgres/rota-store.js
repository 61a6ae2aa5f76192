/** A PostgresStore alone: no scheduler, no job log. */
import { Pool } from "pg";
import { PostgresStore } from "../../dist/state/postgres/index.js";

const DUE = { next_run_at: "2026-01-01T00:00:00.000Z", next_run_source: "baseline-interval" };
const LATER_MS = 86_400_000;

async function openWith({ url }, count, perAgent) {
  const pool = new Pool({ connectionString: url, max: 6 });
  const store = new PostgresStore({ pool });
  await store.open();
  const keys = Array.from({ length: count }, (_, i) => ({
    agent: `agent-${Math.floor(i / perAgent)}`,
    schedule: `schedule-${i % perAgent}`,
  }));
  const names = new Set(keys.map(({ agent }) => agent));
  const agents = Array.from(names, (agent) => ({ agent, maxConcurrent: perAgent }));
  await store.define({ agents, schedules: keys });
  const makeDue = (many) => store.updateAll(keys.slice(0, many), () => DUE);
  const close = async () => {
    await store.close();
    await pool.end();
  };
  return { pool, store, makeDue, close };
}

/** Claimed and completed in batches, one after the other. */
export async function jobs({ count, warmUpCount, batch, perAgent = 10, ...options }, stopwatch) {
  const { pool, store, makeDue, close } = await openWith(options, count, perAgent);
  const drain = async (many) => {
    await makeDue(many);
    await pool.query("vacuum analyze");
    let left = many;
    stopwatch.start();
    while (left > 0) {
      const due = await store.claimDue(batch);
      const now = Date.now();
      const change = {
        last_run_at: new Date(now).toISOString(),
        last_completed_at: new Date(now).toISOString(),
        failure_count: 0,
        next_run_at: new Date(now + LATER_MS).toISOString(),
        next_run_source: "baseline-interval",
      };
      const results = await store.finishJobs(due.claims.map((claim) => ({ claim, change })));
      left -= results.filter(({ claim }) => claim === "ended").length;
    }
    return stopwatch.stop(many);
  };
  await drain(warmUpCount);
  const figures = await drain(count);
  await close();
  return { ...figures, missing: 0 };
}

/** Claimed in batches; what was claimed to warm up is completed before. */
export async function claims({ count, warmUpCount, batch, perAgent, ...options }, stopwatch) {
  const { pool, store, makeDue, close } = await openWith(options, count, perAgent);
  const drain = async (many) => {
    await makeDue(many);
    await pool.query("vacuum analyze");
    const all = [];
    stopwatch.start();
    for (;;) {
      const due = await store.claimDue(batch);
      if (due.claims.length === 0) break;
      all.push(due.claims);
    }
    const claimed = all.flat();
    return { ...stopwatch.stop(claimed.length), claimed };
  };
  const { claimed } = await drain(warmUpCount);
  await store.finishJobs(claimed.map((claim) => ({ claim, change: {} })));
  const { claimed: timed, ...figures } = await drain(count);
  const slots = new Set(timed.map(({ agent, schedule }) => `${agent}/${schedule}`));
  await close();
  return { ...figures, missing: count - slots.size };
}

/** A Scheduler on a PostgresStore, as it comes. */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { Scheduler } from "../../dist/index.js";
import { PostgresStore } from "../../dist/state/postgres/index.js";

const PER_AGENT = 10;
const DAY_MS = 86_400_000;
/** For setting up, where the first try is enough; and of that for the warm-up. */
const LEAD_MS = 30_000;
const REST_MS = 6_000;
const quiet = { info() {}, warn: console.warn, error: console.error };

function storeOf({ url }) {
  // What is kept of jobs is what the other contenders have no limit for either.
  return new PostgresStore({ connectionString: url, logger: quiet, jobs: { maxJobs: 10_000_000 } });
}

/** `PER_AGENT` schedules each; `run` gets the number of the schedule. */
function agentsOf(prefix, count, definition, run) {
  const agents = [];
  for (let first = 0; first < count; first += PER_AGENT) {
    const schedules = {};
    for (let i = first; i < Math.min(first + PER_AGENT, count); i++) schedules[i] = definition;
    agents.push({
      name: `${prefix}-${first}`,
      schedules,
      instances: { max_concurrent: PER_AGENT },
      run: ({ schedule }) => run(Number(schedule)),
    });
  }
  return agents;
}

/** Every schedule is due at one and the same time, as if it had last run a day before; some are, for practice, earlier. */
export async function jobs({ count, warmUpCount, tries, ...options }, stopwatch) {
  let started = 0;
  const definition = { type: "interval", interval: "1d" };
  const run = () => void started++;
  const warmUp = agentsOf("early", warmUpCount, definition, run);
  const timed = agentsOf("agent", count, definition, run);
  const dueAt = new Date(Date.now() + LEAD_MS * tries);
  const earlyAt = new Date(dueAt.getTime() - REST_MS * tries);
  await planAll(options, warmUp, earlyAt);
  await planAll(options, timed, dueAt);
  await vacuum(options);
  const scheduler = new Scheduler({ store: storeOf(options), logger: quiet });
  let left = warmUpCount + count;
  const all = new Promise((resolve) => {
    scheduler.on("job:finished", () => void (--left === 0 && resolve()));
  });
  await scheduler.start([...warmUp, ...timed]);
  await sleep(dueAt.getTime() - Date.now() - 50);
  if (left !== count) {
    await scheduler.stop();
    return { tooSlow: true };
  }
  stopwatch.start(dueAt.getTime());
  await all;
  const figures = stopwatch.stop(count);
  await scheduler.stop();
  return { ...figures, missing: await missingRecords(options, [...warmUp, ...timed], started) };
}

async function planAll(options, agents, dueAt) {
  const store = storeOf(options);
  await store.open();
  const keys = agents.flatMap(({ name, schedules }) =>
    Object.keys(schedules).map((schedule) => ({ agent: name, schedule })),
  );
  await store.define({
    agents: agents.map(({ name, instances }) => ({ agent: name, maxConcurrent: instances.max_concurrent })),
    schedules: keys,
  });
  await store.updateAll(keys, () => ({
    last_completed_at: new Date(dueAt.getTime() - DAY_MS).toISOString(),
    next_run_at: dueAt.toISOString(),
    next_run_source: "baseline-interval",
  }));
  await store.close();
}

async function vacuum({ url }) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("vacuum analyze");
  await client.end();
}

/** Job records and states that should be there and are not. */
async function missingRecords(options, agents, started) {
  const store = storeOf(options);
  const records = await store.jobs.list({ status: "completed", limit: Infinity });
  let missing = started - records.length;
  for (const { name, schedules } of agents) {
    const states = await store.list(name);
    for (const schedule of Object.keys(schedules)) {
      const { status, last_completed_at: endedAt, next_run_at: nextAt } = states.get(schedule) ?? {};
      if (status !== "idle" || Date.parse(nextAt) - Date.parse(endedAt) !== DAY_MS) missing++;
    }
  }
  await store.close();
  return missing;
}

export async function cron({ count, ...options }, started) {
  const scheduler = new Scheduler({ store: storeOf(options), logger: quiet });
  await scheduler.start(agentsOf("agent", count, { type: "cron", expression: "* * * * *" }, started));
  return () => scheduler.stop();
}

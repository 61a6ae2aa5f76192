// A Scheduler on a PostgresStore, of agents that are given as JSON. Its jobs write what they do into a table of their own,
// by the database's clock, and so does the process itself while it lives. It may stop or kill itself at an exact step.
// Prints "ready", "stops", "told <job>" and "ended". Hears "finish": long jobs end; "leave": it stops and exits.
import { writeSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { Pool } from "pg";
import { Scheduler } from "../../../../dist/index.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";
import { atStep, watchedPool, watchedStore } from "./watched-steps.js";

const { node, storeUrl, witnessUrl, schema, leaseMs, checkInterval, agents, jobMs, stopAt } = JSON.parse(
  process.argv[2],
);
const BEAT_MS = 50;
const say = (line) => writeSync(1, `${line}\n`);
const witness = new Pool({ connectionString: witnessUrl, max: 3, application_name: `${schema} witness` });
witness.on("error", () => {});
const long = Promise.withResolvers?.() ?? deferred();
const life = new AbortController();

function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Again and again while the database is away. */
async function note(text, values) {
  for (;;) {
    try {
      return (await witness.query(text, values)).rows[0];
    } catch {
      await setTimeout(20);
    }
  }
}

async function beat() {
  while (!life.signal.aborted) {
    await note(`insert into "${schema}".beats (node) values ($1)`, [node]);
    await setTimeout(BEAT_MS);
  }
}

/** Until the job has lasted as long as its agent says, or was told to end. */
async function work(signal, lastingMs) {
  const told = new AbortController();
  const over = AbortSignal.any([signal, told.signal]);
  const waits = [setTimeout(lastingMs === "long" ? 2 ** 31 - 1 : lastingMs, undefined, { signal: over })];
  if (lastingMs === "long") waits.push(long.promise);
  try {
    await Promise.race(waits);
  } finally {
    told.abort();
    for (const wait of waits) wait.catch(() => {});
  }
}

async function run({ agent, schedule, record, signal }) {
  signal.addEventListener("abort", () => say(`told ${record.id}: ${signal.reason.message}`));
  const key = `${node} ${record.id} ${performance.now()}`;
  // What is noted later than it happened makes an interval shorter, and none is found that was not there.
  await note(
    `insert into "${schema}".runs (key, node, agent, schedule, slot, attempt, source, job_id, claimed_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (key) do nothing`,
    [
      key,
      node,
      agent.name,
      schedule,
      record.slot,
      record.attempt,
      record.source,
      record.id,
      record.started_at,
    ],
  );
  const startedMs = performance.now();
  const [shortest, longest] = jobMs === "long" ? [0, 0] : jobMs;
  try {
    atStep("job", "before");
    await work(signal, jobMs === "long" ? "long" : shortest + Math.random() * (longest - shortest));
  } finally {
    const lastedMs = performance.now() - startedMs;
    await note(
      `update "${schema}".runs set ended_at = started_at + $2 * interval '1 millisecond', was_told = $3 where key = $1`,
      [key, lastedMs, signal.aborted],
    );
  }
}

const pool = watchedPool(
  new Pool({ connectionString: storeUrl, max: 6, application_name: `${schema} ${node}` }),
  stopAt,
  say,
);
const logger = { info() {}, warn() {}, error() {}, debug() {} };
const store = watchedStore(new PostgresStore({ pool, schema, nodeName: node, leaseMs, logger }));
const scheduler = new Scheduler({ store, checkInterval, logger });

void beat();
await scheduler.start(agents.map((agent) => Object.assign(agent, { run })));
say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "finish") long.resolve();
  if (line === "leave") break;
}
await scheduler.stop({ timeout: 20_000 }).catch((error) => say(`could not stop: ${error.message}`));
life.abort();
say("ended");
await pool.end();
await witness.end();
process.stdin.destroy();

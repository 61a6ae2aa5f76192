/**
 * What keeping state costs, against the plain way: the whole file through `yaml` and `write-file-atomic`.
 * Exits with 1 when a ratio is not reached. `--large` adds one round with 100,000 schedules.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStore } from "rota";
import writeFileAtomic from "write-file-atomic";
import { parse, stringify } from "yaml";
import { emptyDocument } from "../dist/state/file/yaml/state-document.js";
import { readDocument } from "../dist/state/file/yaml/read-document.js";
import { cpuOf, median, printEnvironment } from "./measure.js";

const SCHEDULES_PER_AGENT = 10;
const failures = [];

const ROUNDS = 5;
printEnvironment("State", ["yaml", "write-file-atomic"], ROUNDS);
const small = await compare(10_000, { rounds: ROUNDS, commitRatio: 40 });
if (process.argv.includes("--large")) {
  const large = await compare(100_000, { rounds: 1, commitRatio: 60 });
  const growth = large.readPerSchedule / small.readPerSchedule;
  report("reading, cost of a schedule among 100,000 against one of 10,000", growth, growth <= 2, "at most 2");
}
if (failures.length > 0) process.exitCode = 1;

async function compare(schedules, { rounds, commitRatio }) {
  const directory = await mkdtemp(join(tmpdir(), "rota-bench-"));
  const path = join(directory, "state.yaml");
  const plainPath = join(directory, "plain.yaml");
  const store = new FileStore({ stateDir: directory });
  try {
    await fill(store, schedules);
    const fleet = await store.readFleet();
    const costs = { commit: [], plainCommit: [], burst: [], read: [], plainRead: [], open: [], pass: [] };
    let count = 0;
    const change = () => store.update(key(count++ % schedules), { failure_count: count });
    for (let round = 0; round < rounds; round++) {
      costs.plainCommit.push(
        await cpuOf(() => writeFileAtomic(plainPath, stringify(fleet), { mode: 0o600 })),
      );
      costs.commit.push(await cpuOf(change, 20));
      costs.burst.push(await cpuOf(() => Promise.all(Array.from({ length: 1000 }, change)), 5));
      const bytes = await readFile(path);
      const text = bytes.toString("utf8");
      costs.plainRead.push(await cpuOf(() => parse(text)));
      costs.read.push(await cpuOf(() => readDocument(bytes, emptyDocument()), 20));
      costs.open.push(await cpuOf(() => load(directory), 10));
      costs.pass.push(await cpuOf(() => store.read(key(0)), 1000));
    }
    const of = Object.fromEntries(Object.entries(costs).map(([name, all]) => [name, median(all)]));
    console.log(`\n${schedules.toLocaleString("en")} schedules, ${SCHEDULES_PER_AGENT} to an agent`);
    for (const [name, micros] of Object.entries(of))
      console.log(`  ${name.padEnd(12)} ${(micros / 1000).toFixed(3)} ms`);
    const commit = of.plainCommit / of.commit;
    report("committing one change, times cheaper", commit, commit >= commitRatio, `at least ${commitRatio}`);
    const reading = of.plainRead / of.read;
    report("reading the file's text, times cheaper", reading, reading >= 40, "at least 40");
    const burst = of.burst / of.commit;
    report("1,000 updates at once, in single ones", burst, burst <= 5, "at most 5");
    return { readPerSchedule: of.read / schedules };
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
}

/** Through one text, which is faster than an update for each. */
async function fill(store, schedules) {
  const agents = {};
  for (let i = 0; i < schedules; i++) {
    const { agent, schedule } = key(i);
    agents[agent] ??= { status: "idle", schedules: {} };
    const at = new Date(Date.UTC(2026, 0, 1) + i * 7777).toISOString();
    agents[agent].schedules[schedule] = {
      status: "idle",
      last_run_at: at,
      last_started_at: at,
      last_completed_at: at,
      next_run_at: new Date(Date.parse(at) + 300_000).toISOString(),
      next_run_source: "baseline-interval",
      failure_count: 0,
    };
  }
  await store.writeFleet({ fleet: {}, agents });
}

function key(i) {
  return {
    agent: `agent-${Math.floor(i / SCHEDULES_PER_AGENT)}`,
    schedule: `schedule-${i % SCHEDULES_PER_AGENT}`,
  };
}

async function load(stateDir) {
  const store = new FileStore({ stateDir });
  await store.read(key(0));
  await store.close();
}

function report(what, value, isReached, target) {
  console.log(`  ${isReached ? "ok  " : "MISS"} ${what}: ${value.toFixed(1)} (${target})`);
  if (!isReached) failures.push(what);
}

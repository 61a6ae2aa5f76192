/**
 * What PostgreSQL makes of Rota beside graphile-worker, pg-boss and bullmq: durable jobs a second, claims a second, how
 * late cron schedules start. Every measurement runs in a process and on a database of its own, contenders in turn. Exits
 * with 1 when a target is missed or could not be measured; `--quick` tries everything on a small scale, without targets;
 * the names of parts (`jobs claims cron`) and of contenders run these only.
 */
import { execFileSync } from "node:child_process";
import { cpus, loadavg, platform, release } from "node:os";
import { median } from "./measure.js";
import { CLAIMS, CRON, JOBS } from "./postgres/contenders.js";
import { installPeers, peersNode, versionOf } from "./postgres/peers.js";
import { Stage } from "./postgres/stage.js";

const PEERS = ["graphile-worker", "pg-boss", "bullmq", "ioredis", "pg"];
const SETTINGS = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "shared_buffers",
  "max_wal_size",
  "autovacuum",
];
const isQuick = process.argv.includes("--quick");
const SCALE = isQuick
  ? { jobs: 2_000, warmUp: 200, rounds: 1, claims: 2_000, batch: 1_000, cron: 100, minutes: 1, cronRounds: 1 }
  : {
      // Some seconds of work, after enough of it for everybody's code to be compiled: what goes on and on is compared.
      jobs: 60_000,
      warmUp: 15_000,
      rounds: 5,
      claims: 50_000,
      batch: 1_000,
      cron: 1_000,
      minutes: 2,
      cronRounds: 3,
    };
/** Whose lateness has a target: they are measured as often as there are rounds, the others once. */
const COMPARED = new Set(["rota", "bullmq, everysec"]);
const failures = [];

installPeers();
const stage = new Stage();
await stage.open();
try {
  await printEnvironment();
  const parts = { jobs: compareJobs, claims: compareClaims, cron: compareCron };
  for (const run of Object.values(asked(parts))) await run();
} finally {
  await stage.close();
}
if (failures.length > 0) {
  console.log(`\nmissed: ${failures.join("; ")}`);
  if (!isQuick) process.exitCode = 1;
}

async function compareJobs() {
  const { jobs, warmUp, rounds } = SCALE;
  console.log(`\njobs: ${number(jobs)} no-op jobs that are due, in one process`);
  const options = { count: jobs, warmUpCount: warmUp };
  const best = await inTurns("jobs", JOBS, rounds, options);
  atLeast("jobs a second, against graphile-worker", best.rota, best["graphile-worker"], 1);
}

async function compareClaims() {
  const { claims, rounds, batch } = SCALE;
  console.log(`\nclaims: ${number(claims)} due slots, ${number(batch)} at a time, on one connection`);
  // Many more to warm up with than for jobs: what is compared is the claim, not how soon its code is compiled.
  const options = { count: claims, warmUpCount: claims / 5, batch };
  const best = await inTurns("claims", CLAIMS, rounds, options);
  const { "bare loop": bare, ...stores } = best;
  for (const [name, store] of Object.entries(stores))
    atLeast(`claims a second, ${name}, against the bare loop`, store, bare, 0.7);
}

/** The figures of each contender with the best of its settings, by its median. */
async function inTurns(part, contenders, rounds, options) {
  const all = Object.entries(asked(contenders))
    .filter(([name, contender]) => isMeasurable(name, contender))
    .flatMap(([name, contender]) =>
      contender.settings.map((settings) => ({ name, contender, settings, results: [] })),
    );
  for (let round = 0; round < rounds; round++) {
    const turn = round % all.length;
    for (const entry of [...all.slice(turn), ...all.slice(0, turn)])
      entry.results.push(await stage.measure(part, entry, options));
    console.error(`  round ${round + 1} of ${rounds}`);
  }
  const best = {};
  for (const entry of all) {
    entry.perSecond = median(entry.results.map(({ perSecond }) => perSecond));
    if (!(best[entry.name]?.perSecond >= entry.perSecond)) best[entry.name] = entry;
  }
  console.log(
    `  ${"".padEnd(22)} a second (each round)${" ".repeat(Math.max(1, rounds * 7 - 10))}µs of CPU a job: node, server`,
  );
  for (const entry of all) {
    const { name, contender, settings, results, perSecond } = entry;
    const each = results.map((result) => number(result.perSecond)).join(" ");
    const marks = `${entry === best[name] ? "*" : " "} ${name.padEnd(22)}`;
    console.log(
      `${marks} ${number(perSecond).padStart(7)} (${each})  ${micros(results)}  ${textOf(settings)}`,
    );
    const missing = Math.max(...results.map((result) => result.missing));
    if (missing !== 0) report(`${name}: missing`, missing, false, "0");
    if (entry === best[name] && contender.why !== undefined)
      console.log(`    ${contender.why}${fewer(contender)}\n    keeps ${contender.keeps}`);
  }
  return best;
}

async function compareCron() {
  const { cron, minutes, cronRounds } = SCALE;
  console.log(`\ncron: ${number(cron)} schedules, each minute: how late their jobs start, in ms`);
  const all = Object.entries(asked(CRON))
    .filter(([name, contender]) => isMeasurable(name, contender))
    .map(([name, contender]) => ({ name, contender, settings: contender.settings[0], results: [] }));
  for (let round = 0; round < cronRounds; round++)
    for (const entry of all)
      if (round === 0 || COMPARED.has(entry.name))
        entry.results.push(await stage.measure("cron", entry, { count: cron, minutes }));
  const p99 = {};
  for (const { name, contender, results, settings } of all) {
    const rounds = results.map(({ lateness }) => percentiles(lateness));
    p99[name] = median(rounds.map((each) => each.p99));
    const each = rounds.map(({ p50, p99: most, max }) => `p50 ${p50} p99 ${most} max ${max}`).join(" | ");
    const missing = results.reduce((sum, result) => sum + result.missing, 0);
    console.log(
      `  ${name.padEnd(22)} ${each}; ${missing} missing; ${micros(results)} µs  ${textOf(settings)}`,
    );
    console.log(`    ${contender.why}`);
    if (name === "rota") report("starts missing", missing, missing === 0, "0");
  }
  const theirs = Math.min(p99["bullmq, everysec"] ?? Infinity, p99["bullmq on PostgreSQL"] ?? Infinity);
  const ratio = p99.rota / theirs;
  if (p99.rota !== undefined && theirs < Infinity)
    report("p99, against bullmq's better", `1/${(1 / ratio).toFixed(1)}`, ratio <= 1 / 8, "at most 1/8");
}

/** Where it was not as many as the others had. */
function fewer({ most = Infinity }) {
  return most < SCALE.jobs ? `; ${number(most)} jobs only` : "";
}

function percentiles(lateness) {
  const sorted = lateness.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1];
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Those that are named in the arguments; all, when none is. */
function asked(named) {
  const entries = Object.entries(named);
  const chosen = entries.filter(([name]) => process.argv.includes(name));
  return Object.fromEntries(chosen.length === 0 ? entries : chosen);
}

/** Says so, once a part, when it is not. */
function isMeasurable(name, { needs }) {
  if (needs !== "redis" || stage.redis.url !== undefined) return true;
  report(name, "not measured", false, `a Redis: ${stage.redis.reason}`);
  return false;
}

async function printEnvironment() {
  const version = execFileSync(peersNode(), ["--version"], { encoding: "utf8" }).trim();
  const processors = cpus();
  console.log(`PostgreSQL store: medians of ${SCALE.rounds} interleaved rounds; * the best of its settings`);
  console.log(`node ${version} for all contenders, ${platform()} ${release()}`);
  console.log(
    `${processors.length} × ${processors[0]?.model ?? "unknown processor"}, load ${loadavg()[0].toFixed(1)}`,
  );
  console.log(PEERS.map((peer) => `${peer} ${versionOf(peer)}`).join(", "));
  const rows = await stage.ask("select name, current_setting(name) as setting from pg_settings");
  const shown = SETTINGS.map((name) => `${name} ${rows.find((row) => row.name === name).setting}`);
  console.log(`PostgreSQL: ${shown.join(", ")}`);
  const { url, version: redis, reason } = stage.redis;
  console.log(url === undefined ? `no Redis: ${reason}` : `Redis ${redis}, append-only file`);
}

function micros(results) {
  const cost = (key) => {
    const known = results.map((result) => result[key]).filter((value) => value !== undefined);
    return known.length === 0 ? "?" : median(known).toFixed(1);
  };
  return `${cost("nodeMicros")}, ${cost("serverMicros")}`;
}

function textOf(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function atLeast(what, mine, theirs, share) {
  if (mine === undefined || theirs === undefined) return;
  // Round by round: the speed of a machine may change by half between two rounds, and less within one.
  const ratio = median(
    mine.results.map(({ perSecond }, round) => perSecond / theirs.results[round].perSecond),
  );
  report(what, ratio.toFixed(2), ratio >= share, `at least ${share}`);
}

function report(what, shown, isReached, target) {
  console.log(`  ${isReached ? "ok  " : "MISS"} ${what}: ${shown} (${target})`);
  if (!isReached) failures.push(what);
}

function number(value) {
  return Math.round(value).toLocaleString("en");
}

/**
 * What a scheduler costs beside others: registering, idling, bursts, throughput. Every measurement runs in a process of
 * its own, alone. Exits with 1 when a target is missed; `--quick` tries everything on a small scale, without targets;
 * the names of parts (`idling registering bursts throughput pass`) run these only.
 */
import { fork } from "node:child_process";
import { median, printEnvironment } from "./measure.js";
import { CONTENDERS } from "./scheduler/contenders.js";

const PEERS = ["croner", "node-cron", "toad-scheduler", "node-schedule"];
const isQuick = process.argv.includes("--quick");
const SCALE = isQuick
  ? { idle: 5_000, settleMs: 0, windowMs: 5_000, peerWindowMs: 2_000, burst: 1_000, rounds: 1, jobRounds: 2 }
  : {
      idle: 100_000,
      settleMs: 60_000,
      windowMs: 65_000,
      peerWindowMs: 32_000,
      burst: 10_000,
      rounds: 3,
      jobRounds: 6,
    };
/** Whose registering takes longer the more there are already. */
const MOST_SCHEDULES = { "node-schedule": 10_000 };
/** A burst for which registering took too long is tried again with more time before it. */
const MOST_TRIES = 4;
const CHILD = new URL("./scheduler/child.js", import.meta.url);
const failures = [];

printEnvironment("Scheduler", [...PEERS, "yaml"], SCALE.rounds);
const table = Object.fromEntries(["rota", ...PEERS].map((name) => [name, { keeps: CONTENDERS[name].keeps }]));
const parts = {
  idling: compareIdling,
  registering: compareRegistering,
  bursts: compareBursts,
  throughput: measureThroughput,
  pass: comparePass,
};
const asked = process.argv.slice(2).filter((argument) => Object.hasOwn(parts, argument));
for (const [name, run] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await run();
if (asked.length === 0) printTable();
if (failures.length > 0 && !isQuick) process.exitCode = 1;

async function compareIdling() {
  const [seconds, peerSeconds] = [SCALE.windowMs / 1000, SCALE.peerWindowMs / 1000];
  console.log(`\n${number(SCALE.idle)} schedules, due hours later`);
  console.log(
    `  watched for ${seconds} s: rota, several times, and croner; for ${peerSeconds} s: the others`,
  );
  const idling = [];
  for (const name of ["rota", "croner", "rota", ...PEERS.slice(1), "rota"]) {
    const count = Math.min(SCALE.idle, MOST_SCHEDULES[name] ?? Infinity);
    // Those with a target are watched for as long as it takes to see timers that are set anew every 30 s, and after V8
    // has given back, half a minute after registering and once, the memory that took: that is no idling.
    const isCompared = name === "rota" || name === "croner";
    const windowMs = isCompared ? SCALE.windowMs : SCALE.peerWindowMs;
    const settleMs = isCompared ? SCALE.settleMs : 0;
    const control = name === "rota" ? measure("bareTimers", name, { settleMs, windowMs }) : undefined;
    const figures = await measure("idle", name, { count, settleMs, windowMs, windows: 1 });
    Object.assign(table[name], { count }, figures, { leastIdle: figures.idleMsPerSecond[0] });
    printIdling(name, table[name]);
    if (control === undefined) continue;
    idling.push(figures.idleMsPerSecond[0]);
    printBareTimers(await control);
  }
  // What others do to the machine only adds to what an idle process costs: of several times the least says most.
  table.rota.leastIdle = Math.min(...idling);
  printIdling(
    "rota, 1 an agent",
    await measure("idle", "rota, 1 an agent", { count: SCALE.idle, settleMs: 0, windowMs: 0, windows: 0 }),
  );
  const { rota, croner, "node-cron": nodeCron } = table;
  atMost("idling, ms of CPU a second", rota.leastIdle, 1);
  atMost("idling at worst, against croner", Math.max(...idling) / croner.leastIdle, 1 / 50);
  atMost("registering, against node-cron: bytes", rota.bytes / nodeCron.bytes, 1 / 4);
}

/** In turns: a machine that is slow for minutes is slow for one contender only, when they come one after the other. */
async function compareRegistering() {
  const micros = { rota: [], "node-cron": [] };
  const options = { count: SCALE.idle, settleMs: 0, windowMs: 0, windows: 0 };
  for (let round = 0; round < SCALE.rounds; round++)
    for (const [name, all] of Object.entries(micros))
      all.push((await measure("idle", name, options)).registerMicros);
  console.log(`\nregistering ${number(SCALE.idle)} schedules, µs of CPU each`);
  for (const [name, all] of Object.entries(micros))
    console.log(`  ${name.padEnd(16)} ${all.map((cost) => cost.toFixed(1)).join(" ")}`);
  atMost("CPU time, against node-cron", median(micros.rota) / median(micros["node-cron"]), 1 / 10);
}

/** How much of that is the machine's own price for waking up once a second, at that same time. */
function printBareTimers({ idleMsPerSecond }) {
  const cost = idleMsPerSecond[0].toFixed(3);
  console.log(
    `  ${"bare timers".padEnd(16)} that look at a file and touch one as often: ${cost} ms a second`,
  );
}

function printIdling(name, { registerMicros, registerMs, bytes, idleMsPerSecond }) {
  const costs = idleMsPerSecond.map((cost) => cost.toFixed(3)).join(", ");
  const idling = costs === "" ? "" : `, idle ${costs} ms a second`;
  console.log(
    `  ${name.padEnd(16)} registering ${registerMicros.toFixed(1)} µs and ${bytes.toFixed(0)} bytes each, ` +
      `${(registerMs / 1000).toFixed(1)} s in all${idling}`,
  );
}

async function compareBursts() {
  for (const { seconds, target } of [
    { seconds: 1, target: 1 / 3 },
    { seconds: 10, target: 1 / 4 },
  ]) {
    console.log(`\n${number(SCALE.burst)} schedules due within ${seconds} s: how late their jobs start`);
    const results = { rota: [], croner: [] };
    for (let round = 0; round < SCALE.rounds; round++)
      for (const [name, all] of Object.entries(results)) all.push(await measureBurst(name, seconds));
    if (seconds === 1) {
      for (const name of PEERS.filter((peer) => peer !== "croner"))
        results[name] = [await measureBurst(name, seconds)];
    }
    const p99 = {};
    for (const [name, all] of Object.entries(results)) {
      p99[name] = median(all.map((result) => result.p99));
      const each = all.map((result) => `${result.p99} (${result.median}, ${result.last})`).join(" ");
      const dropped = all.reduce((sum, { started }) => sum + SCALE.burst - started, 0);
      if (seconds === 1) Object.assign(table[name], { p99: p99[name], dropped });
      console.log(`  ${name.padEnd(16)} p99 (median, last) of each round: ${each} ms; dropped ${dropped}`);
      if (name === "rota") atMost("dropped", dropped, 0);
    }
    atMost("p99, against croner", p99.rota / p99.croner, target);
  }
}

async function measureBurst(name, seconds) {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const leadMs = CONTENDERS[name].leadMs * tries;
    const result = await measure("burst", name, { count: SCALE.burst, seconds, leadMs });
    if (result.tooSlow !== true) return result;
  }
  throw new Error(`${name} cannot register ${SCALE.burst} schedules in time.`);
}

async function measureThroughput() {
  console.log(`\nno-op jobs of ${number(SCALE.burst)} schedules, all recorded in the state and the job log`);
  const results = [];
  for (let round = 0; round < SCALE.rounds; round++)
    results.push(await measure("throughput", "rota", { count: SCALE.burst, rounds: SCALE.jobRounds }));
  for (const { jobs, perSecond, micros, missing } of results)
    console.log(
      `  ${number(jobs)} jobs: ${number(perSecond)} a second, ${micros.toFixed(1)} µs of CPU each, ${missing} records missing`,
    );
  const perSecond = median(results.map((result) => result.perSecond));
  report("jobs a second", number(perSecond), perSecond >= 15_000, "at least 15,000");
  const missing = Math.max(...results.map((result) => result.missing));
  atMost("records missing", missing, 0);
}

async function comparePass() {
  const { passMicros, plainMicros } = await measure("readingEachTime", "rota", { count: 1_000 });
  const ratio = plainMicros / passMicros;
  console.log("\na pass over 1,000 idle schedules, against the state file read and parsed once for each");
  console.log(`  ${passMicros.toFixed(1)} µs against ${(plainMicros / 1e6).toFixed(1)} s`);
  report("times cheaper", number(ratio), ratio >= 10_000, "at least 10,000");
}

function printTable() {
  console.log("\ncontender       schedules  register   bytes   idle CPU/s   burst p99   keeps");
  for (const [name, figures] of Object.entries(table)) {
    const { count, registerMicros, bytes, leastIdle, p99, dropped, keeps } = figures;
    const lost =
      dropped > 0 ? `; ${number(dropped)} of the burst not started within 10 s, left out of p99` : "";
    const cells = [
      number(count).padStart(9),
      `${registerMicros.toFixed(1)} µs`.padStart(10),
      bytes.toFixed(0).padStart(8),
      `${leastIdle.toFixed(3)} ms`.padStart(13),
      `${p99} ms`.padStart(12),
    ];
    console.log(`${name.padEnd(16)}${cells.join("")}   ${keeps}${lost}`);
  }
}

/** What a child process of this benchmark sends back. */
function measure(measurement, name, options) {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [measurement, name, JSON.stringify(options)], {
      // 100,000 jobs of croner's take more than 8 GB. Cron expressions are meant in UTC.
      execArgv: ["--expose-gc", "--max-old-space-size=12288"],
      env: { ...process.env, TZ: "UTC" },
    });
    let result;
    child.on("message", (message) => {
      result = message;
    });
    child.on("exit", (code) => {
      if (result === undefined)
        reject(new Error(`${name} ended with ${code} while measuring ${measurement}.`));
      else resolve(result);
    });
  });
}

function atMost(what, value, limit) {
  const shown = limit > 0 && limit < 1 ? `1/${(1 / value).toFixed(1)}` : String(Number(value.toFixed(3)));
  const target = limit > 0 && limit < 1 ? `1/${1 / limit}` : String(limit);
  report(what, shown, value <= limit, `at most ${target}`);
}

function report(what, shown, isReached, target) {
  console.log(`  ${isReached ? "ok  " : "MISS"} ${what}: ${shown} (${target})`);
  if (!isReached) failures.push(what);
}

function number(value) {
  return Math.round(value).toLocaleString("en");
}

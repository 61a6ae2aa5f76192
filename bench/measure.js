/** What the benchmarks share: CPU time per call, contenders taking turns, and the environment it was measured in. */
import { readFileSync } from "node:fs";
import { cpus, platform, release } from "node:os";

const ROUNDS = 15;
/** Long enough for a tick-based CPU clock, short enough for turns to be close together. */
const TURN_MICROSECONDS = 60_000;
const WARM_UP_MICROSECONDS = 500_000;

/** CPU microseconds per call of each contender, one figure a round. */
export function takeTurns(contenders) {
  const entries = Object.entries(contenders);
  const calls = new Map(entries.map(([name, run]) => [name, callsPerTurn(run)]));
  const costs = Object.fromEntries(entries.map(([name]) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    const turn = round % entries.length;
    for (const [name, run] of [...entries.slice(turn), ...entries.slice(0, turn)]) {
      costs[name].push(cpuPerCall(run, calls.get(name)));
    }
  }
  return costs;
}

/** Doubles the number of calls until they fill a turn, after as much work as the compiler needs to settle. */
function callsPerTurn(run) {
  for (let spent = 0, calls = 64; spent < WARM_UP_MICROSECONDS; calls *= 2)
    spent += cpuPerCall(run, calls) * calls;
  for (let calls = 64; ; calls *= 2)
    if (cpuPerCall(run, calls) * calls >= TURN_MICROSECONDS / 2) return calls * 2;
}

function cpuPerCall(run, calls) {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) run(i);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

export function printEnvironment(title, peers, rounds = ROUNDS) {
  console.log(`${title}: CPU time, median of ${rounds} interleaved rounds`);
  printMachine(peers);
}

/** The versions of Node and of these packages, the system and its processors. */
export function printMachine(packages) {
  const { versions } = process;
  const processors = cpus();
  console.log(`node ${versions.node}, ICU ${versions.icu}, tz ${versions.tz}, ${platform()} ${release()}`);
  console.log(`${processors.length} × ${processors[0]?.model ?? "unknown processor"}`);
  if (packages.length > 0)
    console.log(packages.map((name) => `${name} ${installedVersion(name)}`).join(", "));
}

function installedVersion(name) {
  return JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8"))
    .version;
}

/** CPU microseconds per call, with what a call makes other threads do, and without the rubbish that others left behind. */
export async function cpuOf(run, calls = 1) {
  globalThis.gc();
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

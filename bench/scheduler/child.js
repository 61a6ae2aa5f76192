/** One measurement of one contender in a process of its own: `child.js <measurement> <contender> <options as JSON>`. */
import { lstatSync } from "node:fs";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CONTENDERS } from "./contenders.js";
import { readingEachTime } from "./reading-each-time.js";
import { throughput } from "./throughput.js";

const [measurement, name, options] = process.argv.slice(2);
const measurements = { idle, bareTimers, burst, throughput, readingEachTime };
process.send(await measurements[measurement](CONTENDERS[name], JSON.parse(options)), () => process.exit());

/** Registers `count` schedules that are due hours later, then watches them do nothing. */
async function idle({ prepare }, { count, settleMs, windowMs, windows }) {
  const schedules = Array.from({ length: count }, (_, i) => laterSchedule(i));
  const { register, stop } = await prepare(schedules, () => {});
  const bytesBefore = bytesUsed();
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  await register();
  const registerMicros = microsSince(cpu) / count;
  const registerMs = performance.now() - from;
  // What is still on its way when registering has been answered does not stay.
  await sleep(500);
  const bytes = (bytesUsed() - bytesBefore) / count;
  const idleMsPerSecond = await watch({ settleMs, windowMs, windows });
  await stop();
  return { registerMicros, registerMs, bytes, idleMsPerSecond };
}

/** What a process costs that does on timers what an idle scheduler asks of the disk, and nothing else. */
async function bareTimers(_, { settleMs, windowMs }) {
  const directory = await mkdtemp(join(tmpdir(), "rota-bench-"));
  const path = join(directory, "touched");
  await writeFile(path, "");
  let looks = 0;
  const timer = setInterval(() => {
    lstatSync(path, { bigint: true });
    if (++looks % 2 === 0) void utimes(path, new Date(), new Date());
  }, 1_000);
  const costs = await watch({ settleMs, windowMs, windows: 1 });
  clearInterval(timer);
  await rm(directory, { recursive: true });
  return { idleMsPerSecond: costs };
}

/** Milliseconds of CPU per second in each of the windows. */
async function watch({ settleMs, windowMs, windows }) {
  if (windows === 0) return [];
  // What registering left to be done is no idling, nor is what collecting its rubbish leaves to other threads.
  await sleep(3_000);
  globalThis.gc();
  await sleep(3_000 + settleMs);
  const costs = [];
  while (costs.length < windows) {
    const [from, cpu] = [performance.now(), process.cpuUsage()];
    await sleep(windowMs);
    costs.push(microsSince(cpu) / (performance.now() - from));
  }
  return costs;
}

/** Times of day at least six hours away, as many different ones as twelve hours have minutes. */
function laterSchedule(i) {
  const slot = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + (6 * 60 + (i % 720)) * 60_000);
  return { expression: `${slot.getUTCMinutes()} ${slot.getUTCHours()} * * *`, slotMs: slot.getTime() };
}

/** How late `count` schedules start that are due in the same second, or in `seconds` of them, in milliseconds. */
async function burst({ prepare }, { count, seconds, leadMs }) {
  const firstMs = Math.ceil((Date.now() + leadMs) / 1000) * 1000;
  const lateness = [];
  const schedules = Array.from({ length: count }, (_, i) =>
    secondSchedule(firstMs + (Math.floor(i / 10) % seconds) * 1000),
  );
  const { register, stop } = await prepare(schedules, (slotMs) => {
    lateness.push(Date.now() - slotMs);
  });
  await register();
  const spareMs = firstMs - Date.now();
  if (spareMs < 500) return { tooSlow: true };
  await sleep(spareMs + (seconds - 1) * 1000 + 100);
  for (let waited = 0; waited < 20 && lateness.length < count; waited++) await sleep(500);
  await stop();
  const sorted = lateness.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1];
  return { started: lateness.length, first: sorted[0], median: at(0.5), p99: at(0.99), last: at(1) };
}

function secondSchedule(slotMs) {
  const slot = new Date(slotMs);
  const fields = [slot.getUTCSeconds(), slot.getUTCMinutes(), slot.getUTCHours(), "* * *"];
  return { expression: fields.join(" "), slotMs };
}

function microsSince(before) {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function bytesUsed() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * How many files and functions of Rota one job passes through, on the file store and on PostgreSQL: what V8 sees called from
 * the first `job:finished` of a schedule to the second. Exits with 1 when a target is missed. `--list` prints the functions;
 * `file` or `postgres` traces that store alone.
 */
import { Session } from "node:inspector/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStore, Scheduler } from "../dist/index.js";
import { PostgresStore } from "../dist/state/postgres/index.js";
import { printMachine } from "./measure.js";
import { startServer } from "./postgres/server.js";

const TARGETS = { file: { files: 45, functions: 220 }, postgres: { files: 48, functions: 220 } };
const STORES = { file: onFiles, postgres: onPostgres };
/** Shorter than the time between two heartbeats of a store, so that the window holds none. */
const INTERVAL = "1s";
const DIST = new URL("../dist/", import.meta.url).href;
const logger = { info() {}, warn: console.warn, error: console.error };
const isListed = process.argv.includes("--list");
const asked = process.argv.slice(2).filter((argument) => Object.hasOwn(STORES, argument));

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

console.log("Trace: files and functions that one job passes through");
printMachine(["pg"]);
for (const [name, withStore] of Object.entries(STORES))
  if (asked.length === 0 || asked.includes(name)) print(name, await withStore(trace));

async function onFiles(use) {
  const stateDir = await mkdtemp(join(tmpdir(), "rota-trace-"));
  try {
    return await use(new FileStore({ stateDir, logger }));
  } finally {
    await rm(stateDir, { recursive: true });
  }
}

async function onPostgres(use) {
  const server = await startServer();
  try {
    return await use(new PostgresStore({ connectionString: server.url, logger }));
  } finally {
    await server.stop();
  }
}

/**
 * The names of the functions that the second job called, by file; "" for each unnamed function. The scheduler emits
 * `job:finished` after it has written the job's record and the end of its claim. So the window holds one complete cycle: the
 * pass after the first job, the wait, then claim, run and writes of the second job.
 */
async function trace(store) {
  const scheduler = new Scheduler({ store, logger });
  const coverage = new Promise((resolve, reject) => {
    let jobs = 0;
    scheduler.on("job:finished", ({ job }) => {
      if (job.status !== "completed") reject(new Error(`The traced job ended as ${job.status}.`));
      // V8 sets its counts to zero each time that they are taken.
      const counts = ++jobs <= 2 ? session.post("Profiler.takePreciseCoverage") : undefined;
      if (jobs === 2) resolve(counts);
    });
  });
  await scheduler.start([
    { name: "agent", schedules: { often: { type: "interval", interval: INTERVAL } }, run: async () => {} },
  ]);
  const { result } = await coverage;
  await scheduler.stop();
  return result
    .filter(({ url }) => url.startsWith(DIST))
    .map(({ url, functions }) => ({ file: url.slice(DIST.length), called: namesOfCalled(functions) }))
    .filter(({ called }) => called.length > 0)
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

function namesOfCalled(functions) {
  return functions
    .filter((called) => called.ranges[0].count > 0 && !isModuleBody(called))
    .map(({ functionName }) => functionName);
}

function isModuleBody({ functionName, ranges }) {
  return functionName === "" && ranges[0].startOffset === 0;
}

/**
 * A file counts when one of its functions was called. A function counts once, when V8 has a name for it: methods, accessors,
 * constructors, field initializers and named arrow functions. Unnamed callbacks are printed apart and have no target.
 */
function print(name, files) {
  const names = files.flatMap(({ called }) => called);
  const named = names.filter((each) => each !== "");
  console.log(
    `\n${name}: one job, and ${names.length - named.length} unnamed callbacks that are not counted below`,
  );
  atMost("files", files.length, TARGETS[name].files);
  atMost("functions", named.length, TARGETS[name].functions);
  if (!isListed) return;
  for (const { file, called } of files)
    console.log(`  ${file}: ${called.map((each) => each || "(unnamed)").join(", ")}`);
}

function atMost(what, value, limit) {
  // Zero means that nothing was measured.
  const isReached = value > 0 && value <= limit;
  console.log(`  ${isReached ? "ok  " : "MISS"} ${what}: ${value} (at most ${limit})`);
  if (!isReached) process.exitCode = 1;
}

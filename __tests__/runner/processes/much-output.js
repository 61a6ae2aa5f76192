// Runs a job of the named kind that writes so many megabytes, and prints how it ended and by how much memory grew.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { JobExecutor } from "../../../dist/runner/job-executor.js";
import { MemoryStore } from "../../../dist/state/memory/memory-store.js";

const [kind, size] = process.argv.slice(2);
const stateDir = mkdtempSync(join(tmpdir(), "rota-output-"));
process.on("exit", () => rmSync(stateDir, { recursive: true, force: true }));

const flood = `const chunk = Buffer.alloc(1_000_000, "x"); let left = Number(process.env.SIZE);
  const more = () => { while (left-- > 0) if (!process.stdout.write(chunk)) return process.stdout.once("drain", more);
    console.log("\\nall written") }; more()`;
const long = { type: "user", content: Buffer.alloc(1_000_000, "x").toString("latin1") };
async function* sdkQuery({ options: { SIZE, isLong } }) {
  // The same long one each time: by how much an SDK grows that makes them is not what is measured.
  if (isLong) for (let left = SIZE; left > 0; left--) yield long;
  else for (let left = SIZE * 100; left > 0; left--) yield { type: "user", content: "x".repeat(10_000) };
  yield { type: "assistant", content: "all written" };
}
async function writeAll({ prompt, write }) {
  const chunk = Buffer.alloc(100_000, "x");
  for (let left = prompt * 10; left > 0; left--) await write(chunk);
  return "all written";
}
function* megabytesOf(count) {
  const megabyte = Buffer.alloc(1_000_000, "x");
  for (let left = count; left > 0; left--) yield megabyte;
}
// A body that nobody reads is not sent any further.
const server = createServer(({ headers }, response) => {
  response.setHeader("content-type", "application/json");
  Readable.from(megabytesOf(Number(headers.megabytes))).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;
const command = [process.execPath, "-e", flood];
const agents = {
  command: (SIZE) => ({ runtime: { type: "command", command, env: { SIZE } } }),
  hidden: (SIZE) => ({ runtime: { type: "command", command, env: { SIZE, TOKEN: "xy".repeat(9) } } }),
  messages: (SIZE) => ({ runtime: { type: "messages", options: { SIZE } } }),
  "long-messages": (SIZE) => ({ runtime: { type: "messages", options: { SIZE, isLong: true } } }),
  http: (megabytes) => ({ runtime: { type: "http", url, headers: { megabytes } } }),
  function: () => ({ run: writeAll }),
  "function-away": () => ({ run: writeAll }),
  "command-away": (SIZE) => agents.command(SIZE),
};

/** A store that takes records, and no output. */
function awayStore() {
  const store = new MemoryStore();
  store.jobs.openOutput = () => Promise.reject(new Error("away"));
  return store;
}
const where = kind.endsWith("-away") ? { store: awayStore(), outputTimeoutMs: 500 } : { stateDir };
const executor = new JobExecutor({ ...where, sdkQuery });
const run = (megabytes) =>
  executor.execute({ agent: { name: "flood", ...agents[kind](megabytes) }, prompt: megabytes });
await run("2"); // what is loaded once is not counted
const before = process.memoryUsage.rss();
let most = before;
const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 10);
const { status, summary } = await run(size);
clearInterval(watch);
server.close();
server.closeAllConnections();
process.stdout.write(`${JSON.stringify({ status, summary, grownBy: most - before })}\n`);

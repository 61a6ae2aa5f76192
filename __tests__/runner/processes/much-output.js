// Runs a job of the named kind that writes so many megabytes, and prints how it ended and by how much memory grew.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JobExecutor } from "../../../dist/runner/job-executor.js";

const [kind, size] = process.argv.slice(2);
const stateDir = mkdtempSync(join(tmpdir(), "rota-output-"));
process.on("exit", () => rmSync(stateDir, { recursive: true, force: true }));

const flood = `const chunk = Buffer.alloc(1_000_000, "x"); let left = Number(process.env.SIZE);
  const more = () => { while (left-- > 0) if (!process.stdout.write(chunk)) return process.stdout.once("drain", more);
    console.log("\\nall written") }; more()`;
async function* sdkQuery({ options }) {
  for (let left = options.SIZE * 100; left > 0; left--) yield { type: "user", content: "x".repeat(10_000) };
  yield { type: "assistant", content: "all written" };
}
const command = [process.execPath, "-e", flood];
const runtimes = {
  command: (SIZE) => ({ type: "command", command, env: { SIZE } }),
  hidden: (SIZE) => ({ type: "command", command, env: { SIZE, TOKEN: "xy".repeat(9) } }),
  messages: (SIZE) => ({ type: "messages", options: { SIZE } }),
};

const executor = new JobExecutor({ stateDir, sdkQuery });
const run = (megabytes) =>
  executor.execute({ agent: { name: "flood", runtime: runtimes[kind](megabytes) }, prompt: "" });
await run("2"); // what is loaded once is not counted
const before = process.memoryUsage.rss();
let most = before;
const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 10);
const { status, summary } = await run(size);
clearInterval(watch);
process.stdout.write(`${JSON.stringify({ status, summary, grownBy: most - before })}\n`);

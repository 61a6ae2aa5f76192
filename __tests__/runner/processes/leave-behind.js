// Runs a command that leaves a process of its own session behind, which holds the pipes. Then it has nothing more to do.
import { JobExecutor } from "../../../dist/runner/job-executor.js";
import { MemoryStore } from "../../../dist/state/memory/memory-store.js";

const grandchild = `console.log(process.pid); process.send(1); setInterval(() => {}, 1000)`;
const script = `const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}],
  { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true }); child.on("message", () => process.exit(0))`;
const runtime = { type: "command", command: [process.execPath, "-e", script] };
const store = new MemoryStore();
const { status, summary } = await new JobExecutor({ store }).execute({
  agent: { name: "a", runtime },
  prompt: "",
});
process.stdout.write(`${JSON.stringify({ status, pid: Number(summary) })}\n`);

/**
 * A fleet of three agents: a command and a directory's work from rota.yaml, and a function of this program.
 * It ends by itself when the inbox is empty and the others have run three times; with --stay, on Ctrl-C.
 */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Scheduler } from "rota";
import { loadConfig } from "rota/config";

const config = await loadConfig(fileURLToPath(new URL("rota.yaml", import.meta.url)));

let count = 0;
const counter = {
  name: "counter",
  schedules: { steady: { type: "interval", interval: "1s", anchor: "start" } },
  run: () => `counted to ${++count}`,
};

/** Written beside the inbox and renamed into it, so that nobody finds half a file. */
async function fill(inbox, files) {
  await mkdir(join(inbox, "ready"), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(inbox, name), text);
    await rename(join(inbox, name), join(inbox, "ready", name));
  }
}
const worker = config.agents.find(({ name }) => name === "worker");
await fill(worker.schedules.inbox.work_source.path, {
  "typo.md": "---\npriority: low\n---\n# Mend a typo\n",
  "login.md": "---\npriority: critical\n---\n# Fix the login\n\nNobody can log in.\n",
  "riddle.md": "# Solve the riddle\n",
});

const logger = { info() {}, warn: console.warn, error: console.error };
const scheduler = new Scheduler({ ...config, logger });

const runs = { counter: 0, greeter: 0 };
const ended = new Promise((resolve) => {
  let isEmpty = false;
  const look = () => isEmpty && Object.values(runs).every((times) => times >= 3) && resolve();
  if (process.argv.includes("--stay")) console.log("Ctrl-C ends it.");
  else scheduler.on("job:finished", look);
  scheduler.on("schedule:skipped", ({ agent, reason }) => {
    if (isEmpty || reason !== "no_work") return;
    console.log(`no work for ${agent}`);
    isEmpty = true;
  });
  process.once("SIGINT", resolve);
  process.once("SIGTERM", resolve);
});
scheduler.on("job:finished", ({ job }) => {
  if (job.agent in runs) runs[job.agent] += 1;
  const time = job.finished_at.slice(11, 19);
  console.log(time, job.agent.padEnd(8), job.status.padEnd(9), job.summary ?? job.error, `[${job.source}]`);
});

await scheduler.start([...config.agents, counter]);
console.log(`${config.agents.length + 1} agents run. State and jobs are in ${config.stateDir}.`);
await ended;
await scheduler.stop();

// A scheduler in a process of its own with many short jobs, until it is killed or told to stop.
// Arguments: the state directory, the file of the witness, and as JSON the agents, the schedules of each, and their capacity.
// The jobs write what they do into the file of the witness themselves. Input: "stop" stops it.
import { openSync, writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { FileStore, Scheduler } from "../../../dist/index.js";

const [stateDir, witness, how] = process.argv.slice(2);
const { agents: agentCount, schedules: scheduleCount, capacity } = JSON.parse(how);

const file = openSync(witness, "a");
const note = (line) => writeSync(file, `${JSON.stringify({ pid: process.pid, ...line })}\n`);
const logger = { info() {}, warn() {}, error: (message) => note({ error: message }) };

const scheduleOf = (index) =>
  index % 3 === 0 ? { type: "cron", expression: "* * * * * *" } : { type: "interval", interval: "1s" };
const agents = Array.from({ length: agentCount }, (_, agent) => ({
  name: `agent-${agent}`,
  instances: { max_concurrent: capacity },
  schedules: Object.fromEntries(
    Array.from({ length: scheduleCount }, (__, index) => [`schedule-${index}`, scheduleOf(index)]),
  ),
  async run(job) {
    const { jobId, schedule, slot, record } = job;
    const { attempt, trigger } = record;
    note({
      start: jobId,
      agent: job.agent.name,
      schedule,
      slot: slot?.toISOString() ?? null,
      attempt,
      trigger,
    });
    await setTimeout(Math.random() * 30);
    note({ end: jobId });
  },
}));

const store = new FileStore({ stateDir, logger, jobs: { keep: Infinity } });
const scheduler = new Scheduler({ store, logger, logFailures: false, checkInterval: 50 });
await scheduler.start(agents);
writeSync(1, "running\n");

const stopping = new AbortController();
async function stop() {
  process.stdin.destroy();
  stopping.abort();
  const stopped = scheduler.stop({ timeout: "1m" });
  note({ stop: true });
  await stopped;
  writeSync(1, "stopped\n");
}
process.stdin.once("data", () => void stop());

// Requests at random times, to schedules that may be running.
while (!stopping.signal.aborted) {
  await setTimeout(Math.random() * 4);
  const agent = `agent-${Math.floor(Math.random() * agentCount)}`;
  const schedule = `schedule-${Math.floor(Math.random() * scheduleCount)}`;
  await scheduler.trigger(agent, schedule).catch(() => {});
}

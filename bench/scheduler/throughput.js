/** How many jobs a second are started, ended and durably recorded, when no time passes between two rounds of them. */
import { FileStore } from "rota";
import { agentsOf, onFileStore } from "./contenders.js";
import { LeapingClock } from "./leaping-clock.js";

const WARM_UP_ROUNDS = 2;

export async function throughput(_, { count, rounds }) {
  let started = 0;
  let recorded = 0;
  const begun = mark(() => recorded >= WARM_UP_ROUNDS * count);
  const ended = mark(() => recorded >= (WARM_UP_ROUNDS + rounds) * count);
  const clock = new LeapingClock(() => {
    begun.look();
    return !ended.look() && recorded === started;
  });
  const { scheduler, stateDir, remove } = await onFileStore({ clock });
  scheduler.on("job:finished", () => void recorded++);
  const definition = { type: "interval", interval: "1s" };
  const schedules = Array.from({ length: count }, () => ({ definition }));
  const agents = agentsOf(schedules, 10, () => void started++);
  await scheduler.start(agents);
  const [from, to] = await Promise.all([begun.seen, ended.seen]);
  await scheduler.stop();
  const missing = await missingRecords(stateDir, agents, started);
  await remove();
  const jobs = rounds * count;
  return { jobs, perSecond: (jobs / (to.ms - from.ms)) * 1000, micros: (to.cpu - from.cpu) / jobs, missing };
}

/** Remembers the time, by the clock and by the processor, when `hasCome` is first seen to be true. */
function mark(hasCome) {
  let note;
  const seen = new Promise((resolve) => {
    note = resolve;
  });
  const look = () => {
    if (!hasCome()) return false;
    const { user, system } = process.cpuUsage();
    note({ ms: performance.now(), cpu: user + system });
    return true;
  };
  return { seen, look };
}

/** Job records and states that the files should have and do not. */
async function missingRecords(stateDir, agents, started) {
  const store = new FileStore({ stateDir });
  const records = await store.jobs.list({ status: "completed", limit: Infinity });
  const last = records[0];
  let missing = started - records.length;
  for (const { name, schedules } of agents) {
    const states = await store.list(name);
    for (const schedule of Object.keys(schedules)) {
      const state = states.get(schedule);
      if (state?.status !== "idle" || state.last_completed_at !== last?.finished_at) missing++;
    }
  }
  await store.close();
  return missing;
}

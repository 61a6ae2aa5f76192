/**
 * The schedulers that are compared, behind one face: `prepare` makes what belongs to the caller, `register` is what is
 * measured. A schedule has a cron `expression`, a `slotMs` at which it is due next, and calls `run(slotMs)` then.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cron } from "croner";
import { schedule as scheduleNodeCron } from "node-cron";
import nodeSchedule from "node-schedule";
import { FileStore, Scheduler } from "rota";
import { SimpleIntervalJob, Task, ToadScheduler } from "toad-scheduler";

const quiet = { info() {}, warn: console.warn, error: console.error };

/** As many agents as needed for `perAgent` schedules each, all of which may run at a time. */
export function agentsOf(schedules, perAgent, run) {
  const agents = [];
  for (let i = 0; i < schedules.length; i += perAgent) {
    const mine = schedules.slice(i, i + perAgent);
    const { slotMs } = mine[0];
    agents.push({
      name: `agent-${agents.length}`,
      schedules: Object.fromEntries(mine.map(({ definition }, n) => [`schedule-${n}`, definition])),
      instances: { max_concurrent: perAgent },
      run: () => run(slotMs),
    });
  }
  return agents;
}

/** A scheduler on a file store in a directory of its own, which `remove` takes away. */
export async function onFileStore(options = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), "rota-bench-"));
  const store = new FileStore({ stateDir, clock: options.clock, maxJobs: 10_000_000, logger: quiet });
  const scheduler = new Scheduler({ logger: quiet, ...options, store });
  return { scheduler, store, stateDir, remove: () => rm(stateDir, { recursive: true }) };
}

function rota(perAgent) {
  return {
    keeps: "state and job log, durable",
    leadMs: 4_000,
    async prepare(schedules, run) {
      const agents = agentsOf(
        schedules.map(({ expression, slotMs }) => ({ definition: { type: "cron", expression }, slotMs })),
        perAgent,
        run,
      );
      const { scheduler, remove } = await onFileStore();
      return {
        register: () => scheduler.start(agents),
        async stop() {
          await scheduler.stop();
          await remove();
        },
      };
    },
  };
}

/** A library that registers one schedule a call and keeps all of them in the process. */
function inProcess(keeps, leadMs, schedule) {
  return {
    keeps,
    leadMs,
    prepare(schedules, run) {
      const registered = [];
      const register = () => {
        for (const { expression, slotMs } of schedules)
          registered.push(schedule(expression, () => run(slotMs), slotMs));
      };
      return { register, stop: () => {} };
    },
  };
}

const toad = new ToadScheduler();

export const CONTENDERS = {
  rota: rota(10),
  "rota, 1 an agent": rota(1),
  croner: inProcess("nothing", 9_000, (expression, run) => new Cron(expression, run)),
  "node-cron": inProcess("nothing", 7_000, (expression, run) => scheduleNodeCron(expression, run)),
  "node-schedule": inProcess("nothing", 7_000, (expression, run) =>
    nodeSchedule.scheduleJob(expression, run),
  ),
  // It measures distances, not times of day: an interval that ends at the slot.
  "toad-scheduler": inProcess("nothing; intervals, not times", 4_000, (_, run, slotMs) =>
    toad.addSimpleIntervalJob(
      new SimpleIntervalJob({ milliseconds: Math.max(1, slotMs - Date.now()) }, new Task("", run)),
    ),
  ),
};

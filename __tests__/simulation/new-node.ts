/** One of several schedulers, with a clock of its own that may be wrong; all it says is told to the guarantees. */
import type { Clock } from "../../src/clock.js";
import type { Random } from "../../src/random.js";
import type { BootedNode } from "./postgres-stores.js";
import type { SharedGuarantees, SimulatedNode } from "./shared-guarantees.js";
import type { SimulatedJobs } from "./simulated-jobs.js";
import type { Rota } from "./simulation.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

export interface Surroundings {
  readonly rota: Rota;
  readonly world: World;
  readonly jobs: SimulatedJobs;
  readonly guarantees: SharedGuarantees;
}

export interface NodeOptions {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly booted: BootedNode;
  readonly random: Random;
  /** By how much the clock of its machine is wrong. */
  readonly skewMs: number;
}

export function newNode(surroundings: Surroundings, options: NodeOptions): SimulatedNode {
  const { rota, world, jobs } = surroundings;
  const { name, clock, booted, skewMs, random } = options;
  const scheduler = new rota.Scheduler({
    // Some of its schedules are wrong.
    onInvalid: "skip",
    store: booted.store,
    clock: skewed(clock, skewMs),
    random,
    checkInterval: world.checkMs,
    timezone: "UTC",
    onTrigger: (info) => jobs.run(clock, info),
    logger: { info: () => {}, warn: () => {}, error: () => {} },
  });
  const node: SimulatedNode = {
    name,
    clock,
    scheduler,
    booted,
    phase: "stopped",
    upSinceMs: Infinity,
    stoodStillMs: -Infinity,
    isStopped: false,
    fleet: [],
  };
  listen(node, surroundings);
  return node;
}

function listen(node: SimulatedNode, { world, jobs, guarantees }: Surroundings): void {
  const { scheduler, name, clock } = node;
  scheduler.on("schedule:missed", (event) => {
    world.note(`${name}: ${event.agent}/${event.schedule} missed ${event.slot.toISOString()}`);
    if (!clock.isDead) guarantees.missed(node, event);
  });
  scheduler.on("schedule:skipped", (event) => {
    const slot = event.slot?.toISOString() ?? "";
    world.note(`${name}: ${event.agent}/${event.schedule} skips ${slot}: ${event.reason}`);
    guarantees.skipped(event);
  });
  scheduler.on("schedule:planned", ({ agent, schedule, nextRunAt, source }) => {
    world.note(`${name}: ${agent}/${schedule} is planned for ${nextRunAt?.toISOString()} (${source})`);
  });
  scheduler.on("job:started", ({ job }) => {
    world.note(`${name} has started ${jobs.find(job.id)?.name}`);
  });
  scheduler.on("job:finished", (event) => guarantees.finished(node, event));
  scheduler.on("scheduler:error", ({ error }) => world.note(`${name}: error: ${error.message}`));
}

/** A node's own clock, which shows another time than the database's. */
function skewed(clock: ProcessClock, skewMs: number): Clock {
  if (skewMs === 0) return clock;
  return {
    now: () => new Date(clock.now().getTime() + skewMs),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}

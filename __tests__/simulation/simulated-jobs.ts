/** Jobs of every kind: quick, slow, failing, deaf to their signal, endless. What runs is counted here, by those who run. */
import type { TriggerInfo } from "../../src/scheduler/jobs/job.js";
import type { Dice } from "./dice.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

export interface SimulatedJob {
  /** Jobs are told apart by the order of their starts: their ids are drawn by real chance. */
  readonly name: string;
  readonly process: ProcessClock;
  readonly info: TriggerInfo;
  readonly key: string;
  readonly startedMs: number;
  readonly startedWallMs: number;
  endedMs?: number;
  end?: "completed" | "failed" | "cancelled";
}

export interface JobWitness {
  started(job: SimulatedJob): void;
  ended(job: SimulatedJob): void;
}

export class SimulatedJobs {
  readonly all: SimulatedJob[] = [];
  /** By process. */
  readonly #live = new Map<ProcessClock, Set<SimulatedJob>>();
  readonly #byId = new Map<string, SimulatedJob>();
  readonly #world: World;
  readonly #dice: Dice;
  readonly #witness: JobWitness;
  #hung: (() => void)[] = [];
  /** Whether some never end by themselves. */
  mayHang = false;
  longestMs = 20_000;

  constructor(world: World, dice: Dice, witness: JobWitness) {
    this.#world = world;
    this.#dice = dice;
    this.#witness = witness;
  }

  live(process: ProcessClock): readonly SimulatedJob[] {
    return [...(this.#live.get(process) ?? [])];
  }

  find(id: string): SimulatedJob | undefined {
    return this.#byId.get(id);
  }

  /** What hangs comes to its end. */
  releaseHung(): void {
    const hung = this.#hung;
    this.#hung = [];
    for (const release of hung) release();
  }

  run(process: ProcessClock, info: TriggerInfo): Promise<void> {
    const world = this.#world;
    const name = `j${this.all.length + 1}`;
    const key = `${info.agent.name}/${info.scheduleName}`;
    const job: SimulatedJob = {
      name,
      process,
      info,
      key,
      startedMs: world.nowMs,
      startedWallMs: world.clock.wallMs,
    };
    const { slot, source, attempt } = info.job;
    world.note(`${name} of ${key} starts: ${source} for ${slot}, attempt ${attempt}`);
    this.#witness.started(job);
    this.all.push(job);
    this.#byId.set(info.job.id, job);
    this.#live.set(process, (this.#live.get(process) ?? new Set()).add(job));
    const work = this.#work(job);
    if (work === undefined) {
      this.#end(job, "failed");
      throw new Error("it fails at once");
    }
    return work;
  }

  #work(job: SimulatedJob): Promise<void> | undefined {
    const dice = this.#dice;
    const { process, info } = job;
    if (job.key === WITNESS) return this.#finish(job, process.sleep(WITNESS_JOB_MS), false);
    const kind = dice.random();
    const anyMs = dice.chance(0.5) ? dice.whole(0, 1_500) : dice.whole(0, this.longestMs);
    // Jobs that start together end together, when they take whole seconds.
    const ms = dice.chance(0.3) ? Math.round(anyMs / 1_000) * 1_000 : anyMs;
    if (kind < 0.06) return undefined;
    if (kind < 0.5) return this.#finish(job, process.sleep(ms, info.signal), false);
    if (kind < 0.7) return this.#finish(job, process.sleep(ms), dice.chance(0.5));
    if (kind < 0.76 && this.mayHang)
      return this.#finish(job, new Promise((resolve) => this.#hung.push(resolve)), false);
    return this.#finish(job, ms === 0 ? Promise.resolve() : process.sleep(ms), dice.chance(0.4));
  }

  async #finish(job: SimulatedJob, work: Promise<void>, fails: boolean): Promise<void> {
    try {
      await work;
      if (fails) throw new Error("it fails in the end");
    } catch (error) {
      this.#end(job, job.info.signal.aborted ? "cancelled" : "failed");
      throw error;
    }
    this.#end(job, "completed");
  }

  #end(job: SimulatedJob, end: "completed" | "failed" | "cancelled"): void {
    job.end = end;
    job.endedMs = this.#world.nowMs;
    this.#live.get(job.process)?.delete(job);
    this.#world.note(`${job.name} of ${job.key} ends: ${end}`);
    this.#witness.ended(job);
  }
}

/** An agent that nobody touches: whatever happens to others, its jobs come to the millisecond. */
export const WITNESS = "witness/beat";
export const WITNESS_INTERVAL_MS = 4_000;
export const WITNESS_JOB_MS = 700;

/**
 * One simulated life of a scheduler: a fleet, a store and jobs that misbehave, people who change everything at any moment,
 * crashes, clocks that jump; all decided by a seed. It ends at the first broken guarantee.
 */
import { Scheduler } from "../../src/scheduler/scheduler.js";
import { StateLockedError } from "../../src/state/errors.js";
import { MemoryStore } from "../../src/state/memory/memory-store.js";
import { PostgresStore } from "../../src/state/postgres/postgres-store.js";
import type { ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type { ScheduleKey } from "../../src/state/store.js";
import { isStatus } from "./acknowledged.js";
import { Dice } from "./dice.js";
import { type CurrentProcess, Guarantees } from "./guarantees.js";
import { asAgents, changedFleet, randomFleet, type SimulatedAgent } from "./random-fleet.js";
import { MemoryStores } from "./memory-stores.js";
import { SimulatedJobs, WITNESS } from "./simulated-jobs.js";
import type { BootedStore, Stores, StateWitness, WorstMoment } from "./stores.js";
import { Weather } from "./troubled-store.js";
import { ProcessClock } from "./virtual-clock.js";
import { type BrokenGuarantee, World } from "./world.js";

/** What is simulated: the sources, or a copy with a bug in it. */
export interface Rota {
  readonly Scheduler: typeof Scheduler;
  readonly MemoryStore: typeof MemoryStore;
  readonly PostgresStore: typeof PostgresStore;
  readonly StateLockedError: typeof StateLockedError;
}

export const ROTA: Rota = { Scheduler, MemoryStore, PostgresStore, StateLockedError };

/** What the stores of one life are made of. */
export interface Life {
  readonly seed: number;
  readonly rota: Rota;
  readonly world: World;
  readonly weather: Weather;
  readonly witness: StateWitness;
}

export type StoresOf = (life: Life) => Promise<Stores>;

const inMemory: StoresOf = async ({ rota, world, weather, witness }) =>
  new MemoryStores({ Store: rota.MemoryStore, Locked: rota.StateLockedError, world, weather, witness });

export interface SimulationResult {
  readonly seed: number;
  /** As scripts/simulate.js calls it. */
  readonly store: "memory" | "postgres" | "nodes";
  readonly trace: readonly string[];
  readonly broken: BrokenGuarantee | undefined;
  readonly jobs: number;
}

const DURATION_MS = 120_000;
const HOUR_MS = 3_600_000;
const JUMPS_MS = [1_000, HOUR_MS, 25 * HOUR_MS, 10 * 365 * 24 * HOUR_MS];
const FREEZES_MS = [3_000, 30_000, 120_000];

export async function simulate(
  seed: number,
  rota: Rota = ROTA,
  storesOf: StoresOf = inMemory,
): Promise<SimulationResult> {
  const simulation = new Simulation(seed, rota, storesOf);
  await simulation.run();
  return simulation.result();
}

/** Which troubles a life has: lives with few of them show what must hold exactly. */
interface Troubles {
  readonly storms: boolean;
  readonly crashes: boolean;
  readonly jumps: boolean;
  readonly stops: boolean;
  readonly changes: boolean;
  readonly people: boolean;
  readonly edits: boolean;
}

interface Process extends CurrentProcess {
  readonly booted: BootedStore;
}

type Phase = "dead" | "starting" | "up" | "stopping" | "stopped";

class Simulation {
  readonly #seed: number;
  readonly #rota: Rota;
  readonly #dice: Dice;
  readonly #world: World;
  readonly #weather: Weather;
  readonly #guarantees: Guarantees;
  readonly #jobs: SimulatedJobs;
  readonly #troubles: Troubles;
  readonly #storesOf: StoresOf;
  #stores: Stores | undefined;
  #process: Process | undefined;
  #overtaken: Process[] = [];
  #phase: Phase = "dead";
  #fleet;
  #fleetBefore;
  #processes = 0;
  #stopEndsMs = Infinity;
  #startCount = 0;
  #isEnding = false;

  constructor(seed: number, rota: Rota, storesOf: StoresOf) {
    this.#seed = seed;
    this.#rota = rota;
    this.#storesOf = storesOf;
    const dice = new Dice(seed, 1);
    this.#dice = dice;
    this.#world = new World(Date.UTC(2026, 0, 1) + dice.whole(0, 400 * 86_400) * 1_000, {
      checkMs: dice.pick([250, 500, 1_000, 1_000, 2_000]),
      leaseMs: dice.pick([15_000, 30_000]),
      maxConcurrent: dice.chance(0.35) ? dice.whole(1, 4) : Infinity,
    });
    this.#weather = new Weather(this.#world, new Dice(seed, 2));
    this.#guarantees = new Guarantees(this.#world);
    this.#jobs = new SimulatedJobs(this.#world, new Dice(seed, 3), this.#guarantees);
    this.#guarantees.jobs = this.#jobs;
    this.#troubles = {
      storms: dice.chance(0.5),
      crashes: dice.chance(0.4),
      jumps: dice.chance(0.3),
      stops: dice.chance(0.4),
      changes: dice.chance(0.5),
      people: dice.chance(0.6),
      edits: dice.chance(0.25),
    };
    this.#jobs.mayHang = this.#troubles.crashes;
    this.#jobs.longestMs = dice.pick([3_000, 20_000, 45_000]);
    this.#fleet = randomFleet(dice, this.#world.clock.wallMs);
    this.#fleetBefore = this.#fleet;
    this.#world.clock.onSettled = () => this.#look();
  }

  async run(): Promise<void> {
    const { clock, checkMs, leaseMs, maxConcurrent } = this.#world;
    this.#world.note(
      JSON.stringify({ seed: this.#seed, checkMs, leaseMs, maxConcurrent, ...this.#troubles }),
    );
    try {
      this.#stores = await this.#storesOf({
        seed: this.#seed,
        rota: this.#rota,
        world: this.#world,
        weather: this.#weather,
        witness: this.#guarantees,
      });
      await this.#live();
      await this.#finish();
    } catch (error) {
      if (this.#world.broken === undefined)
        this.#world.fail(
          "the simulation runs to its end",
          error instanceof Error ? error.message : String(error),
        );
    }
    clock.onSettled = () => {};
    clock.carryOn = undefined;
    for (const process of [this.#process, ...this.#overtaken]) process?.clock.kill();
  }

  result(): SimulationResult {
    const { trace, broken } = this.#world;
    const store = this.#stores?.isShared === true ? "postgres" : "memory";
    return { seed: this.#seed, store, trace, broken, jobs: this.#jobs.all.length };
  }

  async #live(): Promise<void> {
    const { clock } = this.#world;
    const dice = this.#dice;
    await this.#boot();
    while (clock.monotonicMs < DURATION_MS) {
      // Often at the very moment at which something else happens.
      const step = dice.random();
      const nextMs = clock.nextWakeMs() ?? 0;
      await clock.advance(step < 0.25 ? Math.min(nextMs, 4_000) : step < 0.35 ? 0 : dice.whole(1, 5_000));
      await this.#act();
    }
  }

  async #finish(): Promise<void> {
    const world = this.#world;
    this.#isEnding = true;
    world.note("the end begins");
    this.#weather.set("calm", 0);
    this.#jobs.releaseHung();
    for (const { clock } of this.#overtaken) clock.isSuspended = false;
    for (let tries = 0; !this.#isIn("up"); tries++) {
      if (tries > 20) return world.fail("a scheduler can be started again", `it is ${this.#phase}`);
      if (this.#isIn("dead")) await this.#boot();
      else if (this.#isIn("stopped")) this.#start();
      await world.clock.advance(5_000);
    }
    await world.clock.advance(world.leaseMs + 6 * world.checkMs);
    if (!this.#isIn("up")) return world.fail("a scheduler runs until it is stopped", `it is ${this.#phase}`);
    this.#jobs.releaseHung();
    this.#stop({ waitForJobs: true, timeout: 200_000 });
    await world.clock.advance(200_000);
    for (const process of this.#overtaken) process.clock.kill();
    if (!this.#isIn("stopped")) return world.fail("stop comes to an end", `it is ${this.#phase}`);
    await this.#guarantees.checkEnd();
  }

  #isIn(phase: Phase): boolean {
    return this.#phase === phase;
  }

  #look(): void {
    const world = this.#world;
    if (world.nowMs > this.#stopEndsMs) world.fail("stop comes to an end", "its time is up");
    this.#guarantees.checkAll();
    this.#stores?.check();
    if (world.broken !== undefined) throw new Error(world.broken.details);
  }

  async #act(): Promise<void> {
    const dice = this.#dice;
    if (this.#phase === "dead") {
      if (dice.chance(0.5)) await this.#boot();
      return;
    }
    if (this.#phase === "stopped" && dice.chance(0.5)) return this.#start();
    const { storms, crashes, jumps, stops, changes, people, edits } = this.#troubles;
    const overtaken = this.#overtaken.find(({ clock }) => clock.isSuspended);
    if (overtaken !== undefined && dice.chance(0.15)) return this.#goOn(overtaken);
    if (stops && this.#world.callsUnderWay > 0 && dice.chance(0.15)) return this.#stopSomehow();
    const kind = dice.random();
    if (storms && kind < 0.1) return this.#changeWeather();
    if (crashes && kind < 0.14) return this.#crash();
    if (jumps && kind < 0.18) return this.#jump();
    if (stops && kind < 0.24) return this.#stopSomehow();
    if (changes && kind < 0.36) return this.#changeFleet();
    if (edits && kind < 0.45) return this.#edit();
    if (kind < 0.55) return this.#trigger();
    if (kind < 0.62) return this.#cancel();
    if (people) this.#control();
  }

  async #boot(): Promise<void> {
    const world = this.#world;
    const clock = new ProcessClock(world.clock);
    const booted = await this.#requireStores().boot(clock, (moment) => this.#onMoment(clock, moment));
    const { store, view: inner } = booted;
    const random = new Dice(this.#seed, 10 + this.#processes).random;
    const scheduler = new this.#rota.Scheduler({
      // Some of its schedules are wrong.
      onInvalid: "skip",
      store,
      clock,
      random,
      checkInterval: world.checkMs,
      maxConcurrent: world.maxConcurrent,
      timezone: "UTC",
      onTrigger: (info) => this.#jobs.run(clock, info),
      logger: {
        info: () => {},
        warn: () => {},
        error: (message) => {
          if (message.startsWith("Gave up") && this.#process?.clock === clock)
            this.#guarantees.gaveUp(message, !this.#process.scheduler.isRunning());
        },
      },
    });
    const process: Process = { clock, scheduler, booted, inner, isStopped: false, starts: 0 };
    this.#process = process;
    this.#guarantees.process = process;
    world.store = booted.calls;
    this.#processes++;
    this.#listen(process);
    this.#start();
  }

  #requireStores(): Stores {
    if (this.#stores === undefined) throw new Error("There are no stores.");
    return this.#stores;
  }

  #listen({ scheduler, clock }: Process): void {
    const world = this.#world;
    const isCurrent = (): boolean => this.#process?.clock === clock;
    scheduler.on("schedule:abandoned", (event) => {
      world.note(`${event.agent}/${event.schedule} gives up ${event.slot.toISOString()}`);
      if (isCurrent()) this.#guarantees.abandoned(event);
    });
    scheduler.on("schedule:missed", (event) => {
      world.note(`${event.agent}/${event.schedule} missed ${event.count} from ${event.slot.toISOString()}`);
      // Also by a process that is overtaken: it wrote the count before.
      this.#guarantees.accounts.told(event);
      if (isCurrent()) this.#guarantees.missed(event);
    });
    scheduler.on("schedule:skipped", (event) => {
      world.note(
        `${event.agent}/${event.schedule} skips ${event.count ?? ""} ${event.slot?.toISOString() ?? ""}: ${event.reason}`,
      );
      this.#guarantees.accounts.told(event);
      if (isCurrent()) this.#guarantees.skipped(event);
    });
    scheduler.on("schedule:planned", ({ agent, schedule, nextRunAt, source }) => {
      world.note(`${agent}/${schedule} is planned for ${nextRunAt?.toISOString()} (${source})`);
    });
    scheduler.on("job:finished", (event) => {
      if (isCurrent()) this.#guarantees.finished(event);
    });
    scheduler.on("scheduler:error", ({ error }) => {
      world.note(`error: ${error.message}`);
    });
  }

  #start(): void {
    const process = this.#process;
    if (process === undefined) return;
    this.#phase = "starting";
    this.#world.note("start");
    process.isStopped = false;
    process.starts = 0;
    this.#guarantees.givenFleet(this.#fleet, true);
    const number = ++this.#startCount;
    this.#watch(process, "start", process.scheduler.start(asAgents(this.#fleet)), (outcome) => {
      if (this.#phase !== "starting" || number !== this.#startCount) return;
      this.#phase = outcome === "done" ? "up" : "stopped";
      this.#world.upSinceMs = outcome === "done" ? this.#world.nowMs : Infinity;
    });
  }

  #stopSomehow(): void {
    const dice = this.#dice;
    const timeout = dice.chance(0.5) ? 30_000 : dice.pick([0, 100, 2_000]);
    this.#stop({ waitForJobs: dice.chance(0.6), timeout });
  }

  #stop(options: { readonly waitForJobs: boolean; readonly timeout: number }): void {
    const process = this.#process;
    if (process === undefined || this.#phase === "stopping") return;
    const world = this.#world;
    world.note(`stop ${JSON.stringify(options)}`);
    const wasUp = this.#phase === "up";
    this.#phase = "stopping";
    process.isStopped = true;
    world.upSinceMs = Infinity;
    this.#guarantees.excuseWitness();
    this.#stopEndsMs = world.nowMs + options.timeout;
    const calledMs = world.nowMs;
    this.#watch(process, "stop", process.scheduler.stop(options), (outcome) => {
      this.#phase = "stopped";
      this.#stopEndsMs = Infinity;
      const live = this.#jobs.live(process.clock);
      const deaf = live.filter(({ info }) => !info.signal.aborted);
      if (outcome === "done" && options.waitForJobs && live.length > 0)
        world.fail("stop waits for jobs", `${live.length} still run`);
      if (deaf.length > 0) world.fail("stop tells jobs to end", `${deaf.length} were not told`);
      const isUntroubled = world.lastFaultMs < calledMs - world.leaseMs - 4 * world.checkMs;
      const isRecorded = outcome === "done" && options.waitForJobs && isUntroubled && wasUp;
      const { inner } = process;
      const claimed = [...inner.keys()].filter(
        (key) => inner.stored(key).claim != null && !inner.isLeft(key),
      );
      if (isRecorded && claimed.length > 0 && !this.#guarantees.hasGivenUp)
        world.fail("stop waits until all is recorded", `${claimed.length} claims are left`);
    });
  }

  #changeWeather(): void {
    const kind = this.#dice.pick(["slow", "slow", "failing", "failing", "outage"] as const);
    const ms = this.#dice.whole(2_000, 20_000);
    this.#weather.set(kind, ms);
    this.#world.note(`the store is ${kind} for ${ms} ms`);
  }

  /** The worst moments to stop, to die, or to change what is about to go. */
  #onMoment(clock: ProcessClock, moment: WorstMoment): void {
    if (this.#process?.clock !== clock || this.#phase !== "up" || this.#isEnding) return;
    if (moment === "defined") {
      if (this.#troubles.people && this.#dice.chance(0.5)) this.#control(this.#fleetBefore);
      return;
    }
    if (this.#troubles.stops && this.#dice.chance(0.25)) this.#stopSomehow();
    else if (this.#troubles.crashes && this.#dice.chance(0.1)) this.#crash();
  }

  /** Killed, or believed dead and overtaken while it stood still. */
  #crash(): void {
    const process = this.#process;
    if (process === undefined) return;
    const world = this.#world;
    // Where others may share the states, nobody is overtaken: several-nodes.ts has those that stand still.
    const isOvertaken = this.#dice.chance(0.4) && !this.#requireStores().isShared;
    world.note(isOvertaken ? "the process stands still and is overtaken" : "the process is killed");
    if (isOvertaken) {
      process.clock.isSuspended = true;
      this.#requireStores().overtake(process.booted.store);
      this.#overtaken.push(process);
    } else process.clock.kill();
    this.#process = undefined;
    this.#guarantees.process = undefined;
    this.#guarantees.crashed();
    world.store = undefined;
    world.upSinceMs = Infinity;
    this.#stopEndsMs = Infinity;
    this.#phase = "dead";
  }

  #goOn({ clock }: Process): void {
    this.#world.note("the overtaken process goes on");
    clock.isSuspended = false;
  }

  #jump(): void {
    const dice = this.#dice;
    const world = this.#world;
    world.lastJumpMs = world.nowMs;
    this.#guarantees.excuseWitness();
    // A pass that stands still for longer than a lease loses its claims, as it must.
    if (dice.chance(0.3)) {
      const ms = dice.pick(FREEZES_MS);
      world.clock.freeze(ms);
      world.lastJumpMs = world.nowMs;
      if (this.#stopEndsMs < Infinity) this.#stopEndsMs = Math.max(this.#stopEndsMs, world.nowMs);
      world.note(`the machine stood still for ${ms} ms`);
      return;
    }
    const ms = dice.pick(JUMPS_MS) * (dice.chance(0.5) ? 1 : -1);
    world.clock.wallMs += ms;
    if (ms < 0) world.passing++;
    for (const key of this.#process?.inner.keys() ?? [])
      this.#guarantees.acknowledged.forget(`${key.agent}/${key.schedule}`, "hint");
    world.note(`the wall clock jumps by ${ms} ms`);
  }

  #changeFleet(): void {
    const process = this.#process;
    const fleet = changedFleet(this.#dice, this.#fleet, this.#world.clock.wallMs);
    this.#fleetBefore = this.#fleet;
    this.#fleet = fleet;
    if (process === undefined || this.#phase !== "up") return;
    this.#world.note(`setAgents ${JSON.stringify(fleet.slice(0).map(({ name, ...rest }) => [name, rest]))}`);
    try {
      process.scheduler.setAgents(asAgents(fleet));
      this.#guarantees.givenFleet(fleet, false);
    } catch (error) {
      this.#world.note(`setAgents is refused: ${String(error)}`);
    }
  }

  #trigger(): void {
    const process = this.#process;
    const key = this.#anyKey();
    if (process === undefined || key === undefined) return;
    const name = `${key.agent}/${key.schedule}`;
    this.#world.note(`trigger ${name}`);
    const { scheduler, clock } = process;
    const triggered = async (): Promise<void> => {
      const { success, jobId = "", skipReason, error } = await scheduler.trigger(key.agent, key.schedule);
      const isStarted = this.#jobs.find(jobId) !== undefined;
      if (success !== isStarted && !clock.isDead)
        this.#world.fail("a trigger answers what it did", `${name}: ${success}, started: ${isStarted}`);
      this.#world.note(`trigger ${name}: ${success} ${skipReason ?? ""} ${error ?? ""}`);
    };
    this.#watch(process, `trigger ${name}`, triggered(), () => {});
  }

  #cancel(): void {
    const process = this.#process;
    if (process === undefined) return;
    const live = this.#jobs.live(process.clock).filter(({ key }) => key !== WITNESS);
    if (live.length === 0) return;
    const job = this.#dice.pick(live);
    this.#world.note(`cancel ${job.name}`);
    if (!process.scheduler.cancel(job.info.job.id) || !job.info.signal.aborted)
      this.#world.fail("a running job can be cancelled", `${job.name} of ${job.key}`);
  }

  #edit(): void {
    const process = this.#process;
    const key = this.#anyKey();
    const isDefined = process?.inner.definitions.some(
      ({ agent, schedule }) => agent === key?.agent && schedule === key.schedule,
    );
    if (process === undefined || key === undefined || isDefined !== true) return;
    const dice = this.#dice;
    const world = this.#world;
    const name = `${key.agent}/${key.schedule}`;
    const { acknowledged } = this.#guarantees;
    const at = (ms: number): string => new Date(world.clock.wallMs + ms).toISOString();
    const { claim } = process.inner.peek(key);
    const patches: ScheduleStatePatch[] = [
      { status: "disabled" },
      { status: claim == null ? "idle" : "running" },
      { paused_until: at(dice.whole(1_000, 20_000)) },
      { paused_until: null },
      { next_run_at: at(dice.whole(-1_000, 10_000)) },
      { next_run_at: null },
      { hint: { interval: dice.chance(0.5) ? "3s" : "often", expires_at: at(60_000) } },
    ];
    const patch = dice.pick(patches);
    for (const field of ["status", "paused_until", "hint"] as const)
      if (field in patch) acknowledged.forget(name, field);
    if (patch.next_run_at != null) this.#guarantees.ordered(name, patch.next_run_at);
    world.lastEditMs = world.nowMs;
    world.note(`somebody edits ${name}: ${JSON.stringify(patch)}`);
    void process.inner.edit(key, patch);
  }

  #control(fleet?: readonly SimulatedAgent[]): void {
    const process = this.#process;
    const key = this.#anyKey(fleet);
    if (process === undefined || key === undefined) return;
    const dice = this.#dice;
    const world = this.#world;
    const { agent, schedule } = key;
    const name = `${agent}/${schedule}`;
    const { scheduler } = process;
    const { acknowledged } = this.#guarantees;
    const kind = dice.pick([
      "pause",
      "pause",
      "resume",
      "disable",
      "enable",
      "enable",
      "hint",
      "hint",
      "clear",
    ]);
    world.note(`${kind} ${name}`);
    if (kind === "pause") {
      const until = dice.chance(0.3) ? undefined : new Date(world.clock.wallMs + dice.whole(-1_000, 30_000));
      const text = until?.toISOString() ?? "9999-12-31T23:59:59.999Z";
      const tell = acknowledged.begin(name, "paused_until", `paused until ${text}`, (state) =>
        [text, "9999-12-31T23:59:59.999Z"].includes(state.paused_until ?? ""),
      );
      this.#watch(process, `${kind} ${name}`, scheduler.pause(agent, schedule, until), tell);
    } else if (kind === "resume") {
      const tell = acknowledged.begin(name, "paused_until", "resumed", (state) => state.paused_until == null);
      this.#watch(process, `${kind} ${name}`, scheduler.resume(agent, schedule), tell);
    } else if (kind === "disable" || kind === "enable") {
      const tell = acknowledged.begin(
        name,
        "status",
        `${kind}d`,
        isStatus(kind === "disable" ? "disabled" : "idle"),
      );
      this.#watch(process, `${kind} ${name}`, scheduler[kind](agent, schedule), tell);
    } else if (kind === "hint") {
      const reason = `advice ${world.trace.length}`;
      const isOneShot = dice.chance(0.4);
      const advice = isOneShot
        ? { runAt: new Date(world.clock.wallMs + dice.whole(-1_000, 20_000)) }
        : { interval: `${dice.whole(1, 20)}s` };
      // A one-shot is gone once it was used.
      const tell = acknowledged.begin(
        name,
        "hint",
        reason,
        (state) => isOneShot || state.hint?.reason === reason,
      );
      this.#watch(process, `${kind} ${name}`, scheduler.hint(agent, schedule, { ...advice, reason }), tell);
    } else {
      const tell = acknowledged.begin(name, "hint", "no hint", (state) => state.hint == null);
      this.#watch(process, `${kind} ${name}`, scheduler.clearHints(agent, schedule), tell);
    }
  }

  #anyKey(fleet: readonly SimulatedAgent[] = this.#fleet): ScheduleKey | undefined {
    const keys = fleet
      .flatMap(({ name, schedules }) => Object.keys(schedules).map((schedule) => ({ agent: name, schedule })))
      .filter(({ agent, schedule }) => `${agent}/${schedule}` !== WITNESS);
    return keys.length === 0 ? undefined : this.#dice.pick(keys);
  }

  /** Follows a call that nobody waits for. */
  #watch(
    { clock }: Process,
    what: string,
    call: Promise<unknown>,
    tell: (outcome: "done" | "failed" | "refused") => void,
  ): void {
    const end = (outcome: "done" | "failed" | "refused", why: string): void => {
      this.#world.note(`${what}: ${outcome}${why}`);
      if (this.#process?.clock === clock) tell(outcome);
    };
    call.then(
      () => end("done", ""),
      (error: unknown) => {
        const code = error instanceof Error && "code" in error ? error.code : undefined;
        const isRefused = code === "NOT_RUNNING" || code === "UNKNOWN_SCHEDULE";
        end(isRefused ? "refused" : "failed", `, ${error instanceof Error ? error.message : String(error)}`);
      },
    );
  }
}

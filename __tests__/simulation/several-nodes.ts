/**
 * One simulated life of several schedulers that share a PostgreSQL store: they come and go, are killed, stand still for
 * longer than their leases, are cut off, and have clocks that are wrong; all decided by a seed.
 */
import { Dice } from "./dice.js";
import { newNode } from "./new-node.js";
import { People } from "./people.js";
import type { PostgresLives, PostgresStores } from "./postgres-stores.js";
import { asAgents, changedFleet, randomFleet, type SimulatedAgent } from "./random-fleet.js";
import { SharedGuarantees, type SimulatedNode } from "./shared-guarantees.js";
import { SimulatedJobs } from "./simulated-jobs.js";
import { ROTA, type Rota, type SimulationResult } from "./simulation.js";
import { Weather } from "./troubled-store.js";
import { ProcessClock } from "./virtual-clock.js";
import { World } from "./world.js";

const DURATION_MS = 90_000;
const MINUTE_MS = 60_000;
const SKEWS_MS = [0, 700, 10 * MINUTE_MS, 365 * 24 * 60 * MINUTE_MS];
const JUMPS_MS = [1_000, 60 * MINUTE_MS];

export async function simulateNodes(
  seed: number,
  lives: PostgresLives,
  rota: Rota = ROTA,
): Promise<SimulationResult> {
  const life = new SharedLife(seed, rota);
  await life.run(lives);
  return life.result();
}

interface Place {
  readonly name: string;
  readonly weather: Weather;
  readonly skewMs: number;
  /** Which agents it knows. */
  readonly knows: (agent: SimulatedAgent) => boolean;
  node: SimulatedNode | undefined;
}

class SharedLife {
  readonly #seed: number;
  readonly #rota: Rota;
  readonly #dice: Dice;
  readonly #world: World;
  readonly #places: readonly Place[];
  readonly #guarantees: SharedGuarantees;
  readonly #jobs: SimulatedJobs;
  readonly #people: People;
  readonly #troubles;
  #stores: PostgresStores | undefined;
  #fleet: readonly SimulatedAgent[];
  #processes = 0;
  #isEnding = false;

  constructor(seed: number, rota: Rota) {
    const dice = new Dice(seed, 21);
    this.#seed = seed;
    this.#rota = rota;
    this.#dice = dice;
    const world = new World(Date.UTC(2026, 0, 1) + dice.whole(0, 400 * 86_400) * 1_000, {
      checkMs: dice.pick([500, 1_000, 1_000, 2_000]),
      leaseMs: dice.pick([10_000, 15_000, 30_000]),
      maxConcurrent: Infinity,
    });
    this.#world = world;
    this.#troubles = {
      storms: dice.chance(0.5),
      crashes: dice.chance(0.5),
      stills: dice.chance(0.4),
      stops: dice.chance(0.3),
      jumps: dice.chance(0.15),
      changes: dice.chance(0.3),
      people: dice.chance(0.5),
      skews: dice.chance(0.6),
      strangers: dice.chance(0.3),
    };
    const { skews, strangers } = this.#troubles;
    this.#places = Array.from({ length: dice.whole(2, 3) }, (_, index): Place => {
      const unknown = strangers && index > 0 ? dice.pick(["ada", "bob", "cyd"]) : undefined;
      return {
        name: `n${index + 1}`,
        weather: new Weather(world, new Dice(seed, 30 + index)),
        skewMs: skews ? dice.pick(SKEWS_MS) * (dice.chance(0.5) ? 1 : -1) : 0,
        knows: ({ name }) => name !== unknown,
        node: undefined,
      };
    });
    this.#guarantees = new SharedGuarantees({
      world,
      jobs: () => this.#jobs,
      nodes: () => this.#nodes,
      mirror: () => this.#requireStores().mirror,
    });
    this.#jobs = new SimulatedJobs(world, new Dice(seed, 22), this.#guarantees);
    this.#jobs.mayHang = this.#troubles.crashes;
    this.#jobs.longestMs = dice.pick([3_000, 20_000, 45_000]);
    this.#people = new People({ world, dice, jobs: this.#jobs, guarantees: this.#guarantees });
    this.#fleet = randomFleet(dice, world.clock.wallMs);
  }

  result(): SimulationResult {
    const { trace, broken } = this.#world;
    return { seed: this.#seed, store: "nodes", trace, broken, jobs: this.#jobs.all.length };
  }

  async run(lives: PostgresLives): Promise<void> {
    const world = this.#world;
    const { checkMs, leaseMs, clock } = world;
    const nodes = this.#places.map(({ name, skewMs }) => `${name} ${skewMs} ms`);
    world.note(JSON.stringify({ seed: this.#seed, checkMs, leaseMs, nodes, ...this.#troubles }));
    const witness = this.#guarantees;
    try {
      this.#stores = await lives.storesOf({
        seed: this.#seed,
        rota: this.#rota,
        world,
        weather: new Weather(world, new Dice(this.#seed, 2)),
        witness,
      });
      clock.onSettled = () => this.#look();
      await this.#live();
      await this.#finish();
    } catch (error) {
      if (world.broken === undefined)
        world.fail("the simulation runs to its end", error instanceof Error ? error.message : String(error));
    }
    clock.onSettled = () => {};
    clock.carryOn = undefined;
    for (const { node } of this.#places) node?.clock.kill();
  }

  get #nodes(): readonly SimulatedNode[] {
    return this.#places.flatMap(({ node }) => node ?? []);
  }

  #requireStores(): PostgresStores {
    if (this.#stores === undefined) throw new Error("There are no stores.");
    return this.#stores;
  }

  #look(): void {
    this.#guarantees.checkAll();
    const { broken } = this.#world;
    if (broken !== undefined) throw new Error(broken.details);
  }

  async #live(): Promise<void> {
    const { clock } = this.#world;
    const dice = this.#dice;
    for (const place of this.#places) this.#boot(place);
    while (clock.monotonicMs < DURATION_MS) {
      const step = dice.random();
      const nextMs = clock.nextWakeMs() ?? 0;
      await clock.advance(step < 0.25 ? Math.min(nextMs, 4_000) : step < 0.35 ? 0 : dice.whole(1, 5_000));
      this.#act();
    }
  }

  async #finish(): Promise<void> {
    const world = this.#world;
    this.#isEnding = true;
    world.note("the end begins");
    this.#jobs.releaseHung();
    for (const place of this.#places) {
      place.weather.set("calm", 0);
      if (place.node?.clock.isSuspended === true) this.#goOn(place.node);
    }
    const isUp = (): boolean => this.#nodes.some(({ phase }) => phase === "up");
    for (let tries = 0; !isUp(); tries++) {
      if (tries > 20) return world.fail("a scheduler can be started again", "none is up");
      for (const place of this.#places) this.#bringUp(place);
      await world.clock.advance(5_000);
    }
    await world.clock.advance(world.leaseMs + 6 * world.checkMs);
    this.#jobs.releaseHung();
    for (const node of this.#nodes) if (node.phase !== "dead") this.#stop(node, true, 200_000);
    await world.clock.advance(200_000);
    for (const { name, phase } of this.#nodes)
      if (phase !== "stopped" && phase !== "dead")
        return world.fail("stop comes to an end", `${name} is ${phase}`);
    await this.#guarantees.checkEnd(this.#requireStores().log);
  }

  #act(): void {
    const dice = this.#dice;
    const place = dice.pick(this.#places);
    const { node } = place;
    if (node === undefined || node.phase === "dead" || node.phase === "stopped") {
      if (dice.chance(0.5)) this.#bringUp(place);
      return;
    }
    if (node.clock.isSuspended) {
      if (dice.chance(0.25)) this.#goOn(node);
      return;
    }
    const { storms, crashes, stills, stops, jumps, changes, people } = this.#troubles;
    const kind = dice.random();
    if (storms && kind < 0.12) return this.#changeWeather(place);
    if (crashes && kind < 0.18) return this.#kill(node);
    if (stills && kind < 0.26) return this.#standStill(node);
    if (stops && kind < 0.32) return this.#stop(node, dice.chance(0.6), dice.pick([0, 2_000, 30_000]));
    if (jumps && kind < 0.36) return this.#jump();
    if (changes && kind < 0.42) return this.#changeFleet();
    if (kind < 0.6) return this.#people.trigger(node);
    if (people) this.#people.control(node);
  }

  #bringUp(place: Place): void {
    if (place.node?.phase === "stopped") this.#start(place.node, place);
    else if (place.node === undefined || place.node.phase === "dead") this.#boot(place);
  }

  #boot(place: Place): void {
    const world = this.#world;
    const { name, weather, skewMs } = place;
    const clock = new ProcessClock(world.clock);
    const booted = this.#requireStores().bootNode(clock, weather, () => this.#onClaiming(clock));
    const random = new Dice(this.#seed, 40 + this.#processes++).random;
    const node = newNode(
      { rota: this.#rota, world, jobs: this.#jobs, guarantees: this.#guarantees },
      { name, clock, booted, skewMs, random },
    );
    place.node = node;
    this.#start(node, place);
  }

  #start(node: SimulatedNode, place: Place): void {
    const world = this.#world;
    world.note(`${node.name} starts`);
    node.phase = "starting";
    node.isStopped = false;
    node.fleet = this.#fleet.filter(place.knows);
    world.lastRosterMs = world.nowMs;
    this.#people.watch(node, "start", node.scheduler.start(asAgents(node.fleet)), (outcome) => {
      if (node.phase !== "starting") return;
      node.phase = outcome === "done" ? "up" : "stopped";
      if (outcome === "done") node.upSinceMs = world.nowMs;
    });
  }

  #stop(node: SimulatedNode, waitForJobs: boolean, timeout: number): void {
    if (node.phase === "stopping" || node.phase === "stopped") return;
    this.#world.note(`${node.name} stops ${waitForJobs} ${timeout}`);
    node.phase = "stopping";
    node.isStopped = true;
    node.upSinceMs = Infinity;
    this.#world.lastRosterMs = this.#world.nowMs;
    this.#people.watch(node, "stop", node.scheduler.stop({ waitForJobs, timeout }), () => {
      node.phase = "stopped";
    });
  }

  /** The worst moments to die at, or to stand still. */
  #onClaiming(clock: ProcessClock): void {
    const node = this.#nodes.find((known) => known.clock === clock);
    if (node?.phase !== "up" || this.#isEnding) return;
    if (this.#troubles.crashes && this.#dice.chance(0.1)) this.#kill(node);
    else if (this.#troubles.stills && this.#dice.chance(0.2)) this.#standStill(node);
  }

  #kill(node: SimulatedNode): void {
    this.#world.note(`${node.name} is killed`);
    node.clock.kill();
    node.phase = "dead";
    node.upSinceMs = Infinity;
    this.#world.lastRosterMs = this.#world.nowMs;
    this.#guarantees.acknowledged.forgetUnderWay();
  }

  #standStill(node: SimulatedNode): void {
    this.#world.note(`${node.name} stands still`);
    node.clock.isSuspended = true;
    node.upSinceMs = Infinity;
  }

  #goOn(node: SimulatedNode): void {
    this.#world.note(`${node.name} goes on`);
    node.clock.isSuspended = false;
    node.stoodStillMs = this.#world.nowMs;
    this.#world.lastRosterMs = this.#world.nowMs;
    if (node.phase === "up") node.upSinceMs = this.#world.nowMs;
  }

  #changeWeather({ name, weather }: Place): void {
    const kind = this.#dice.pick(["slow", "failing", "failing", "outage"] as const);
    const ms = this.#dice.whole(2_000, kind === "outage" ? 60_000 : 20_000);
    weather.set(kind, ms);
    this.#world.note(`the way from ${name} is ${kind} for ${ms} ms`);
  }

  #jump(): void {
    const dice = this.#dice;
    const world = this.#world;
    const ms = dice.pick(JUMPS_MS) * (dice.chance(0.5) ? 1 : -1);
    world.lastJumpMs = world.nowMs;
    world.clock.wallMs += ms;
    if (ms < 0) world.passing++;
    world.note(`the database's clock jumps by ${ms} ms`);
  }

  #changeFleet(): void {
    const world = this.#world;
    this.#fleet = changedFleet(this.#dice, this.#fleet, world.clock.wallMs);
    world.lastRosterMs = world.nowMs;
    world.note("setAgents");
    for (const { node, knows } of this.#places) {
      if (node?.phase !== "up" || node.clock.isSuspended) continue;
      node.fleet = this.#fleet.filter(knows);
      try {
        node.scheduler.setAgents(asAgents(node.fleet));
      } catch (error) {
        world.note(`setAgents is refused: ${String(error)}`);
      }
    }
  }
}

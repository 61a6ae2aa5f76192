/** Schedulers in processes of their own that share a schema, what happens to them, and what they leave behind. */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Pool } from "pg";
import { inject } from "vitest";
import type { Agent } from "../../../../src/index.js";
import { migrate, PostgresStore } from "../../../../src/state/postgres/index.js";
import { type Child, Children } from "../../child.js";
import { findBreaches, type History, idleClaimsMs, type Outage, standstills, takeoverMs } from "./oracle.js";
import { sharedPool, unmadeSchema } from "../schema.js";
import { StateWatch } from "./state-watch.js";
import { Witness } from "./witness.js";

export interface HerdOptions {
  readonly agents: readonly Agent[];
  /** @default 2_000 */
  readonly leaseMs?: number;
  /** @default 200 */
  readonly checkInterval?: number;
  /** How long jobs take, at least and at most; or until they are told to. @default [20, 150] */
  readonly jobMs?: readonly [number, number] | "long";
  /** Another server than that of the run. */
  readonly server?: { readonly url: string; readonly pool: Pool };
  /** What the nodes take for the server. */
  readonly storeUrl?: string;
}

export interface NodeOptions {
  readonly jobMs?: HerdOptions["jobMs"];
  readonly agents?: readonly Agent[];
  readonly stopAt?: StopAt;
}

/** The statement of a step, the first or a later one, before it is sent or when its answer has come unseen. */
export interface StopAt {
  readonly step: string;
  readonly when: "before" | "after";
  readonly nth?: number;
  /** A step of which a statement has to have been answered before; until then the statement waits. */
  readonly onceAfter?: string;
  /** @default "SIGSTOP" */
  readonly signal?: "SIGSTOP" | "SIGKILL";
}

export interface HerdNode {
  readonly name: string;
  readonly child: Child;
  readonly stopAt: StopAt | undefined;
}

const isReady = (line: string): boolean => line === "ready";

export class Herd implements AsyncDisposable {
  readonly schema: string;
  readonly witness: Witness;
  readonly watch: StateWatch;
  readonly outages: Outage[] = [];
  /** Outages after which the node went on. */
  readonly stops: Outage[] = [];
  readonly leaseMs: number;
  readonly checkInterval: number;
  readonly #options: HerdOptions;
  readonly #children = new Children();
  readonly #url: string;
  readonly #pool: Pool;
  readonly #running = new Set<HerdNode>();
  #started = 0;

  private constructor(options: HerdOptions, schema: string, url: string, pool: Pool) {
    this.schema = schema;
    this.leaseMs = options.leaseMs ?? 2_000;
    this.checkInterval = options.checkInterval ?? 200;
    this.#options = options;
    this.#url = url;
    this.#pool = pool;
    this.witness = new Witness(pool, schema);
    this.watch = new StateWatch(
      this.witness,
      this.store(),
      options.agents.map(({ name }) => name),
    );
  }

  static async make(options: HerdOptions): Promise<Herd> {
    const { url, pool } = options.server ?? { url: inject("databaseUrl"), pool: sharedPool() };
    const schema = unmadeSchema();
    await migrate(pool, schema);
    await new Witness(pool, schema).make();
    return new Herd(options, schema, url, pool);
  }

  /** Resolves when it works. */
  async add(options: NodeOptions = {}): Promise<HerdNode> {
    const node = this.start(options);
    await node.child.line(isReady);
    return node;
  }

  start(options: NodeOptions = {}): HerdNode {
    const { agents, jobMs = [20, 150], storeUrl = this.#url } = { ...this.#options, ...options };
    const name = `n${++this.#started}`;
    const { schema, leaseMs, checkInterval } = this;
    const config = {
      node: name,
      storeUrl,
      witnessUrl: this.#url,
      schema,
      leaseMs,
      checkInterval,
      agents,
      jobMs,
    };
    const program = fileURLToPath(new URL("../processes/run-node.js", import.meta.url));
    const child = this.#children.start(program, [JSON.stringify({ ...config, stopAt: options.stopAt })]);
    const node = { name, child, stopAt: options.stopAt };
    this.#running.add(node);
    return node;
  }

  get nodes(): readonly HerdNode[] {
    return [...this.#running];
  }

  /** Whether it runs a job. */
  async isBusy({ name }: HerdNode): Promise<boolean> {
    return (await this.witness.runs()).some(({ node, endedMs }) => node === name && endedMs === undefined);
  }

  async kill(node: HerdNode): Promise<Outage> {
    this.#running.delete(node);
    const beforeMs = await this.witness.now();
    await node.child.kill();
    return this.#noteOutage(node, beforeMs);
  }

  /** A node that stands still for a while, at whatever it was doing. */
  async stopFor(node: HerdNode, ms: number): Promise<void> {
    const beforeMs = await this.witness.now();
    node.child.signal("SIGSTOP");
    await setTimeout(ms);
    this.stops.push({ node: node.name, beforeMs, afterMs: await this.witness.now() });
    node.child.signal("SIGCONT");
  }

  /** How long a node has lived since, by its signs of life. */
  async livedMs({ name }: HerdNode, sinceMs: number): Promise<number> {
    const beats = (await this.witness.beats()).filter(({ node, atMs }) => node === name && atMs > sinceMs);
    return (beats.at(-1)?.atMs ?? 0) - (beats[0]?.atMs ?? 0);
  }

  /** Waits for a node that stops or kills itself. */
  async stopped(node: HerdNode): Promise<Outage> {
    await node.child.line((line) => line === "stops");
    if (node.stopAt?.signal === "SIGKILL") {
      this.#running.delete(node);
      await node.child.end();
    }
    return this.#noteOutage(node, await this.witness.now());
  }

  async #noteOutage({ name }: HerdNode, beforeMs: number): Promise<Outage> {
    const outage = { node: name, beforeMs, afterMs: await this.witness.now() };
    this.outages.push(outage);
    return outage;
  }

  /** Lets nodes sign off. */
  async leave(nodes: readonly HerdNode[] = this.nodes): Promise<void> {
    for (const node of nodes) {
      this.#running.delete(node);
      node.child.say("leave");
    }
    await Promise.all(nodes.map(({ child }) => child.end()));
  }

  /** Looks until the condition holds; what ends a wait in vain is the test's own time limit. */
  async until(condition: () => Promise<boolean> | boolean): Promise<void> {
    while (!(await condition())) await setTimeout(50);
  }

  /** Resolves when so many jobs have been started since, by whichever node it is asked of. */
  async untilRuns(count: number, sinceMs = 0, isOf: (node: string) => boolean = () => true): Promise<void> {
    await this.until(
      async () =>
        (await this.witness.runs()).filter(({ node, startedMs }) => isOf(node) && startedMs > sinceMs)
          .length >= count,
    );
  }

  /** To be asked when all nodes have left. */
  async history(untilMs: number): Promise<History> {
    await this.watch.stop();
    await using store = this.store();
    const [runs, beats, records] = await Promise.all([
      this.witness.runs(),
      this.witness.beats(),
      store.jobs.list({ limit: 1_000_000 }),
    ]);
    const outages = [...this.outages, ...this.stops, ...standstills(beats, this.leaseMs)];
    const { seen, looks } = this.watch;
    const capacities = Object.fromEntries(
      this.#options.agents.map(({ name, instances }) => [name, instances?.max_concurrent ?? 1]),
    );
    return { runs, seen, looks, records, outages, capacities, untilMs };
  }

  /** What is broken, when all nodes have left. */
  async breaches(untilMs: number): Promise<string[]> {
    return findBreaches(await this.history(untilMs));
  }

  /** How long slots had to wait because nobody heard of their claims. */
  async idleClaims(): Promise<number[]> {
    return idleClaimsMs({ seen: this.watch.seen, runs: await this.witness.runs() });
  }

  /** How long the claims of nodes outlived them, beyond what the machine itself stood still. */
  async takeovers(outages: readonly Outage[] = this.outages): Promise<number[]> {
    const [runs, beats] = await Promise.all([this.witness.runs(), this.witness.beats()]);
    const { seen, looks } = this.watch;
    return outages.flatMap((outage) => takeoverMs({ seen, looks, runs }, outage, beats, this.leaseMs));
  }

  /** A store that is not open: what the `rota` command has. */
  store(): PostgresStore {
    return new PostgresStore({ pool: this.#pool, schema: this.schema, jobs: { maxJobs: 1_000_000 } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#children[Symbol.asyncDispose]();
    await this.watch[Symbol.asyncDispose]();
  }
}

/** Agents of which some are always due: short intervals and crons of every second, more schedules than may run at once. */
export function busyAgents(count: number): Agent[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `a${index}`,
    instances: { max_concurrent: 2 },
    schedules: {
      often: { type: "interval", interval: "1s" },
      again: { type: "interval", interval: "1s", anchor: "start" },
      sharp: { type: "cron", expression: "* * * * * *" },
      late: { type: "cron", expression: "*/2 * * * * *", missed: "once" },
    },
  }));
}

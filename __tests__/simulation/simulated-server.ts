/**
 * A real server as simulated processes reach it: one statement is carried out at a time, which one next is decided by the
 * seed, and no virtual time passes meanwhile. Statements take their time, fail before or after they had their effect,
 * and those of a process that dies may still be carried out.
 */
import type { Client } from "pg";
import type { PostgresClient, PostgresPool, QueryAnswer } from "../../src/state/postgres/index.js";
import type { Dice } from "./dice.js";
import type { Weather } from "./troubled-store.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

type Query = Parameters<PostgresPool["query"]>[0];

interface Statement {
  readonly query: Query;
  readonly clock: ProcessClock;
  /** When it was sent: the time that goes along with it is of then. */
  readonly sentMs: number;
  readonly answer: (answer: Promise<QueryAnswer>) => void;
}

/** A process that listens. */
interface Listener {
  readonly clock: ProcessClock;
  readonly weather: Weather;
  readonly tell: (payload: string) => void;
  /** What it has not heard yet. */
  waiting: string[];
}

export interface SimulatedServerOptions {
  /** The only connection there is. It listens too, and so hears what a statement tells before that is answered. */
  readonly connection: Client;
  readonly schema: string;
  readonly world: World;
  readonly dice: Dice;
  /** Called after every statement, before who asked has its answer; says whether something was claimed. */
  readonly onCarriedOut: (by: ProcessClock, sentMs: number) => Promise<{ readonly hasClaimed: boolean }>;
}

/** These change nothing, so that nobody has to look. One that does after all is noticed with the next statement. */
const READS = /\.(?:next_due|read|changes|get_job)$/;

export class SimulatedServer {
  readonly #options: SimulatedServerOptions;
  #statements: Statement[] = [];
  #listeners: Listener[] = [];

  constructor(options: SimulatedServerOptions) {
    this.#options = options;
    options.connection.on("notification", ({ channel, payload = "" }) => {
      if (channel === options.schema) this.#hear(payload);
    });
  }

  /** One thing that somebody waits for; `false` when there is nothing left. */
  readonly carryOn = async (): Promise<boolean> => {
    const { dice } = this.#options;
    if (this.#statements.length > 0) {
      const [statement] = this.#statements.splice(dice.whole(0, this.#statements.length - 1), 1);
      if (statement !== undefined) await this.#carryOut(statement);
      return true;
    }
    return this.#tellOne();
  };

  /** For one process, with the weather between it and the server. */
  pool({ clock, weather, onClaiming }: PoolOptions): SimulatedPool {
    return new SimulatedPool(this.#options, {
      clock,
      weather,
      onClaiming,
      ask: (query, sentMs) =>
        new Promise((answer) => this.#statements.push({ query, clock, sentMs, answer })),
      listen: (tell) => {
        const listener: Listener = { clock, weather, tell, waiting: [] };
        this.#listeners.push(listener);
        return () => {
          this.#listeners = this.#listeners.filter((known) => known !== listener);
        };
      },
    });
  }

  async #carryOut({ query, clock, sentMs, answer }: Statement): Promise<void> {
    const { connection, dice, onCarriedOut } = this.#options;
    // Its process died while it was on its way.
    if (clock.isDead && dice.chance(0.5)) return;
    const carriedOut = connection.query(query);
    await carriedOut.catch(() => {});
    const { hasClaimed } = READS.test(query.name ?? "")
      ? { hasClaimed: false }
      : await onCarriedOut(clock, sentMs);
    answer(carriedOut.then(({ rows, rowCount }) => ({ rows, rowCount, hasClaimed })));
  }

  #hear(payload: string): void {
    const { dice, world } = this.#options;
    for (const listener of this.#listeners) {
      if (listener.weather.kind !== "calm" && dice.chance(0.3)) world.note("a notification is lost");
      else listener.waiting.push(payload);
    }
  }

  #tellOne(): boolean {
    this.#listeners = this.#listeners.filter(({ clock }) => !clock.isDead);
    const listener = this.#listeners.find(({ clock, waiting }) => waiting.length > 0 && !clock.isSuspended);
    const payload = listener?.waiting.shift();
    if (payload === undefined) return false;
    listener?.tell(payload);
    return true;
  }
}

export interface PoolOptions {
  readonly clock: ProcessClock;
  readonly weather: Weather;
  /** Called while a claim is made and its process does not know yet. */
  readonly onClaiming: () => void;
}

interface Wire extends PoolOptions {
  readonly ask: (query: Query, sentMs: number) => Promise<QueryAnswer & { readonly hasClaimed?: boolean }>;
  readonly listen: (tell: (payload: string) => void) => () => void;
}

/** The pool of one process. */
export class SimulatedPool implements PostgresPool {
  callsUnderWay = 0;
  /** On the monotonic clock: when a statement last failed, or took its time. */
  lastFaultMs: number = -Infinity;
  lastSlowMs: number = -Infinity;
  readonly #options: SimulatedServerOptions;
  readonly #wire: Wire;

  constructor(options: SimulatedServerOptions, wire: Wire) {
    this.#options = options;
    this.#wire = wire;
  }

  #sessions = 0;

  async query(query: Query): Promise<QueryAnswer> {
    const { clock, weather } = this.#wire;
    if (clock.isDead) return new Promise<never>(() => {});
    const sentMs = clock.monotonic();
    const { beforeMs, afterMs, fails } = weather.draw();
    if (beforeMs > 0) await this.#wait(beforeMs);
    if (fails === "before") throw this.#fault(query, "without effect");
    const answer = await this.#wire.ask(query, sentMs);
    if (clock.isDead) return new Promise<never>(() => {});
    if (afterMs > 0) {
      if (answer.hasClaimed === true) this.#wire.onClaiming();
      await this.#wait(afterMs);
    }
    if (clock.isSuspended) await clock.sleep(0);
    if (fails === "after") throw this.#fault(query, "although it had its effect");
    return answer;
  }

  /** For who listens. What the connection has to say it says by `on`; it never breaks, since it would be made again in real time. */
  async connect(): Promise<PostgresClient> {
    const listeners: ((payload: string) => void)[] = [];
    let release = (): void => {};
    const pid = String(++this.#sessions);
    return {
      query: async ({ text }) => {
        // A connection that is opened asks whether it has a session of its own.
        if (text === "select pg_backend_pid() as pid") return { rows: [{ pid }], rowCount: 1 };
        if (text === "begin" || text === "commit") return { rows: [], rowCount: 0 };
        if (!text.startsWith("listen ")) throw new Error(`Not simulated on a connection of its own: ${text}`);
        release = this.#wire.listen((payload) => {
          for (const hear of listeners) hear(payload);
        });
        return { rows: [], rowCount: 0 };
      },
      on: (event: string, listener: (message: Error & { payload?: string | undefined }) => void) => {
        if (event === "notification")
          listeners.push((payload) => listener(Object.assign(new Error(event), { payload })));
      },
      release: () => release(),
    };
  }

  on(): void {}

  async end(): Promise<void> {}

  async #wait(ms: number): Promise<void> {
    const { world } = this.#options;
    this.callsUnderWay++;
    await this.#wire.clock.sleep(ms);
    this.callsUnderWay--;
    this.lastSlowMs = world.nowMs;
    if (world.store === this) world.lastSlowMs = world.nowMs;
  }

  #fault({ name, text }: Query, how: string): Error {
    const { world, schema } = this.#options;
    this.lastFaultMs = world.nowMs;
    if (world.store === this) world.lastFaultMs = world.nowMs;
    const what = (name ?? text).replaceAll(schema, "…").replaceAll(/\s+/g, " ").slice(0, 40);
    world.note(`the database fails: ${what}, ${how}`);
    return new Error(`Connection terminated unexpectedly, ${how}`);
  }
}

/** States as PostgreSQL keeps them: on a real server, in a schema that each life finds empty. Processes share it. */
import { Client } from "pg";
import type { JobLog } from "../../src/state/job-log/job-log.js";
import type { PostgresPool } from "../../src/state/postgres/index.js";
import { PostgresStore } from "../../src/state/postgres/postgres-store.js";
import type { ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type {
  ClaimToken,
  DefinedSchedule,
  Definitions,
  FinishResult,
  JobFinish,
  ScheduleKey,
  StateStore,
} from "../../src/state/store.js";
import { tableBreaches } from "../state/postgres/table-breaches.js";
import { Dice } from "./dice.js";
import { type SimulatedPool, SimulatedServer } from "./simulated-server.js";
import type { Life, Rota } from "./simulation.js";
import { nameOf, StateMirror } from "./state-mirror.js";
import {
  type BootedStore,
  capacitiesOf,
  type DefinedCapacity,
  type Stores,
  type StateView,
  type WorstMoment,
} from "./stores.js";
import { Weather } from "./troubled-store.js";
import { ProcessClock } from "./virtual-clock.js";

const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

/** A server to simulate on. */
export interface PostgresLives extends AsyncDisposable {
  readonly storesOf: (life: Life) => Promise<PostgresStores>;
}

export async function postgresLives(url: string): Promise<PostgresLives> {
  const connection = new Client({ connectionString: url });
  const observing = new Client({ connectionString: url });
  await Promise.all([connection.connect(), observing.connect()]);
  const schemas = new Map<Rota, string>();
  const schemaOf = async (rota: Rota): Promise<string> => {
    const known = schemas.get(rota);
    if (known !== undefined) return known;
    const schema = `simulation_${process.pid}_${schemas.size}`;
    schemas.set(rota, schema);
    await new rota.PostgresStore({ pool: poolOf(connection), schema, logger: QUIET }).list("nobody");
    await connection.query(`listen "${schema}"`);
    return schema;
  };
  return {
    async storesOf(life) {
      const schema = await schemaOf(life.rota);
      const breaches = await tableBreaches(connection, schema);
      if (breaches.length > 0) throw new Error(`The life before has left: ${breaches.join("; ")}.`);
      await empty(connection, schema);
      connection.removeAllListeners("notification");
      return new PostgresStores(life, { connection, observing, schema });
    },
    async [Symbol.asyncDispose]() {
      for (const schema of schemas.values()) await connection.query(`drop schema "${schema}" cascade`);
      await Promise.all([connection.end(), observing.end()]);
    },
  };
}

/** A connection as somebody who wants a pool has it. */
function poolOf(connection: Client): PostgresPool {
  return {
    query: (query) => connection.query(query),
    connect: async () => ({
      query: (query) => connection.query(query),
      on: () => {},
      release: () => {},
    }),
    on: () => {},
    end: async () => {},
  };
}

/** As it was when it was made: numbers begin anew too, so that the same life has the same ids. */
async function empty(connection: Client, schema: string): Promise<void> {
  const { rows } = await connection.query<{ readonly statement: string }>(
    `select 'truncate ' || string_agg(format('%I.%I', schemaname, tablename), ', ') || ' restart identity cascade' as statement
       from pg_tables where schemaname = $1 and tablename <> 'migrations'
     union all select format('alter sequence %I.%I restart', schemaname, sequencename)
       from pg_sequences where schemaname = $1`,
    [schema],
  );
  for (const { statement } of rows) await connection.query(statement);
}

/** Each takes some real time. */
const MOST_WAKES_AT_ONCE = 200;

interface Place {
  readonly connection: Client;
  readonly observing: Client;
  readonly schema: string;
}

export interface BootedNode extends BootedStore {
  readonly calls: SimulatedPool;
}

export class PostgresStores implements Stores {
  readonly isShared = true;
  readonly mirror: StateMirror;
  readonly #life: Life;
  readonly #schema: string;
  readonly #server: SimulatedServer;
  readonly #observer: PostgresStore;
  /** What is edited from outside goes through a store that no scheduler has. */
  readonly #outsider: PostgresStore;

  constructor(life: Life, { connection, observing, schema }: Place) {
    const { seed, rota, world, witness } = life;
    this.#life = life;
    this.#schema = schema;
    this.#observer = new PostgresStore({ pool: poolOf(observing), schema, logger: QUIET });
    this.mirror = new StateMirror({ observer: this.#observer, world, witness });
    const dice = new Dice(seed, 4);
    this.#server = new SimulatedServer({
      connection,
      schema,
      world,
      dice,
      onCarriedOut: this.mirror.look,
    });
    const clock = new ProcessClock(world.clock);
    this.#outsider = new rota.PostgresStore({
      pool: this.#server.pool({ clock, weather: new Weather(world, dice), onClaiming: () => {} }),
      schema,
      clock,
      logger: QUIET,
    });
    world.clock.carryOn = this.#server.carryOn;
    world.clock.mostWakesAtOnce = MOST_WAKES_AT_ONCE;
  }

  get log(): JobLog {
    return this.#observer.jobs;
  }

  async boot(clock: ProcessClock, onMoment: (moment: WorstMoment) => void): Promise<BootedStore> {
    return this.bootNode(clock, this.#life.weather, () => onMoment("claimed"));
  }

  bootNode(clock: ProcessClock, weather: Weather, onClaiming: () => void): BootedNode {
    const { rota, world } = this.#life;
    const pool = this.#server.pool({ clock, weather, onClaiming });
    const options = { pool, schema: this.#schema, leaseMs: world.leaseMs, clock, logger: QUIET };
    const store = witnessedStore(rota.PostgresStore, options, this.mirror, this.#life);
    return { store, calls: pool, view: this.#viewOf(store, clock) };
  }

  overtake(_store: StateStore): void {}

  check(): void {
    const { world } = this.#life;
    if (world.callsUnderWay > 0) return;
    const { lastFaultMs, lastSlowMs, lastJumpMs, upSinceMs } = world;
    this.mirror.checkLeases(Math.max(lastFaultMs, lastSlowMs, lastJumpMs, upSinceMs));
  }

  #viewOf(store: WitnessedStore, clock: ProcessClock): StateView {
    const { mirror } = this;
    const outsider = this.#outsider;
    return {
      isShared: this.isShared,
      get definitions() {
        return store.definitions;
      },
      jobs: this.#observer.jobs,
      keys: () => mirror.keys(),
      peek: (key) => mirror.stateOf(key),
      stored: (key) => mirror.stateOf(key),
      isLeft: (key) => (mirror.holderOf(key) ?? clock) !== clock,
      async edit(key: ScheduleKey, patch: ScheduleStatePatch) {
        await outsider.update(key, patch);
      },
    };
  }
}

interface WitnessedStore extends StateStore {
  readonly definitions: readonly DefinedCapacity[];
}

/** A store of whose claims the mirror knows how long they last at least. */
function witnessedStore(
  Base: typeof PostgresStore,
  options: ConstructorParameters<typeof PostgresStore>[0] & { readonly clock: ProcessClock },
  mirror: StateMirror,
  { world }: Life,
): WitnessedStore {
  const { clock } = options;
  const requireEnded = (claim: ClaimToken, isHeld: boolean): void => {
    if (isHeld && !mirror.hasEnded(claim.token, clock))
      world.fail("one live claim", `${nameOf(claim)} was said to be completed and was not, or by another`);
  };
  return new (class extends Base {
    definitions: readonly DefinedCapacity[] = [];

    override async define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
      const written = mirror.defining(capacitiesOf(definitions));
      const defined = await super.define(definitions);
      written();
      this.definitions = capacitiesOf(definitions);
      return defined;
    }

    override async renew(claim: ClaimToken): Promise<boolean> {
      const beganMs = world.nowMs;
      const isHeld = await super.renew(claim);
      if (isHeld) mirror.renewed(claim.token, beganMs);
      return isHeld;
    }

    override async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
      const results = await super.finishJobs(ends);
      for (const [index, { claim }] of ends.entries()) requireEnded(claim, results[index]?.claim === "ended");
      return results;
    }
  })(options);
}

/**
 * A database that any number of schedulers share, each a node. Loaded by who uses one: the package `pg` is optional.
 * Whoever only looks makes nothing there, and is told so where there is nothing yet.
 */
import { type Clock, systemClock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import { Database } from "../../state/postgres/connection/database.js";
import { readStates } from "../../state/postgres/rows/fleet-rows.js";
import { listNodes, listOrphans, type NodeRecord } from "../../state/postgres/node/list-nodes.js";
import {
  migrate,
  type Migrated,
  schemaVersion,
  SCHEMA_VERSION,
} from "../../state/postgres/schema/migrate.js";
import { readBytes } from "../../state/postgres/jobs/output-blocks.js";
import { PostgresStore } from "../../state/postgres/postgres-store.js";
import { databaseTime } from "../../state/postgres/connection/database-clock.js";
import { ScheduleMap } from "../../state/schedule-map.js";
import type { DueSlots, ScheduleKey } from "../../state/store.js";
import { checkDatabase } from "../doctor/database.js";
import type { Finding } from "../doctor/finding.js";
import { type CliError, notFoundError, refusedError } from "../errors.js";
import { commandPool, type CommandPool, unreachable } from "./command-pool.js";
import type { DatabaseAddress } from "./database-address.js";
import { leaseNowOf } from "./lease-now.js";
import type {
  FleetStates,
  Guest,
  Home,
  Place,
  ScheduleSet,
  SeenScheduler,
  Settler,
  Visitor,
} from "./state-location.js";

/** A connection that was made, and what the database said of itself. */
export interface Reached extends AsyncDisposable {
  readonly pool: CommandPool;
  readonly database: Database;
  /** 0 where there is no schema. */
  readonly version: number;
  /** Its time when it was reached. */
  readonly now: Date;
}

export class DatabasePlace implements Place {
  readonly #address: DatabaseAddress;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  get name(): string {
    return this.#address.name;
  }

  async visit({ clock, logger }: Visitor): Promise<DatabaseGuest> {
    const reached = await this.reach(logger);
    if (reached.version === SCHEMA_VERSION) return new DatabaseGuest(reached, clock, logger);
    await reached[Symbol.asyncDispose]();
    throw this.#notReady(reached.version);
  }

  async settle({ clock, logger, nodeName, isByHand = false }: Settler): Promise<Home> {
    const reached = await this.reach(logger);
    const Store = isByHand ? ByHandStore : PostgresStore;
    const { schemaName } = reached.database;
    const store = new Store({
      pool: reached.pool,
      schema: schemaName,
      nodeName,
      logger,
      ...givenClock(clock),
    });
    return new DatabaseHome(store, reached, clock);
  }

  examine(clock: Clock): Promise<readonly Finding[]> {
    return checkDatabase(this, clock);
  }

  /** Rejects with what keeps it from being reached, or when it was made by a newer Rota. */
  async reach(logger: Logger): Promise<Reached> {
    const { schema } = this.#address;
    const pool = commandPool(this.#address);
    try {
      const database = new Database({ pool, schema, logger });
      const version = await schemaVersion(database);
      const now = await databaseTime(database);
      return { pool, database, version, now, [Symbol.asyncDispose]: () => pool.end() };
    } catch (error) {
      await pool.end();
      throw unreachable(this.name, error);
    }
  }

  /** Makes the schema, or brings it up to date. */
  async migrate(): Promise<Migrated> {
    // A large table takes as long as it takes.
    const pool = commandPool(this.#address, { query_timeout: 0 });
    try {
      return await migrate(pool, this.#address.schema);
    } catch (error) {
      throw unreachable(this.name, error);
    } finally {
      await pool.end();
    }
  }

  #notReady(version: number): CliError {
    if (version === 0)
      return notFoundError(
        `There is no state in ${this.name} yet: \`rota migrate\` makes its tables, and so does the first \`rota run\``,
      );
    return refusedError(
      `The state in ${this.name} has version ${version}, and this version of Rota needs ${SCHEMA_VERSION}: ` +
        "`rota migrate` brings it up to date",
    );
  }
}

export class DatabaseHome implements Home {
  readonly store: PostgresStore;
  readonly clock: Clock;
  readonly #pool: CommandPool;
  protected readonly database: Database;

  constructor(store: PostgresStore, { pool, database, now }: Reached, clock: Clock) {
    this.store = store;
    this.clock = clock === systemClock ? clockThatShows(now) : clock;
    this.#pool = pool;
    this.database = database;
  }

  states(agents?: readonly string[]): Promise<FleetStates> {
    return readStates(this.database, agents);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await this.#pool.end();
  }
}

/** One who can see the nodes as well. */
export class DatabaseGuest extends DatabaseHome implements Guest {
  readonly #leaseNow: () => string | null;

  constructor(reached: Reached, clock: Clock, logger: Logger) {
    const { pool, database } = reached;
    const store = new PostgresStore({ pool, schema: database.schemaName, logger, ...givenClock(clock) });
    super(store, reached, clock);
    this.#leaseNow = () => leaseNowOf(clock);
  }

  nodes(key?: ScheduleKey): Promise<readonly NodeRecord[]> {
    return listNodes(this.database, { key, leaseNow: this.#leaseNow() });
  }

  async schedulers(key?: ScheduleKey): Promise<readonly SeenScheduler[]> {
    return (await this.nodes(key)).map(({ name, host, pid, startedAt, seenAt, isLate }) => ({
      name,
      host,
      pid,
      since: startedAt,
      seenAt,
      isAlive: !isLate,
    }));
  }

  async orphans(): Promise<ScheduleSet> {
    const found = new ScheduleMap<true>();
    const keys = await listOrphans(this.database, this.clock.now(), this.#leaseNow());
    for (const key of keys) found.set(key, true);
    return { has: (key) => found.get(key) !== undefined };
  }

  output(jobId: string): Promise<Buffer | undefined> {
    return readBytes(this.database, jobId);
  }

  /** A node that lives ends what another has left. */
  async isAbandoned(): Promise<boolean> {
    return (await this.schedulers()).every(({ isAlive }) => !isAlive);
  }
}

/** Claims whose lease has ended are still cleared away: one of them may keep it from what it is told to claim. */
class ByHandStore extends PostgresStore {
  override async claimDue(): Promise<DueSlots> {
    return { ...(await super.claimDue(0)), nextDueAt: undefined };
  }
}

/** The machine's clock is not the one to go by there; any other was given to be gone by. */
function givenClock(clock: Clock): { readonly clock?: Clock } {
  return clock === systemClock ? {} : { clock };
}

/** Goes on from there, however wrong this machine's own clock is. */
function clockThatShows(now: Date): Clock {
  const leadMs = now.getTime() - systemClock.monotonic();
  return { ...systemClock, now: () => new Date(Math.floor(systemClock.monotonic() + leadMs)) };
}

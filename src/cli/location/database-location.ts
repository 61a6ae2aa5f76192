/**
 * A PostgreSQL database that any number of schedulers share, each a node. Imported on demand, because the package `pg`
 * is optional. Connecting creates nothing: a missing schema is an error.
 */
import { type Clock, systemClock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import { Database } from "../../state/postgres/connection/database.js";
import { forgetSchedule } from "../../state/postgres/rows/forget-schedule.js";
import { readStates } from "../../state/postgres/rows/fleet-rows.js";
import {
  listNodes,
  listNodesOfJobs,
  listOrphans,
  type NodeRecord,
} from "../../state/postgres/node/list-nodes.js";
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
  StateConnection,
  OpenState,
  StateLocation,
  ScheduleSet,
  SchedulerProcess,
  OpenOptions,
  ConnectOptions,
} from "./state-location.js";

/** A pool that has connected, with the schema's version and the database's time. */
export interface DatabaseSession extends AsyncDisposable {
  readonly pool: CommandPool;
  readonly database: Database;
  /** 0 without a schema. */
  readonly version: number;
  /** The database's time when the pool connected. */
  readonly now: Date;
}

export class DatabaseLocation implements StateLocation {
  readonly #address: DatabaseAddress;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  get name(): string {
    return this.#address.name;
  }

  async connect({ clock, logger }: ConnectOptions): Promise<DatabaseConnection> {
    const session = await this.openSession(logger);
    if (session.version === SCHEMA_VERSION) return new DatabaseConnection(session, clock, logger);
    await session[Symbol.asyncDispose]();
    throw this.#notReady(session.version);
  }

  async open({ clock, logger, nodeName, jobs, isManualOnly = false }: OpenOptions): Promise<OpenState> {
    const session = await this.openSession(logger);
    const Store = isManualOnly ? ManualOnlyStore : PostgresStore;
    const { schemaName } = session.database;
    const store = new Store({
      pool: session.pool,
      schema: schemaName,
      nodeName,
      logger,
      jobs,
      ...givenClock(clock),
    });
    return new OpenDatabase(store, session, clock);
  }

  check(clock: Clock): Promise<readonly Finding[]> {
    return checkDatabase(this, clock);
  }

  /** Rejects with the reason when the database cannot be reached, or when a newer Rota made its schema. */
  async openSession(logger: Logger): Promise<DatabaseSession> {
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

  /** Creates the schema, or brings it up to date. */
  async migrate(): Promise<Migrated> {
    // No timeout: a migration of a large table may take long.
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
        `There is no state in ${this.name} yet: \`rota migrate\` creates its tables, and so does the first \`rota run\``,
      );
    return refusedError(
      `The state in ${this.name} has version ${version}, and this version of Rota needs ${SCHEMA_VERSION}: ` +
        "`rota migrate` brings it up to date",
    );
  }
}

export class OpenDatabase implements OpenState {
  readonly store: PostgresStore;
  readonly clock: Clock;
  readonly #pool: CommandPool;
  protected readonly database: Database;

  constructor(store: PostgresStore, { pool, database, now }: DatabaseSession, clock: Clock) {
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

export class DatabaseConnection extends OpenDatabase implements StateConnection {
  readonly #leaseNow: () => string | null;

  constructor(session: DatabaseSession, clock: Clock, logger: Logger) {
    const { pool, database } = session;
    const store = new PostgresStore({ pool, schema: database.schemaName, logger, ...givenClock(clock) });
    super(store, session, clock);
    this.#leaseNow = () => leaseNowOf(clock);
  }

  nodes(key?: ScheduleKey): Promise<readonly NodeRecord[]> {
    return listNodes(this.database, { key, leaseNow: this.#leaseNow() });
  }

  async schedulers(key?: ScheduleKey): Promise<readonly SchedulerProcess[]> {
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

  nodesOf(jobIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return listNodesOfJobs(this.database, jobIds);
  }

  forget(key: ScheduleKey): Promise<boolean> {
    return forgetSchedule(this.database, key);
  }

  output(jobId: string): Promise<Buffer | undefined> {
    return readBytes(this.database, jobId);
  }

  /** A live node ends the jobs of dead nodes, so a job is abandoned only while no node lives. */
  async isAbandoned(): Promise<boolean> {
    return (await this.schedulers()).every(({ isAlive }) => !isAlive);
  }
}

/** Claims no due slots. `claimDue` still clears expired claims, because one may block the slot to be triggered. */
class ManualOnlyStore extends PostgresStore {
  override async claimDue(): Promise<DueSlots> {
    return { ...(await super.claimDue(0)), nextDueAt: undefined };
  }
}

/** The database's clock replaces the system clock; a clock that a test passed in stays. */
function givenClock(clock: Clock): { readonly clock?: Clock } {
  return clock === systemClock ? {} : { clock };
}

/** Counts on from the database's time with this machine's monotonic clock, so a wrong wall clock has no effect. */
function clockThatShows(now: Date): Clock {
  const leadMs = now.getTime() - systemClock.monotonic();
  return { ...systemClock, now: () => new Date(Math.floor(systemClock.monotonic() + leadMs)) };
}

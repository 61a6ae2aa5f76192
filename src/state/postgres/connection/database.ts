/**
 * The connection to the database: creates a pool on first use, checks the schema's name, and decides which failures are
 * tried again. The statements are built elsewhere.
 */
import { createHash } from "node:crypto";
import { Client, type ClientConfig, Pool, type PoolConfig } from "pg";
import { messageOf, quote } from "../../../errors.js";
import { isFields } from "../../../fields.js";
import type { Logger } from "../../../logger.js";
import { invalidState, StateError } from "../../errors.js";
import { AS_TEXT, AS_VALUES, type ColumnTypes } from "../rows/column-text.js";
import { beginReadCommitted } from "./isolation.js";

export interface QueryAnswer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rowCount: number | null;
}

/** A statement. A named statement is prepared once per connection. */
export interface Query {
  readonly text: string;
  readonly name?: string | undefined;
  readonly values?: readonly unknown[] | undefined;
  /** Whether all columns of the reply stay text: parsing a large reply would take long. */
  readonly isText?: boolean | undefined;
  /** After this many milliseconds the statement counts as lost. @default the setting of the pool */
  readonly timeoutMs?: number | undefined;
}

/** A query in the form of `pg`. */
export interface PostgresQuery {
  text: string;
  name?: string;
  values?: unknown[];
  query_timeout?: number;
  types?: ColumnTypes;
}

/** The part of a `pg` connection that Rota uses. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<QueryAnswer>;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  release(error?: Error | boolean): void;
  /** Lets the process end while the connection is open. */
  unref?(): void;
}

/** The part of a `pg` `Pool` that Rota uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  query(query: PostgresQuery): Promise<QueryAnswer>;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Emitted when a connection is about to be handed out. */
  on(event: "acquire", listener: (client: PostgresClient) => void): unknown;
  end(): Promise<void>;
  /** The options that the pool was created with. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** Sends statements. */
export interface Statements {
  /** The quoted name of the schema. */
  readonly schema: string;
  readonly query: (query: Query) => Promise<QueryAnswer["rows"]>;
}

export interface DatabaseOptions {
  readonly connectionString?: string | undefined;
  readonly pool?: PostgresPool | undefined;
  readonly schema: string;
  readonly logger: Logger;
  /** Called before the first statement. */
  readonly prepare?: ((database: Database) => Promise<void>) | undefined;
}

const MOST_TRIES = 10;
const heardPools = new WeakSet<PostgresPool>();
const heardClients = new WeakSet<PostgresClient>();
/**
 * One for each statement that may be under way at the same time: the listener, a claim, two writes of ends, and the starts
 * and ends of records. A renewal and the heartbeat must not wait for these.
 */
const MOST_CONNECTIONS = 8;
/** The settings of every pool that Rota creates. */
export const POOL_SETTINGS: Readonly<PoolConfig> = {
  max: MOST_CONNECTIONS,
  allowExitOnIdle: true,
  // A machine that is gone closes no connection: without this a listener or a statement could wait for hours.
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: 30_000,
  // Longer than any statement takes.
  query_timeout: 60_000,
  verify: beginReadCommitted,
};
/** Closes its socket when it fails: `pg` does not, and the open socket would keep the process running. */
export class TidyClient extends Client {
  constructor(config?: ClientConfig | string) {
    super(config);
    this.connection.on("error", () => this.connection.stream.destroy());
  }
}

/** Strict, because the name stands in the text of functions, where quoting does not work for every name. */
const SCHEMA_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
/** An address or the path of a socket, as `pg` accepts them. */
const CONNECTION_STRING = /^(postgres(ql)?:\/\/|socket:|\/)/i;

export class Database implements Statements {
  readonly schema: string;
  readonly schemaName: string;
  readonly #options: DatabaseOptions;
  #pool: PostgresPool | undefined;
  #prepared: Promise<void> | undefined;
  #isPrepared = false;

  constructor(options: DatabaseOptions) {
    const { connectionString, pool, schema } = options;
    if ((connectionString === undefined) === (pool === undefined))
      throw invalidState("A PostgresStore needs a connectionString or a pool, and not both.");
    // The value may contain a password, so the message does not repeat it.
    if (connectionString !== undefined && !isConnectionString(connectionString))
      throw invalidState(
        "Invalid connectionString: expected an address such as postgres://user:password@host:5432/database.",
      );
    if (pool !== undefined && !isPool(pool)) throw invalidState("Invalid pool: expected a Pool of pg.");
    if (!SCHEMA_NAME.test(schema))
      throw invalidState(
        `Invalid schema ${quote(schema)}: expected up to 63 letters, digits and underscores, no digit first.`,
      );
    this.#options = options;
    this.schemaName = schema;
    this.schema = `"${schema}"`;
    if (pool !== undefined) this.#listenTo(pool);
  }

  get pool(): PostgresPool {
    const { pool, connectionString } = this.#options;
    if (pool !== undefined) return pool;
    if (this.#pool === undefined) {
      this.#pool = new Pool({ connectionString, Client: TidyClient, ...POOL_SETTINGS });
      this.#listenTo(this.#pool);
    }
    return this.#pool;
  }

  /**
   * Without an error listener the loss of a connection would end the process. The pool listens only while a connection is
   * idle, and a caller that waits for a connection could begin too late. One listener serves all stores of a pool.
   */
  #listenTo(pool: PostgresPool): void {
    if (heardPools.has(pool)) return;
    heardPools.add(pool);
    const { logger } = this.#options;
    const lost = (error: Error): void => logger.debug?.(`A connection was lost: ${messageOf(error)}`);
    pool.on("error", lost);
    pool.on("acquire", (client) => {
      if (heardClients.has(client)) return;
      heardClients.add(client);
      client.on("error", lost);
    });
  }

  /** Rejects with a StateError. */
  readonly query = async (query: Query): Promise<QueryAnswer["rows"]> => {
    if (!this.#isPrepared) await this.prepare();
    for (let tries = 1; ; tries++) {
      try {
        return await this.send(query);
      } catch (error) {
        // Every statement is a transaction, and this one was rolled back.
        if (!isDeadlock(error) || tries >= MOST_TRIES) throw error;
      }
    }
  };

  /** Prepares the database once; a failed attempt is repeated by the next call. */
  async prepare(): Promise<void> {
    this.#prepared ??= this.#options.prepare?.(this) ?? Promise.resolve();
    const preparing = this.#prepared;
    try {
      await preparing;
      this.#isPrepared = true;
    } catch (error) {
      if (this.#prepared === preparing) this.#prepared = undefined;
      throw error;
    }
  }

  /** As `query`, without preparing the database. */
  async send({ text, name, values = [], isText = false, timeoutMs }: Query): Promise<QueryAnswer["rows"]> {
    const query: PostgresQuery = { text, values: [...values], types: isText ? AS_TEXT : AS_VALUES };
    if (name !== undefined) query.name = name.length <= LONGEST_NAME ? name : shortName(name);
    if (timeoutMs !== undefined) query.query_timeout = timeoutMs;
    try {
      const { rows } = await this.pool.query(query);
      return rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Ends the pool that was created here; a later query creates a new one. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }
}

/** PostgreSQL truncates longer names, so that two statements could have the same name. */
const LONGEST_NAME = 63;

function shortName(name: string): string {
  return createHash("sha256").update(name).digest("base64url");
}

function isConnectionString(value: unknown): boolean {
  return typeof value === "string" && CONNECTION_STRING.test(value);
}

/** A `Client` of `pg` has the same methods, but only one connection. */
function isPool(value: unknown): boolean {
  if (!isFields(value) || "connectionParameters" in value) return false;
  return ["connect", "query", "on", "end"].every((name) => typeof value[name] === "function");
}

export const OWN_SESSION_ADVICE: string =
  "A PostgresStore needs connections that keep their session: connect to the server directly, or to PgBouncer with " +
  "pool_mode = session.";
/** A named statement exists that this connection has not made, or does not exist though it has made it. */
const FOREIGN_SESSION = new Set(["42P05", "26000"]);

/** The database refused a statement or could not be reached. */
export class DatabaseError extends StateError {
  /** The SQLSTATE code; `undefined` when the database could not be reached. */
  readonly sqlState: string | undefined;

  constructor(cause: unknown) {
    const sqlState = sqlStateOf(cause);
    const what = sqlState === undefined ? "Could not reach the database" : "The database refused";
    const advice = FOREIGN_SESSION.has(sqlState ?? "") ? `. ${OWN_SESSION_ADVICE}` : "";
    super(`${what}: ${reasonOf(cause)}${advice}`, { code: "STATE_DATABASE", cause });
    this.sqlState = sqlState;
  }
}
DatabaseError.prototype.name = "DatabaseError";

/** A host with several addresses has an error for each address. */
export function reasonOf(cause: unknown): string {
  return cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : messageOf(cause);
}

export function databaseError(cause: unknown): StateError {
  return cause instanceof StateError ? cause : new DatabaseError(cause);
}

function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.sqlState === "40P01";
}

/** A concurrent write has changed the version of a row, or has inserted it. */
const CONFLICTS = new Set(["40001", "23505"]);

/** Whether a decision should be repeated on the rows as they are now. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && CONFLICTS.has(error.sqlState ?? "");
}

/** Whether the connection was lost during a statement, which may have been carried out. */
export function isLostReply(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const { sqlState } = error;
  return sqlState === undefined || sqlState.startsWith("57P") || sqlState.startsWith("08");
}

function sqlStateOf(error: unknown): string | undefined {
  // Codes of the operating system, such as "EPIPE", can look like an SQLSTATE.
  const isSent = error instanceof Error && "code" in error && !("syscall" in error);
  const code: unknown = isSent ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

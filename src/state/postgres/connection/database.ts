/**
 * The way to the database: a pool that is made when it is first needed, the schema's name in every statement, and
 * which failures are worth another try. What is asked is decided elsewhere.
 */
import { createHash } from "node:crypto";
import { Client, type ClientConfig, Pool, type PoolConfig } from "pg";
import { messageOf, quote } from "../../../errors.js";
import { isFields } from "../../../fields.js";
import type { Logger } from "../../../logger.js";
import { invalidState, StateError } from "../../errors.js";
import { AS_TEXT, AS_VALUES, type ColumnTypes } from "../rows/column-types.js";
import { beginReadCommitted } from "./isolation.js";

export interface QueryAnswer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rowCount: number | null;
}

/** A statement; one with a name is prepared once per connection. */
export interface Query {
  readonly text: string;
  readonly name?: string | undefined;
  readonly values?: readonly unknown[] | undefined;
  /** Whether the answer is wanted as the database writes it: whoever asks for much reads only what is needed of it. */
  readonly isText?: boolean | undefined;
  /** After so many milliseconds it counts as lost. @default what the pool says */
  readonly timeoutMs?: number | undefined;
}

/** As `pg` takes them. */
export interface PostgresQuery {
  text: string;
  name?: string;
  values?: unknown[];
  query_timeout?: number;
  types?: ColumnTypes;
}

/** What is needed of a connection of `pg`. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<QueryAnswer>;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  release(error?: Error | boolean): void;
  /** Lets the process end although it is open. */
  unref?(): void;
}

/** What is needed of a `Pool` of `pg`. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  query(query: PostgresQuery): Promise<QueryAnswer>;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Of a connection that is about to be handed out. */
  on(event: "acquire", listener: (client: PostgresClient) => void): unknown;
  end(): Promise<void>;
  /** As they were given to it. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** Where statements go. */
export interface Statements {
  /** As it stands in their text. */
  readonly schema: string;
  readonly query: (query: Query) => Promise<QueryAnswer["rows"]>;
}

export interface DatabaseOptions {
  readonly connectionString?: string | undefined;
  readonly pool?: PostgresPool | undefined;
  readonly schema: string;
  readonly logger: Logger;
  /** What has to be done before anything can be asked. */
  readonly prepare?: ((database: Database) => Promise<void>) | undefined;
}

const MOST_TRIES = 10;
const heardPools = new WeakSet<PostgresPool>();
const heardClients = new WeakSet<PostgresClient>();
/**
 * Under way at once may be who listens, a claim, two writes of ends, and the starts and ends of records; a renewal and the
 * heartbeat must not wait for any of these.
 */
const MOST_CONNECTIONS = 8;
/** Of every pool that is made here. */
export const POOL_SETTINGS: Readonly<PoolConfig> = {
  max: MOST_CONNECTIONS,
  allowExitOnIdle: true,
  // A machine that is gone says nothing. Whoever listens would hear nothing for hours, and whoever asks would wait.
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: 30_000,
  // Longer than any statement takes that comes to an end.
  query_timeout: 60_000,
  verify: beginReadCommitted,
};
/** One that leaves nothing behind when it fails: `pg` forgets it, and the socket would keep the process while the server waits. */
export class TidyClient extends Client {
  constructor(config?: ClientConfig | string) {
    super(config);
    this.connection.on("error", () => this.connection.stream.destroy());
  }
}

/** It stands in the text of functions, where no quoting would serve every name. */
const SCHEMA_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
/** What `pg` takes: an address, or the path of a socket. */
const CONNECTION_STRING = /^(postgres(ql)?:\/\/|socket:|\/)/i;

export class Database implements Statements {
  readonly schema: string;
  readonly schemaName: string;
  readonly #options: DatabaseOptions;
  #pool: PostgresPool | undefined;
  #prepared: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    const { connectionString, pool, schema } = options;
    if ((connectionString === undefined) === (pool === undefined))
      throw invalidState("A PostgresStore needs a connectionString or a pool, and not both.");
    // What it is may hold a password, and is not repeated.
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
   * Without a listener the end of a connection would end the process. One is enough, of many stores. The pool listens only
   * while nobody has the connection, and whoever waits for it begins too late: it may end in the same moment.
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
    await this.prepare();
    for (let tries = 1; ; tries++) {
      try {
        return await this.send(query);
      } catch (error) {
        // Every statement is a transaction of its own, and this one has had no effect.
        if (!isDeadlock(error) || tries >= MOST_TRIES) throw error;
      }
    }
  };

  /** What was prepared stays so; what could not be is tried again. */
  async prepare(): Promise<void> {
    this.#prepared ??= this.#options.prepare?.(this) ?? Promise.resolve();
    const preparing = this.#prepared;
    try {
      await preparing;
    } catch (error) {
      if (this.#prepared === preparing) this.#prepared = undefined;
      throw error;
    }
  }

  /** As `query`, for who prepares. */
  async send({ text, name, values = [], isText = false, timeoutMs }: Query): Promise<QueryAnswer["rows"]> {
    const query: PostgresQuery = { text, values: [...values], types: isText ? AS_TEXT : AS_VALUES };
    if (name !== undefined) query.name = statementName(name);
    if (timeoutMs !== undefined) query.query_timeout = timeoutMs;
    try {
      const { rows } = await this.pool.query(query);
      return rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Ends the pool that was made here; a later query makes another. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }
}

/** PostgreSQL cuts longer ones, and then two statements may have one name. */
const LONGEST_NAME = 63;

function statementName(name: string): string {
  return name.length <= LONGEST_NAME ? name : createHash("sha256").update(name).digest("base64url");
}

function isConnectionString(value: unknown): boolean {
  return typeof value === "string" && CONNECTION_STRING.test(value);
}

/** A client of `pg` can be asked the same, and has one connection. */
function isPool(value: unknown): boolean {
  if (!isFields(value) || "connectionParameters" in value) return false;
  return ["connect", "query", "on", "end"].every((name) => typeof value[name] === "function");
}

/** The database refused or could not be reached: nothing is known to have changed. */
export class DatabaseError extends StateError {
  /** PostgreSQL's own code; `undefined` when it could not be reached. */
  readonly sqlState: string | undefined;

  constructor(cause: unknown) {
    const sqlState = sqlStateOf(cause);
    const what = sqlState === undefined ? "Could not reach the database" : "The database refused";
    super(`${what}: ${reasonOf(cause)}`, { code: "STATE_DATABASE", cause });
    this.sqlState = sqlState;
  }
}
DatabaseError.prototype.name = "DatabaseError";

/** A host with several addresses is tried at each, and has an error for each. */
export function reasonOf(cause: unknown): string {
  return cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : messageOf(cause);
}

export function databaseError(cause: unknown): StateError {
  return cause instanceof StateError ? cause : new DatabaseError(cause);
}

function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.sqlState === "40P01";
}

/** Another was faster: a row has another version by now, or exists already. */
const CONFLICTS = new Set(["40001", "23505"]);

/** Whether the same decision may come out otherwise when it is taken again on what is there by now. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && CONFLICTS.has(error.sqlState ?? "");
}

/** Whether the connection ended under a statement, which may have had its effect. */
export function isLostReply(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const { sqlState } = error;
  return sqlState === undefined || sqlState.startsWith("57P") || sqlState.startsWith("08");
}

function sqlStateOf(error: unknown): string | undefined {
  // The system's own codes can look alike: "EPIPE".
  const isSent = error instanceof Error && "code" in error && !("syscall" in error);
  const code: unknown = isSent ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

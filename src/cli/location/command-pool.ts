/** Connections for the command, and what to say when there are none: it never waits for long, and tells no password. */
import { type ClientConfig, Pool, type PoolConfig } from "pg";
import { StateError } from "../../state/errors.js";
import {
  DatabaseError,
  POOL_SETTINGS,
  type PostgresPool,
  reasonOf,
  TidyClient,
} from "../../state/postgres/connection/database.js";
import { type CliError, refusedError, usageError } from "../errors.js";
import type { DatabaseAddress } from "./database-address.js";

export type CommandPool = PostgresPool;

export function commandPool({ url, connectMs }: DatabaseAddress, settings: PoolConfig = {}): CommandPool {
  // Of the pool it would also limit how long a statement may wait for its turn.
  class PatientClient extends TidyClient {
    constructor(config?: ClientConfig | string) {
      super(typeof config === "object" ? { ...config, connectionTimeoutMillis: connectMs } : config);
    }
  }
  return new Pool({
    connectionString: url,
    ...POOL_SETTINGS,
    fallback_application_name: "rota",
    Client: PatientClient,
    ...settings,
  });
}

/** What kept somebody from a database, in words that say which. */
export function unreachable(name: string, error: unknown): CliError | StateError {
  if (error instanceof DatabaseError) {
    const { cause } = error;
    return refusedError(`Could not use ${name}: ${reasonInWords(cause)}`, cause);
  }
  if (!(error instanceof StateError))
    return refusedError(`Could not use ${name}: ${reasonInWords(error)}`, error);
  return error.code === "INVALID_STATE" ? usageError(error.message, error) : error;
}

/** As `pg` says that it was asked for one and has none. */
const NO_PASSWORD = /client password must be a (non-empty )?string/;

/** In the driver's words, where those say enough. */
function reasonInWords(cause: unknown): string {
  const reason = reasonOf(cause);
  return NO_PASSWORD.test(reason) ? "the server asks for a password, and the address has none" : reason;
}

/** The command's connection pool, with a connect timeout, and its error messages, which never contain a password. */
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
  // Set for each client: as a setting of the pool it would also limit how long a statement waits for a free client.
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

/** The error to show for a failed connection; it names the database. */
export function unreachable(name: string, error: unknown): CliError | StateError {
  if (error instanceof DatabaseError) {
    const { cause } = error;
    return refusedError(`Could not use ${name}: ${formatReason(cause)}`, cause);
  }
  if (!(error instanceof StateError))
    return refusedError(`Could not use ${name}: ${formatReason(error)}`, error);
  return error.code === "INVALID_STATE" ? usageError(error.message, error) : error;
}

/** The message of `pg` when the server requires a password and the address has none. */
const NO_PASSWORD = /client password must be a (non-empty )?string/;

/** The driver's message, unless Rota has a clearer one. */
function formatReason(cause: unknown): string {
  const reason = reasonOf(cause);
  return NO_PASSWORD.test(reason) ? "the server requires a password, and the address has none" : reason;
}

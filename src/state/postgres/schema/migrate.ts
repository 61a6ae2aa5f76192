/**
 * Brings a schema up to date: numbered migrations, all that are missing in one transaction, under a lock that makes
 * others wait and then find nothing left to do. A schema that is newer than this program is refused.
 */
import { messageOf, quote } from "../../../errors.js";
import { StateError } from "../../errors.js";
import { createClaimFunctions } from "./claim-functions.js";
import { AS_VALUES } from "../rows/column-types.js";
import { Database, databaseError, type PostgresClient, type PostgresPool } from "../connection/database.js";
import { processLogger } from "../../../logger.js";
import { createJobFunctions } from "../jobs/job-rows.js";
import { createLookFunctions } from "./look-functions.js";
import { createTables } from "./tables.js";
import { createWriteFunctions } from "./write-functions.js";

type Migration = (schema: string) => string;

/** In order; a published one is never changed. Its number is its place, from 1. */
const MIGRATIONS: readonly Migration[] = [
  (schema) =>
    createTables(schema) +
    createClaimFunctions(schema) +
    createLookFunctions(schema) +
    createWriteFunctions(schema) +
    createJobFunctions(schema),
];

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** What was done to a schema. A version of 0 is none at all. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** Makes the schema, or brings it up to date; does nothing when it is. Answers from which version to which. */
export async function migrate(pool: PostgresPool, schema = "rota"): Promise<Migrated> {
  return bringDatabaseUpToDate(new Database({ pool, schema, logger: processLogger }));
}

export async function migrateDatabase(database: Database): Promise<void> {
  await bringDatabaseUpToDate(database);
}

async function bringDatabaseUpToDate(database: Database): Promise<Migrated> {
  const upToDate = { from: SCHEMA_VERSION, to: SCHEMA_VERSION };
  if ((await schemaVersion(database)) === SCHEMA_VERSION) return upToDate;
  let client: PostgresClient;
  try {
    client = await database.pool.connect();
  } catch (error) {
    throw databaseError(error);
  }
  let failure: unknown;
  try {
    return { from: await bringUpToDate(client, database), to: SCHEMA_VERSION };
  } catch (error) {
    failure = error;
    throw databaseError(error);
  } finally {
    // A connection in the middle of a transaction is of no use to anybody.
    client.release(failure !== undefined);
  }
}

/** What the schema says of itself; 0 when there is none. Newer than this program is refused, and so is an old server. */
export async function schemaVersion(database: Database): Promise<number> {
  const [answer] = await database.send({
    text: "select to_regclass($1) is not null as found, current_setting('server_version_num') as server",
    values: [`${database.schema}.migrations`],
  });
  checkServer(Number(answer?.["server"]));
  if (answer?.["found"] !== true) return 0;
  const [latest] = await database.send({
    text: `select coalesce(max(number), 0)::int as number from ${database.schema}.migrations`,
  });
  return checkedVersion(Number(latest?.["number"]), database.schemaName);
}

/** Answers the version that it had before. */
async function bringUpToDate(client: PostgresClient, { schema, schemaName }: Database): Promise<number> {
  const run = (text: string, values: unknown[] = []): ReturnType<PostgresClient["query"]> =>
    client.query(values.length > 0 ? { text, values, types: AS_VALUES } : { text, types: AS_VALUES });
  // Whoever had to wait for the lock has to see what was made meanwhile.
  await run("begin isolation level read committed");
  await run("select pg_advisory_xact_lock(hashtext($1), 1)", [schemaName]);
  await run(`create schema if not exists ${schema}`);
  await run(
    `create table if not exists ${schema}.migrations (number integer primary key, made_at timestamptz not null default now())`,
  );
  const { rows } = await run(`select coalesce(max(number), 0)::int as number from ${schema}.migrations`);
  const version = checkedVersion(Number(rows[0]?.["number"]), schemaName);
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < version) continue;
    try {
      await run(migration(schema));
    } catch (error) {
      throw new StateError(
        `Could not bring schema ${quote(schemaName)} to version ${index + 1}: ${messageOf(error)}.`,
        { code: "STATE_DATABASE", cause: error },
      );
    }
    await run(`insert into ${schema}.migrations (number) values ($1)`, [index + 1]);
  }
  await run("commit");
  return version;
}

/** The first that has `get_bit(bytea, bigint)`. */
const OLDEST_SERVER = 14;

function checkServer(version: number): void {
  const major = Math.floor(version / 10_000);
  if (major >= OLDEST_SERVER) return;
  throw new StateError(
    `The server is PostgreSQL ${major}: this version of Rota needs ${OLDEST_SERVER} or newer.`,
    { code: "STATE_DATABASE" },
  );
}

function checkedVersion(version: number, schemaName: string): number {
  if (version <= SCHEMA_VERSION) return version;
  throw new StateError(
    `Schema ${quote(schemaName)} has version ${version}, and this version of Rota knows it up to ${SCHEMA_VERSION}: update Rota.`,
    { code: "STATE_DATABASE" },
  );
}

/**
 * Brings a schema up to date in one transaction, under a lock that other nodes wait for: applies the missing migrations of
 * the tables, then makes all functions anew. A schema that is newer than this program is refused.
 */
import { messageOf, quote } from "../../../errors.js";
import { StateError } from "../../errors.js";
import { createClaimFunctions } from "./claim-functions.js";
import { AS_VALUES } from "../rows/column-text.js";
import { Database, databaseError, type PostgresClient, type PostgresPool } from "../connection/database.js";
import { processLogger } from "../../../logger.js";
import { createJobFunctions } from "../jobs/job-rows.js";
import { MIGRATIONS, RETIRED_FUNCTIONS } from "./migrations.js";
import { createNodeFunctions } from "./node-functions.js";
import { createPauseFunctions } from "./pause-functions.js";
import { createRequestFunctions } from "./request-functions.js";
import { createWriteFunctions } from "./write-functions.js";

export const SCHEMA_VERSION: number = MIGRATIONS.length;

const createFunctions = (schema: string): string =>
  createClaimFunctions(schema) +
  createNodeFunctions(schema) +
  createWriteFunctions(schema) +
  createJobFunctions(schema) +
  createRequestFunctions(schema) +
  createPauseFunctions(schema);

/**
 * Drops the functions of every earlier version, whatever their parameters. By name: the schema may hold functions of the
 * application or of extensions.
 */
const dropFunctions = (schema: string, schemaName: string): string => {
  const created = createFunctions(schema).matchAll(/^create function \S+\.(\w+)\(/gm);
  const names = new Set([...RETIRED_FUNCTIONS, ...Array.from(created, ([, name]) => name ?? "")]);
  return `do $drop$ declare v_function text; begin
  for v_function in select p.oid::regprocedure from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname = '${schemaName}' and p.proname in (${Array.from(names, (name) => `'${name}'`).join(", ")}) loop
    execute 'drop function ' || v_function;
  end loop;
end $drop$;`;
};

/** The versions of a schema before and after a migration; 0 for a schema that did not exist. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** Creates the schema or brings it up to date, and does nothing when it is. Returns both versions. */
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
    // A connection in the middle of a transaction cannot be used again.
    client.release(failure !== undefined);
  }
}

/** The version of the schema; 0 when it does not exist. Throws for a newer schema, and for a server that is too old. */
export async function schemaVersion(database: Database): Promise<number> {
  const [found] = await database.send({
    text: "select to_regclass($1) is not null as found, current_setting('server_version_num') as server",
    values: [`${database.schema}.migrations`],
  });
  checkServer(Number(found?.["server"]));
  if (found?.["found"] !== true) return 0;
  const [latest] = await database.send({
    text: `select coalesce(max(number), 0)::int as number from ${database.schema}.migrations`,
  });
  return checkedVersion(Number(latest?.["number"]), database.schemaName);
}

/** Returns the version before. */
async function bringUpToDate(client: PostgresClient, { schema, schemaName }: Database): Promise<number> {
  const run = (text: string, values: unknown[] = []): ReturnType<PostgresClient["query"]> =>
    client.query(values.length > 0 ? { text, values, types: AS_VALUES } : { text, types: AS_VALUES });
  // A connection that waited for the lock must see what was committed meanwhile.
  await run("begin isolation level read committed");
  await run("select pg_advisory_xact_lock(hashtext($1), 1)", [schemaName]);
  await run(`create schema if not exists ${schema}`);
  await run(
    `create table if not exists ${schema}.migrations (number integer primary key, made_at timestamptz not null default now())`,
  );
  const { rows } = await run(`select coalesce(max(number), 0)::int as number from ${schema}.migrations`);
  const version = checkedVersion(Number(rows[0]?.["number"]), schemaName);
  try {
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index < version) continue;
      await run(migration(schema));
      await run(`insert into ${schema}.migrations (number) values ($1)`, [index + 1]);
    }
    if (version < SCHEMA_VERSION) await run(dropFunctions(schema, schemaName) + createFunctions(schema));
  } catch (error) {
    throw new StateError(
      `Could not bring schema ${quote(schemaName)} from version ${version} to ${SCHEMA_VERSION}: ${messageOf(error)}.`,
      { code: "STATE_DATABASE", cause: error },
    );
  }
  await run("commit");
  return version;
}

/** The first version with `get_bit(bytea, bigint)`. */
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

/**
 * Which database a call uses: of --database-url, then of ROTA_DATABASE_URL, then of the configuration, unless --state-dir is
 * given. DATABASE_URL is not read: it may belong to a different program.
 */
import type { Config } from "../../config/config.js";
import type { Call } from "../command.js";
import { type CliError, refusedError, usageError } from "../errors.js";
import { DATABASE_SCHEMA, DATABASE_URL, STATE_DIR } from "../global-options.js";
import { type DatabaseAddress, databaseAddress } from "./database-address.js";
import type { DatabaseLocation } from "./database-location.js";

const VARIABLE = "ROTA_DATABASE_URL";

/** The database that an option or the environment names. */
export function namedAddress({ context, option }: Call): DatabaseAddress | undefined {
  const [url, schema, stateDir] = [option(DATABASE_URL), option(DATABASE_SCHEMA), option(STATE_DIR)];
  if (url !== undefined && stateDir !== undefined)
    throw usageError(
      `The state has one location: give --${DATABASE_URL.name} or --${STATE_DIR.name}, not both`,
    );
  if (url !== undefined) return databaseAddress(url, `--${DATABASE_URL.name}`, schema);
  if (stateDir !== undefined) {
    if (schema !== undefined) throw needsDatabase(`--${DATABASE_SCHEMA.name}`);
    return undefined;
  }
  const variable = (context.env[VARIABLE] ?? "").trim();
  return variable === "" ? undefined : databaseAddress(variable, VARIABLE, schema);
}

/** The database of the configuration. */
export function configuredAddress(
  { option }: Call,
  { database, files }: Pick<Config, "database" | "files">,
): DatabaseAddress | undefined {
  const schema = option(DATABASE_SCHEMA);
  if (database !== undefined)
    return databaseAddress(
      database.url,
      `database in ${files[0] ?? "the configuration"}`,
      schema ?? database.schema,
    );
  if (schema !== undefined) throw needsDatabase(`--${DATABASE_SCHEMA.name}`);
  return undefined;
}

/** The error for an option that only works with a database; without one, for a command. */
export function needsDatabase(option?: string): CliError {
  const how = `name one with --${DATABASE_URL.name}, ${VARIABLE}, or \`database\` in the configuration`;
  return usageError(`${option ?? "This command"} needs a database: ${how}`);
}

/** Rejects when the package `pg` is not installed. */
export async function openDatabase(address: DatabaseAddress): Promise<DatabaseLocation> {
  try {
    const { DatabaseLocation: Opened } = await import("./database-location.js");
    return new Opened(address);
  } catch (error) {
    if (!isMissingDriver(error)) throw error;
    throw refusedError(`${address.name} needs the package pg: \`npm install pg\` installs it`, error);
  }
}

function isMissingDriver(error: unknown): boolean {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_MODULE_NOT_FOUND" && error instanceof Error && error.message.includes("'pg'");
}

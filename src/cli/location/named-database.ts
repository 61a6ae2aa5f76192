/** Which database a call names: --database-url first, then DATABASE_URL unless --state-dir is given. */
import type { Call } from "../command.js";
import { type CliError, refusedError, usageError } from "../errors.js";
import { DATABASE_SCHEMA, DATABASE_URL, STATE_DIR } from "../global-options.js";
import { type DatabaseAddress, databaseAddress, isPostgresUrl } from "./database-address.js";
import type { DatabaseLocation } from "./database-location.js";

const VARIABLE = "DATABASE_URL";
const FOREIGN_VARIABLE = `${VARIABLE} is set, but is not a PostgreSQL address`;
/** Calls that have printed how they read the variable. */
const noted = new WeakSet<Call>();

/** `undefined` without a database. Prints when the address comes from the environment, where it may serve another program. */
export function namedAddress(call: Call): DatabaseAddress | undefined {
  const { option } = call;
  const [url, schema, stateDir] = [option(DATABASE_URL), option(DATABASE_SCHEMA), option(STATE_DIR)];
  if (url !== undefined && stateDir !== undefined)
    throw usageError(
      `The state has one location: give --${DATABASE_URL.name} or --${STATE_DIR.name}, not both`,
    );
  if (url !== undefined) return databaseAddress(url, `--${DATABASE_URL.name}`, schema);
  const variable = variableOf(call);
  if (!isPostgresUrl(variable)) {
    if (schema === undefined) return undefined;
    throw needsDatabase(call, `--${DATABASE_SCHEMA.name}`);
  }
  const address = databaseAddress(variable, VARIABLE, schema);
  note(call, `Using ${address.name}, from ${VARIABLE}. --${STATE_DIR.name} selects a directory instead.`);
  return address;
}

/** The database of a command that works on databases only. */
export function requiredAddress(call: Call): DatabaseAddress {
  const address = namedAddress(call);
  if (address !== undefined) return address;
  const remedy = `name one with --${DATABASE_URL.name}`;
  throw usageError(
    hasForeignVariable(call)
      ? `This command needs a database: ${remedy}. ${FOREIGN_VARIABLE}`
      : `This command needs a database: ${remedy} or ${VARIABLE}`,
  );
}

/** The error for an option that only works with a database. */
export function needsDatabase(call: Call, option: string): CliError {
  const why = hasForeignVariable(call) ? `. ${FOREIGN_VARIABLE}` : "";
  return usageError(`${option} needs a database: give --${DATABASE_URL.name} too${why}`);
}

/** Prints that a directory is used although DATABASE_URL is set: it may address another kind of database, or have a typo. */
export function warnUnusedVariable(call: Call, directory: string): void {
  if (hasForeignVariable(call)) note(call, `Using ${directory}: ${FOREIGN_VARIABLE}.`);
}

function hasForeignVariable(call: Call): boolean {
  const variable = variableOf(call);
  return variable !== "" && !isPostgresUrl(variable);
}

/** The trimmed variable; empty when --state-dir overrides it. */
function variableOf({ context, option }: Call): string {
  return option(STATE_DIR) === undefined ? (context.env[VARIABLE] ?? "").trim() : "";
}

/** Prints at most one message for each call. */
function note(call: Call, message: string): void {
  if (!noted.has(call)) call.output.message(call.output.paintMessage("dim", message));
  noted.add(call);
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

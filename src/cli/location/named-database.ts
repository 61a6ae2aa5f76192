/** Which database a call names, by an option or by its environment; the option wins, and a state directory too. */
import type { Call } from "../command.js";
import { type CliError, refusedError, usageError } from "../errors.js";
import { DATABASE_SCHEMA, DATABASE_URL, STATE_DIR } from "../global-options.js";
import { type DatabaseAddress, databaseAddress, isPostgresUrl } from "./database-address.js";
import type { DatabasePlace } from "./database-location.js";

const VARIABLE = "DATABASE_URL";
const IS_STRANGE = `${VARIABLE} is set, and is no PostgreSQL address`;
/** Calls that were told already what their environment says. */
const told = new WeakSet<Call>();

/** `undefined` where there is none. What the environment says is said once more: it may have been meant for another. */
export function namedAddress(call: Call): DatabaseAddress | undefined {
  const { option } = call;
  const [url, schema, stateDir] = [option(DATABASE_URL), option(DATABASE_SCHEMA), option(STATE_DIR)];
  if (url !== undefined && stateDir !== undefined)
    throw usageError(
      `The state is in one place: give --${DATABASE_URL.name} or --${STATE_DIR.name}, not both`,
    );
  if (url !== undefined) return databaseAddress(url, `--${DATABASE_URL.name}`, schema);
  const variable = variableOf(call);
  if (!isPostgresUrl(variable)) {
    if (schema === undefined) return undefined;
    throw needsDatabase(call, `--${DATABASE_SCHEMA.name}`);
  }
  const address = databaseAddress(variable, VARIABLE, schema);
  tell(call, `Using ${address.name}, from ${VARIABLE}. --${STATE_DIR.name} uses a directory instead.`);
  return address;
}

/** The database that a call must name. */
export function requiredAddress(call: Call): DatabaseAddress {
  const address = namedAddress(call);
  if (address !== undefined) return address;
  const ask = `say which with --${DATABASE_URL.name}`;
  throw usageError(
    hasStrangeVariable(call)
      ? `This is about a database: ${ask}. ${IS_STRANGE}`
      : `This is about a database: ${ask} or ${VARIABLE}`,
  );
}

/** The error for an option that means nothing without a database. */
export function needsDatabase(call: Call, option: string): CliError {
  const why = hasStrangeVariable(call) ? `. ${IS_STRANGE}` : "";
  return usageError(`${option} goes with a database: give --${DATABASE_URL.name} too${why}`);
}

/** Says that a directory is used all the same: other databases than ours have addresses there too, and so have mistakes. */
export function tellStrangeVariable(call: Call, directory: string): void {
  if (hasStrangeVariable(call)) tell(call, `Using ${directory}: ${IS_STRANGE}.`);
}

function hasStrangeVariable(call: Call): boolean {
  const variable = variableOf(call);
  return variable !== "" && !isPostgresUrl(variable);
}

/** What the environment says, where it is asked. */
function variableOf({ context, option }: Call): string {
  return option(STATE_DIR) === undefined ? (context.env[VARIABLE] ?? "").trim() : "";
}

/** Once in a call. */
function tell(call: Call, words: string): void {
  if (!told.has(call)) call.output.talk(call.output.paintTalk("dim", words));
  told.add(call);
}

/** Rejects where the driver is missing. */
export async function openDatabase(address: DatabaseAddress): Promise<DatabasePlace> {
  try {
    const { DatabasePlace: Opened } = await import("./database-location.js");
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

/** Which database a call names, by an option or by its environment; the option wins, and a state directory too. */
import type { Call } from "../command.js";
import { refusedError, usageError } from "../errors.js";
import { DATABASE_SCHEMA, DATABASE_URL, STATE_DIR } from "../global-options.js";
import { type DatabaseAddress, databaseAddress, isPostgresUrl } from "./database-address.js";
import type { DatabasePlace } from "./database-place.js";

const VARIABLE = "DATABASE_URL";
/** Calls that were told already. */
const told = new WeakSet<Call>();

/** `undefined` where there is none. What the environment says is said once more: it may have been meant for another. */
export function namedAddress(call: Call): DatabaseAddress | undefined {
  const { context, option, output } = call;
  const [url, schema, stateDir] = [option(DATABASE_URL), option(DATABASE_SCHEMA), option(STATE_DIR)];
  if (url !== undefined && stateDir !== undefined)
    throw usageError(
      `The state is in one place: give --${DATABASE_URL.name} or --${STATE_DIR.name}, not both`,
    );
  if (url !== undefined) return databaseAddress(url, `--${DATABASE_URL.name}`, schema);
  const variable = stateDir === undefined ? (context.env[VARIABLE] ?? "") : "";
  // Other databases than ours have addresses there too.
  if (!isPostgresUrl(variable)) {
    if (schema === undefined) return undefined;
    throw usageError(`--${DATABASE_SCHEMA.name} goes with a database: give --${DATABASE_URL.name} too`);
  }
  const address = databaseAddress(variable, VARIABLE, schema);
  if (!told.has(call)) {
    const words = `Using ${address.name}, from ${VARIABLE}. --${STATE_DIR.name} uses a directory instead.`;
    output.talk(output.paintTalk("dim", words));
  }
  told.add(call);
  return address;
}

/** The database that a call must name. */
export function requiredAddress(call: Call): DatabaseAddress {
  const address = namedAddress(call);
  if (address !== undefined) return address;
  throw usageError(`This is about a database: say which with --${DATABASE_URL.name} or ${VARIABLE}`);
}

/** Rejects where the driver is missing. */
export async function openDatabase(address: DatabaseAddress): Promise<DatabasePlace> {
  try {
    const { DatabasePlace: Opened } = await import("./database-place.js");
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

/** Which configuration a command is about, and where the state is: a directory, or a database. */
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../config/config.js";
import { ConfigError } from "../../scheduler/definition/errors.js";
import type { Call } from "../command.js";
import type { CliContext } from "../context.js";
import { type CliError, notFoundError, usageError } from "../errors.js";
import { CONFIG, DATABASE_URL, STATE_DIR } from "../global-options.js";
import { namedAddress, openDatabase, tellStrangeVariable } from "./named-database.js";
import { DirectoryPlace } from "./directory-location.js";
import type { Place } from "./state-location.js";
import { shownPath } from "../format/shown-path.js";

export const CONFIG_NAME = "rota.yaml";
/** Where a scheduler keeps its state that was told nothing. */
const DEFAULT_STATE_DIRECTORY = ".rota";

export interface Located {
  readonly place: Place;
  /** `undefined` where there is only a state. */
  readonly config: Config | undefined;
}

/** The file that `--config` names, else the nearest rota.yaml; `undefined` where there is none. */
export async function findConfig({ context, option }: Call): Promise<string | undefined> {
  const named = option(CONFIG);
  if (named !== undefined) return resolve(context.cwd, named);
  for (let directory = context.cwd; ; directory = dirname(directory)) {
    const file = join(directory, CONFIG_NAME);
    if (await isThere(file, "file")) return file;
    if (dirname(directory) === directory) return undefined;
  }
}

/** Rejects with ConfigError when the configuration is wrong, and with a CliError when there is nothing at all. */
export async function locate(call: Call): Promise<Located> {
  const { context } = call;
  const named = await namedPlace(call);
  const file = await findConfig(call);
  if (file !== undefined) {
    const config = await readConfig(file, context);
    return { config, place: named ?? unnamedPlace(call, config.stateDir) };
  }
  if (named !== undefined) {
    await requireDirectory(call);
    return { config: undefined, place: named };
  }
  const usual = join(context.cwd, DEFAULT_STATE_DIRECTORY);
  if (await isThere(usual, "directory")) return { config: undefined, place: unnamedPlace(call, usual) };
  throw noConfigError(
    context.cwd,
    ` or where the state is with --${STATE_DIR.name} or --${DATABASE_URL.name}`,
  );
}

/** Where the state is, for commands that need nothing else: a wrong configuration keeps nobody from what has happened. */
export async function locateState(call: Call): Promise<Place> {
  const named = await namedPlace(call);
  if (named === undefined) return (await locate(call)).place;
  await requireDirectory(call);
  return named;
}

/** What the call or its environment names; where neither does, the configuration says where the state is. */
export async function namedPlace(call: Call): Promise<Place | undefined> {
  const address = namedAddress(call);
  if (address !== undefined) return openDatabase(address);
  const directory = namedDirectory(call);
  return directory === undefined ? undefined : new DirectoryPlace(directory);
}

/** The directory where the state is when nobody named a place. */
export function unnamedPlace(call: Call, stateDir: string): Place {
  const place = new DirectoryPlace(stateDir);
  tellStrangeVariable(call, place.name);
  return place;
}

function namedDirectory({ context, option }: Call): string | undefined {
  const named = option(STATE_DIR);
  return named === undefined ? undefined : resolve(context.cwd, named);
}

/** The configuration, where there is one without problems. */
export async function configOf(call: Call): Promise<Config | undefined> {
  try {
    return (await locate(call)).config;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** A directory that is named has to be there. */
async function requireDirectory(call: Call): Promise<void> {
  const stateDir = namedDirectory(call);
  if (stateDir === undefined || (await isThere(stateDir, "directory"))) return;
  throw notFoundError(`There is no state directory ${stateDir}: check --${STATE_DIR.name}`);
}

export async function readConfig(file: string, { env }: CliContext): Promise<Config> {
  // Takes a third of a second to load, which who asks for help or completion need not wait for.
  const { loadConfig } = await import("../../config/load-config.js");
  return loadConfig(shownPath(file), { env });
}

/** For commands that need one; `more`: what else would help. */
export function noConfigError(directory: string, more = ""): CliError {
  return usageError(
    `There is no ${CONFIG_NAME} in ${directory} or above it: make one with \`rota init\`, ` +
      `or say where it is with --${CONFIG.name}${more}`,
  );
}

async function isThere(path: string, kind: "directory" | "file"): Promise<boolean> {
  try {
    const stats = await stat(path);
    return kind === "file" ? stats.isFile() : stats.isDirectory();
  } catch {
    return false;
  }
}

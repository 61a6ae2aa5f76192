/** Finds the configuration and the state location of a call: a directory, or a database. */
import type { HostKeys } from "../../scheduler/definition/host-keys.js";
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../config/config.js";
import { ConfigError } from "../../scheduler/definition/errors.js";
import type { Call } from "../command.js";
import type { CliContext } from "../context.js";
import { type CliError, notFoundError, usageError } from "../errors.js";
import { CONFIG, DATABASE_URL, STATE_DIR } from "../global-options.js";
import type { DatabaseLocation } from "./database-location.js";
import { configuredAddress, namedAddress, needsDatabase, openDatabase } from "./named-database.js";
import { DirectoryLocation } from "./directory-location.js";
import type { StateLocation } from "./state-location.js";
import { shownPath } from "../format/shown-path.js";

export const CONFIG_NAME = "rota.yaml";
/** A scheduler's state directory without any setting. */
const DEFAULT_STATE_DIRECTORY = ".rota";
const NO_DATABASE = { database: undefined, files: [] } as const;

export interface LocatedFleet {
  readonly location: StateLocation;
  /** `undefined` when only a state exists. */
  readonly config: Config | undefined;
}

/** The file that `--config` names, else the nearest rota.yaml; `undefined` without one. */
export async function findConfig({ context, option }: Call): Promise<string | undefined> {
  const named = option(CONFIG);
  if (named !== undefined) return resolve(context.cwd, named);
  for (let directory = context.cwd; ; directory = dirname(directory)) {
    const file = join(directory, CONFIG_NAME);
    if (await isThere(file, "file")) return file;
    if (dirname(directory) === directory) return undefined;
  }
}

/** Rejects with ConfigError for an invalid configuration, and with a CliError when neither configuration nor state exists. */
export async function locate(call: Call): Promise<LocatedFleet> {
  const { context } = call;
  const named = await namedLocation(call);
  const file = await findConfig(call);
  if (file !== undefined) {
    const config = await readConfig(file, context);
    return { config, location: named ?? (await configuredLocation(call, config)) };
  }
  if (named !== undefined) {
    await requireDirectory(call);
    return { config: undefined, location: named };
  }
  const usual = join(context.cwd, DEFAULT_STATE_DIRECTORY);
  if (await isThere(usual, "directory"))
    return {
      config: undefined,
      location: await configuredLocation(call, { ...NO_DATABASE, stateDir: usual }),
    };
  throw noConfigError(context.cwd, `, or name the state with --${STATE_DIR.name} or --${DATABASE_URL.name}`);
}

/** The state's location alone. A named location works even when the configuration is invalid. */
export async function locateState(call: Call): Promise<StateLocation> {
  const named = await namedLocation(call);
  if (named === undefined) {
    try {
      return (await locate(call)).location;
    } catch (error) {
      if (error instanceof ConfigError)
        call.output.message(
          `This command works without the configuration: name the state with --${STATE_DIR.name} or --${DATABASE_URL.name}.`,
        );
      throw error;
    }
  }
  await requireDirectory(call);
  return named;
}

/** The location that options or the environment name; `undefined` leaves it to the configuration. */
export async function namedLocation(call: Call): Promise<StateLocation | undefined> {
  const address = namedAddress(call);
  if (address !== undefined) return openDatabase(address);
  const directory = namedDirectory(call);
  return directory === undefined ? undefined : new DirectoryLocation(directory);
}

/** The location when neither options nor the environment name one. */
export async function configuredLocation(
  call: Call,
  config: Pick<Config, "database" | "files" | "stateDir">,
): Promise<StateLocation> {
  const address = configuredAddress(call, config);
  return address === undefined ? new DirectoryLocation(config.stateDir) : openDatabase(address);
}

/** The database of a command that works on databases only. */
export async function requiredDatabase(call: Call): Promise<DatabaseLocation> {
  const file = await findConfig(call);
  const address =
    namedAddress(call) ??
    (file === undefined ? undefined : configuredAddress(call, await readConfig(file, call.context)));
  if (address === undefined) throw needsDatabase();
  return openDatabase(address);
}

function namedDirectory({ context, option }: Call): string | undefined {
  const named = option(STATE_DIR);
  return named === undefined ? undefined : resolve(context.cwd, named);
}

/** The configuration; `undefined` when it is invalid or only a state exists. */
export async function configOf(call: Call): Promise<Config | undefined> {
  try {
    return (await locate(call)).config;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Rejects with NOT_FOUND when --state-dir names a directory that does not exist. */
async function requireDirectory(call: Call): Promise<void> {
  const stateDir = namedDirectory(call);
  if (stateDir === undefined || (await isThere(stateDir, "directory"))) return;
  throw notFoundError(`There is no state directory ${stateDir}: check --${STATE_DIR.name}`);
}

/** The command line has no function and no agent SDK: an agent that it runs needs a runtime of its own. */
export const RUNNERS: HostKeys["runners"] = { hasSdkQuery: false };

/** `host`: what is checked beyond the keys. A command beside a program that runs the fleet leaves it out. */
export async function readConfig(
  file: string,
  { env }: CliContext,
  host: Pick<HostKeys, "runners"> = {},
): Promise<Config> {
  // Imported on demand: loading takes a third of a second, which help and completion do not need.
  const { loadConfig } = await import("../../config/load-config.js");
  return loadConfig(shownPath(file), { env, ...host });
}

/** For commands that need a configuration; `more`: a further remedy. */
export function noConfigError(directory: string, more = ""): CliError {
  return usageError(
    `There is no ${CONFIG_NAME} in ${directory} or above it: create one with \`rota init\`, ` +
      `or name one with --${CONFIG.name}${more}`,
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

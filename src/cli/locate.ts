/** Which configuration and which state directory a command is about. */
import { stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { Config } from "../config/config.js";
import { ConfigError } from "../config/errors.js";
import type { Call } from "./command.js";
import type { CliContext } from "./context.js";
import { type CliError, notFoundError, usageError } from "./errors.js";
import { CONFIG, STATE_DIR } from "./global-options.js";

export const CONFIG_NAME = "rota.yaml";
/** Where a scheduler keeps its state that was told nothing. */
const DEFAULT_STATE_DIRECTORY = ".rota";

export interface Place {
  readonly stateDir: string;
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
export async function locate(call: Call): Promise<Place> {
  const { context, option } = call;
  const named = option(STATE_DIR);
  const stateDir = named === undefined ? undefined : resolve(context.cwd, named);
  const file = await findConfig(call);
  if (file !== undefined) {
    const config = await readConfig(file, context);
    return { config, stateDir: stateDir ?? config.stateDir };
  }
  if (stateDir !== undefined) {
    await requireDirectory(stateDir);
    return { config: undefined, stateDir };
  }
  const usual = join(context.cwd, DEFAULT_STATE_DIRECTORY);
  if (await isThere(usual, "directory")) return { config: undefined, stateDir: usual };
  throw noConfigError(context.cwd);
}

/** Where the state is, for commands that need nothing else: a wrong configuration keeps nobody from what has happened. */
export async function locateState(call: Call): Promise<string> {
  const named = call.option(STATE_DIR);
  if (named === undefined) return (await locate(call)).stateDir;
  const stateDir = resolve(call.context.cwd, named);
  await requireDirectory(stateDir);
  return stateDir;
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

async function requireDirectory(stateDir: string): Promise<void> {
  if (await isThere(stateDir, "directory")) return;
  throw notFoundError(`There is no state directory ${stateDir}: check --${STATE_DIR.name}`);
}

export async function readConfig(file: string, { env }: CliContext): Promise<Config> {
  // Takes a third of a second to load, which who asks for help or completion need not wait for.
  const { loadConfig } = await import("../config/load-config.js");
  return loadConfig(shownPath(file), { env });
}

/** As short as it can be said from here, which is how compilers say it. */
export function shownPath(file: string): string {
  const way = relative("", file);
  return way === "" || way.startsWith("..") ? file : way;
}

export function noConfigError(directory: string): CliError {
  return usageError(
    `There is no ${CONFIG_NAME} in ${directory} or above it: make one with \`rota init\`, ` +
      `or say where it is with --${CONFIG.name} or where the state is with --${STATE_DIR.name}`,
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

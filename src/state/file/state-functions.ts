/**
 * Schedule state without a scheduler: functions that work from any process, also beside one that runs.
 * In one process all calls for a directory share one store, so that what they know is read once and written together.
 */
import { basename, dirname, join, resolve } from "node:path";
import { type Logger, processLogger } from "../../logger.js";
import { FileStore } from "./file-store.js";
import type { FleetState } from "./fleet-state.js";
import type { ScheduleState, ScheduleStatePatch } from "../schedule-state.js";

export interface StateFunctionOptions {
  /**
   * Told about damage in the file.
   * @default Node's process warnings
   */
  readonly logger?: Logger | undefined;
}

/** What is known of a schedule; the state of one that never ran when nothing is. */
export function getScheduleState(
  stateDir: string,
  agent: string,
  schedule: string,
  options: StateFunctionOptions = {},
): Promise<ScheduleState> {
  return withStore(join(stateDir, STATE_FILE), options, (store) => store.read({ agent, schedule }));
}

/** Changes the keys that `updates` names and answers the whole state. Durable when it resolves. */
export function updateScheduleState(
  stateDir: string,
  agent: string,
  schedule: string,
  updates: ScheduleStatePatch,
  options: StateFunctionOptions = {},
): Promise<ScheduleState> {
  return withStore(join(stateDir, STATE_FILE), options, (store) =>
    store.update({ agent, schedule }, updates),
  );
}

/** The states of an agent's schedules, by name. */
export function getAgentScheduleStates(
  stateDir: string,
  agent: string,
  options: StateFunctionOptions = {},
): Promise<Record<string, ScheduleState>> {
  return withStore(join(stateDir, STATE_FILE), options, async (store) =>
    Object.fromEntries(await store.list(agent)),
  );
}

/** Everything that the state file at `path` says. */
export function readFleetState(path: string, options: StateFunctionOptions = {}): Promise<FleetState> {
  return withStore(path, options, (store) => store.readFleet());
}

/** Puts `state` in the place of everything that the state file at `path` says. Durable when it resolves. */
export function writeFleetState(
  path: string,
  state: FleetState,
  options: StateFunctionOptions = {},
): Promise<void> {
  return withStore(path, options, (store) => store.writeFleet(state));
}

const STATE_FILE = "state.yaml";
/** Each remembers a whole file, so the oldest has to go. */
const MOST_STORES = 16;

interface SharedStore {
  readonly store: FileStore;
  /** The loggers of the calls under way. */
  readonly loggers: Logger[];
}

/** By the path of their file, the oldest first. */
const stores = new Map<string, SharedStore>();

async function withStore<T>(
  path: string,
  { logger = processLogger }: StateFunctionOptions,
  use: (store: FileStore) => Promise<T>,
): Promise<T> {
  const { store, loggers } = sharedStore(resolve(path));
  loggers.push(logger);
  try {
    return await use(store);
  } finally {
    loggers.splice(loggers.indexOf(logger), 1);
    // Nobody closes these stores, so none may hold on to a file while nobody uses it.
    if (loggers.length === 0) await store.rest();
  }
}

function sharedStore(path: string): SharedStore {
  const known = stores.get(path);
  if (known !== undefined) return known;
  for (const oldest of stores.keys()) {
    if (stores.size < MOST_STORES) break;
    stores.delete(oldest);
  }
  const shared = newStore(path);
  stores.set(path, shared);
  return shared;
}

function newStore(path: string): SharedStore {
  const loggers: Logger[] = [];
  const tellAll =
    (level: keyof Logger) =>
    (message: string): void => {
      for (const logger of new Set(loggers)) logger[level]?.(message);
    };
  const logger: Logger = {
    debug: tellAll("debug"),
    info: tellAll("info"),
    warn: tellAll("warn"),
    error: tellAll("error"),
  };
  return { store: new FileStore({ stateDir: dirname(path), fileName: basename(path), logger }), loggers };
}

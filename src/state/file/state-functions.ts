/**
 * Schedule state without a scheduler: functions that work from any process, also beside one that runs.
 * In one process all calls for a directory share one store, so that what they know is read once and written together.
 */
import { basename, dirname, join } from "node:path";
import { type Logger, processLogger } from "../../logger.js";
import type { FileStore } from "./file-store.js";
import { SharedStores } from "./shared-stores.js";
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
/** Each of these stores keeps a whole file in memory, so their number is limited. */
const stores = new SharedStores({ kept: 16 });

function withStore<Result>(
  path: string,
  { logger = processLogger }: StateFunctionOptions,
  act: (store: FileStore) => Promise<Result>,
): Promise<Result> {
  return stores.use({ stateDir: dirname(path), fileName: basename(path) }, logger, act);
}

/** The differences between two configurations. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { Agent } from "../../scheduler/agent.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Config } from "../config.js";

export interface ConfigChanges {
  /** Names. A changed agent is in both configurations, and any of its values differs, schedules included. */
  readonly agents: Differences<string>;
  /** The schedules of the agents that are in both. */
  readonly schedules: Differences<ScheduleKey>;
  /** Options of the scheduler's constructor: they take effect when the scheduler is created anew. */
  readonly options: readonly ConfigOption[];
}

export interface Differences<Item> {
  readonly added: readonly Item[];
  readonly removed: readonly Item[];
  readonly changed: readonly Item[];
}

export type ConfigOption =
  | "checkInterval"
  | "database"
  | "jitterPercent"
  | "jobs"
  | "maxConcurrent"
  | "stateDir"
  | "timezone";

const OPTIONS: readonly ConfigOption[] = [
  "checkInterval",
  "database",
  "jitterPercent",
  "jobs",
  "maxConcurrent",
  "stateDir",
  "timezone",
];

/** `undefined` without differences. */
export function configChanges(before: Config, after: Config): ConfigChanges | undefined {
  const old = byName(before.agents);
  const now = byName(after.agents);
  const agents = differences(old, now);
  const schedules = agents.changed.map((agent) => {
    const own = differences(schedulesOf(old.get(agent)), schedulesOf(now.get(agent)));
    const keys = (names: readonly string[]): ScheduleKey[] => names.map((schedule) => ({ agent, schedule }));
    return { added: keys(own.added), removed: keys(own.removed), changed: keys(own.changed) };
  });
  const options = OPTIONS.filter((option) => !isDeepStrictEqual(before[option], after[option]));
  const isSame = [agents.added, agents.removed, agents.changed, options].every(({ length }) => length === 0);
  if (isSame) return undefined;
  return {
    agents,
    schedules: {
      added: schedules.flatMap(({ added }) => added),
      removed: schedules.flatMap(({ removed }) => removed),
      changed: schedules.flatMap(({ changed }) => changed),
    },
    options,
  };
}

function differences(
  old: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
): Differences<string> {
  const added = [...now.keys()].filter((name) => !old.has(name));
  const removed = [...old.keys()].filter((name) => !now.has(name));
  const both = [...now.keys()].filter((name) => old.has(name));
  return { added, removed, changed: both.filter((name) => !isDeepStrictEqual(old.get(name), now.get(name))) };
}

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  return new Map(agents.map((agent) => [agent.name, agent]));
}

function schedulesOf(agent: Agent | undefined): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(agent?.schedules ?? {}));
}

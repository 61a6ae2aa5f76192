/** The changes of a reloaded configuration, in one sentence. Pure. */
import type { ConfigChanges, ConfigOption, Differences } from "../../config/watch/config-changes.js";
import { nameOf } from "../fleet/fleet.js";
import { shortList } from "./counted.js";
import { oneLine } from "./text-width.js";

const OPTION_KEYS: Readonly<Record<ConfigOption, string>> = {
  checkInterval: "check_interval",
  database: "database",
  jitterPercent: "jitter",
  jobs: "jobs",
  maxConcurrent: "max_concurrent",
  stateDir: "state_dir",
  timezone: "timezone",
};
/** More names would not help the reader. */
const MOST_NAMES = 8;

/** "added agent inbox; changed schedule reports/hourly"; options that need a restart are marked. */
export function formatChanges({ agents, schedules, options }: ConfigChanges): string {
  // Changed schedules are listed instead of their agent.
  const withSchedules = new Set(
    [...schedules.added, ...schedules.removed, ...schedules.changed].map(({ agent }) => agent),
  );
  const changed = agents.changed.filter((agent) => !withSchedules.has(agent));
  const parts = [
    ...formatDifferences("agent", { ...agents, changed }),
    ...formatDifferences("schedule", {
      added: schedules.added.map(nameOf),
      removed: schedules.removed.map(nameOf),
      changed: schedules.changed.map(nameOf),
    }),
  ];
  if (options.length > 0)
    parts.push(
      `changed ${options.map((one) => OPTION_KEYS[one]).join(", ")}, in effect from the next start on`,
    );
  return parts.length === 0 ? "nothing changed" : parts.join("; ");
}

function formatDifferences(what: string, differences: Differences<string>): string[] {
  const kinds = ["added", "removed", "changed"] as const;
  return kinds.flatMap((kind) => {
    const names = differences[kind];
    if (names.length === 0) return [];
    return [`${kind} ${what}${names.length === 1 ? "" : "s"} ${shortList(names.map(oneLine), MOST_NAMES)}`];
  });
}

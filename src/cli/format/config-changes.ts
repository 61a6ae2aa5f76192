/** What is different in a configuration that was read again, in one sentence. Pure. */
import type { ConfigChanges, ConfigOption, Differences } from "../../config/watch/config-changes.js";
import { nameOf } from "../fleet/fleet.js";
import { oneLine } from "./text-width.js";

const OPTION_KEYS: Readonly<Record<ConfigOption, string>> = {
  checkInterval: "check_interval",
  jitterPercent: "jitter",
  maxConcurrent: "max_concurrent",
  stateDir: "state_dir",
  timezone: "timezone",
};
/** Beyond so many names a list helps nobody. */
const MOST_NAMES = 8;

/** "added agent inbox; changed schedule reports/hourly"; what waits for the next start is said to. */
export function changesInWords({ agents, schedules, options }: ConfigChanges): string {
  // Of an agent whose schedules changed, those say more than its name.
  const told = new Set(
    [...schedules.added, ...schedules.removed, ...schedules.changed].map(({ agent }) => agent),
  );
  const others = agents.changed.filter((agent) => !told.has(agent));
  const parts = [
    ...inWords("agent", { ...agents, changed: others }),
    ...inWords("schedule", {
      added: schedules.added.map(nameOf),
      removed: schedules.removed.map(nameOf),
      changed: schedules.changed.map(nameOf),
    }),
  ];
  if (options.length > 0)
    parts.push(`${options.map((one) => OPTION_KEYS[one]).join(", ")} from the next start on`);
  return parts.length === 0 ? "nothing has changed" : parts.join("; ");
}

function inWords(what: string, differences: Differences<string>): string[] {
  const kinds = ["added", "removed", "changed"] as const;
  return kinds.flatMap((kind) => {
    const names = differences[kind];
    if (names.length === 0) return [];
    const shown = names.slice(0, MOST_NAMES).map(oneLine).join(", ");
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
    return [`${kind} ${what}${names.length === 1 ? "" : "s"} ${shown}${more}`];
  });
}

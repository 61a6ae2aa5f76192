/** The schedulers that run a fleet, as people are told of them. Pure. */
import type { SeenScheduler } from "../location/state-location.js";
import { oneLine } from "./text-width.js";
import { relativeTime } from "./when.js";

/** Beyond so many names a list helps nobody. */
const MOST_NAMES = 5;

/** "process 7 on host"; with its name, where it was given one. */
export function schedulerInWords({ name, pid, host }: SeenScheduler): string {
  const process = `process ${pid} on ${oneLine(host)}`;
  return name === undefined || name === `${host}:${pid}` ? process : `${oneLine(name)}, ${process}`;
}

/** Who of them lives: "Scheduler: process 7 on host, started 5m ago". `undefined` where none does. */
export function livingInWords(schedulers: readonly SeenScheduler[], now: Date): string | undefined {
  const living = schedulers.filter(({ isAlive }) => isAlive);
  const [only, ...others] = living;
  if (only === undefined) return undefined;
  if (others.length === 0) {
    const since = only.since === undefined ? "" : `, started ${relativeTime(only.since, now)}`;
    return `Scheduler: ${schedulerInWords(only)}${since}`;
  }
  const names = living.slice(0, MOST_NAMES).map(({ name, host, pid }) => oneLine(name ?? `${host}:${pid}`));
  const more = living.length > MOST_NAMES ? ` and ${living.length - MOST_NAMES} more` : "";
  return `${living.length} schedulers: ${names.join(", ")}${more}`;
}

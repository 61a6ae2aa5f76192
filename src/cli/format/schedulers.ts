/** Names of the schedulers that run a fleet, for messages. Pure. */
import type { SchedulerProcess } from "../location/state-location.js";
import { shortList } from "./counted.js";
import { oneLine } from "./text-width.js";
import { relativeTime } from "./when.js";

/** More names would not help the reader. */
const MOST_NAMES = 5;

/** "process 7 on host", with the node's name in front unless it is the default. */
export function formatScheduler({ name, pid, host }: SchedulerProcess): string {
  const process = `process ${pid} on ${oneLine(host)}`;
  return name === undefined || name === `${host}:${pid}` ? process : `${oneLine(name)}, ${process}`;
}

/** "Scheduler: process 7 on host, started 5m ago"; `undefined` without a live scheduler. */
export function formatLiveSchedulers(schedulers: readonly SchedulerProcess[], now: Date): string | undefined {
  const living = schedulers.filter(({ isAlive }) => isAlive);
  const [only, ...others] = living;
  if (only === undefined) return undefined;
  if (others.length === 0) {
    const since = only.since === undefined ? "" : `, started ${relativeTime(only.since, now)}`;
    return `Scheduler: ${formatScheduler(only)}${since}`;
  }
  const names = living.map(({ name, host, pid }) => oneLine(name ?? `${host}:${pid}`));
  return `${living.length} schedulers: ${shortList(names, MOST_NAMES)}`;
}

/** The messages of `rota run`: started, stopping, stopped. Pure. */
import type { Config } from "../../config/config.js";
import { counted, shortList } from "./counted.js";
import { oneLine } from "./text-width.js";
import { shortDuration } from "./when.js";
import type { RunView } from "../run/run-model.js";

/** More names would not help the reader. */
const MOST_JOBS = 5;

export function runningMessage({ agents }: Config, file: string, location: string): string {
  const schedules = agents.reduce((sum, agent) => sum + Object.keys(agent.schedules ?? {}).length, 0);
  const what = `${counted(agents.length, "agent")} with ${counted(schedules, "schedule")}`;
  return `Running ${what} from ${file}, state in ${location}. Ctrl-C stops.`;
}

/** `endedCount`: how many of the jobs have ended but are not recorded yet. */
export function stoppingMessage(
  { running }: RunView,
  endedCount: number,
  reason: string,
  timeoutMs: number,
): string {
  if (running.size === 0) return `Stopping after ${reason}: no job is running.`;
  const names = Array.from(running, ([name, { jobId }]) => `${oneLine(name)} (${jobId})`);
  const wait = `waiting up to ${shortDuration(timeoutMs)} for ${waitedFor(running.size, endedCount)}`;
  return `Stopping after ${reason}, ${wait}: ${shortList(names, MOST_JOBS)}. A second signal exits immediately.`;
}

function waitedFor(count: number, endedCount: number): string {
  const jobs = counted(count, "job");
  if (endedCount === 0) return jobs;
  return endedCount < count
    ? `${jobs}, ${endedCount} ended but not recorded yet`
    : `the end of ${jobs} to be recorded`;
}

export function stopTimeoutMessage({ running }: RunView, timeoutMs: number): string {
  const jobs = counted(running.size, "job");
  return `${jobs} did not end within ${shortDuration(timeoutMs)}: cancelling and waiting for the end.`;
}

/** `isShared`: whether other schedulers may take over; they do so when this one's leases expire. */
export function forcedExitMessage({ running }: RunView, isShared: boolean): string {
  if (running.size === 0) return "Exiting immediately.";
  const [them, leases] = running.size === 1 ? ["it", "its lease expires"] : ["them", "their leases expire"];
  const next = isShared
    ? `A running scheduler records ${them} as interrupted when ${leases}.`
    : `The next start records ${them} as interrupted.`;
  return `Exiting immediately: cancelled ${counted(running.size, "job")}. ${next}`;
}

export function stoppedMessage({ finishedCount, failedCount, startedMs }: RunView, nowMs: number): string {
  return `Stopped after ${shortDuration(nowMs - startedMs)}: ${counted(finishedCount, "job")} done, ${failedCount} failed.`;
}

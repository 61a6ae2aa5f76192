/** What a run says of itself to the person who watches: that it runs, what it waits for, how it was. Pure. */
import type { Config } from "../../config/config.js";
import { oneLine } from "./text-width.js";
import { shortDuration } from "./when.js";
import type { FleetView } from "../run/run-model.js";

/** Beyond so many names a list helps nobody. */
const MOST_JOBS = 5;

export function runningWords({ agents }: Config, file: string, place: string): string {
  const schedules = agents.reduce((sum, agent) => sum + Object.keys(agent.schedules ?? {}).length, 0);
  const what = `${counted(agents.length, "agent")} with ${counted(schedules, "schedule")}`;
  return `Running ${what} from ${file}, state in ${place}. Ctrl-C stops.`;
}

/** `endedCount`: how many of the jobs have ended, and are only to be recorded. */
export function stoppingWords(
  { running }: FleetView,
  endedCount: number,
  reason: string,
  timeoutMs: number,
): string {
  if (running.size === 0) return `Stopping after ${reason}: no job runs.`;
  const names = Array.from(running, ([name, { jobId }]) => `${oneLine(name)} (${jobId})`);
  const rest = names.length - MOST_JOBS;
  const shown = `${names.slice(0, MOST_JOBS).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const wait = `waiting up to ${shortDuration(timeoutMs)} for ${waitedFor(running.size, endedCount)}`;
  return `Stopping after ${reason}, ${wait}: ${shown}. A second signal leaves at once.`;
}

function waitedFor(count: number, endedCount: number): string {
  const jobs = counted(count, "job");
  if (endedCount === 0) return jobs;
  return endedCount < count
    ? `${jobs}, ${endedCount} of which only to be recorded`
    : `the end of ${jobs} to be recorded`;
}

export function tooSlowWords({ running }: FleetView, timeoutMs: number): string {
  const jobs = counted(running.size, "job");
  return `${jobs} did not end within ${shortDuration(timeoutMs)}: told to end now, and waited for.`;
}

/** `isShared`: whether others may run there, who do not know before its leases have ended that this one is gone. */
export function leavingWords({ running }: FleetView, isShared: boolean): string {
  if (running.size === 0) return "Left at once.";
  const isOne = running.size === 1;
  const shared = isOne ? "When its lease has ended, it is" : "When their leases have ended, they are";
  const next = isShared
    ? `${shared} recorded as interrupted by whoever runs then.`
    : `The next start records ${isOne ? "it" : "them"} as interrupted.`;
  return `Left at once: ${counted(running.size, "job")} told to end. ${next}`;
}

export function stoppedWords({ finishedCount, failedCount, startedMs }: FleetView, nowMs: number): string {
  return `Stopped after ${shortDuration(nowMs - startedMs)}: ${counted(finishedCount, "job")} done, ${failedCount} failed.`;
}

/** "1 job", "2 jobs" */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

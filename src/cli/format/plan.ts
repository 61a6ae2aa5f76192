/** Why a schedule runs when it does, or what keeps it from running, in words. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import { isAskedFor } from "../../scheduler/planning/due-slot.js";
import { NO_END } from "../../scheduler/planning/state-after-job.js";
import { cronExpression } from "../../scheduler/timing/schedule.js";
import { isAutomatic } from "../../scheduler/control/schedule-check.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { AgentLoad, FleetSchedule } from "../fleet/fleet.js";
import { relativeTime, zonedTime } from "./when.js";

export type Standing = "disabled" | "failing" | "idle" | "paused" | "running";

export interface Surroundings {
  readonly now: Date;
  readonly isSchedulerRunning: boolean;
  /** Whether none that runs knows it: each has its own configuration. @default false */
  readonly isOrphan?: boolean | undefined;
  readonly load: AgentLoad | undefined;
}

/** In one word. */
export function standingOf({ origin, state }: FleetSchedule, now: Date): Standing {
  if (isRunning(state)) return "running";
  if (origin === "switched-off" || state.status === "disabled") return "disabled";
  if (pausedUntil(state, now) !== undefined) return "paused";
  return (state.failure_count ?? 0) > 0 ? "failing" : "idle";
}

export function isRunning({ claim }: ScheduleState): boolean {
  return claim != null;
}

/** While it is paused, until when. */
export function pausedUntil({ paused_until }: ScheduleState, now: Date): Date | undefined {
  const ms = isoTimeMs(paused_until);
  return ms !== undefined && ms > now.getTime() ? new Date(ms) : undefined;
}

/** When it runs next, where that is known and the loop may start it. */
export function nextRunOf(schedule: FleetSchedule, now: Date): Date | undefined {
  const standing = standingOf(schedule, now);
  if (standing === "running" || standing === "disabled" || isPausedForEver(schedule.state)) return undefined;
  const { definition, state } = schedule;
  if (schedule.origin === "state-only" && state.next_run_at == null) return undefined;
  // What others who share the state have planned, or did when it was another schedule.
  const isOthers = definition !== undefined && !isAutomatic(definition);
  if (isOthers && !isAskedFor(state.next_run_source ?? undefined)) return undefined;
  const ms = isoTimeMs(state.next_run_at);
  return ms === undefined ? undefined : new Date(ms);
}

/** What keeps it, or else why it runs when it does. */
export function whyOf(schedule: FleetSchedule, surroundings: Surroundings): string {
  return obstacle(schedule, surroundings) ?? planWords(schedule);
}

function obstacle({ origin, state, definition }: FleetSchedule, about: Surroundings): string | undefined {
  const { now, isSchedulerRunning, isOrphan = false, load } = about;
  if (isRunning(state)) {
    const job = `running ${state.claim?.job_id ?? ""}`;
    return isSchedulerRunning ? job : `${job}, left by a scheduler that is gone`;
  }
  if (origin === "switched-off") return "switched off in the configuration";
  if (state.status === "disabled") return "disabled";
  if (definition?.type === "webhook") return "started by a web request only";
  if (definition?.type === "chat") return "started by a message only";
  if (isPausedForEver(state)) return "paused until it is resumed";
  const until = pausedUntil(state, now);
  if (until !== undefined) return `paused until ${zonedTime(until)}`;
  const nextMs = isoTimeMs(state.next_run_at);
  if (nextMs === undefined) return unplanned(origin, definition, state);
  if (nextMs > now.getTime()) return undefined;
  if (!isSchedulerRunning) return "due, but no scheduler runs";
  if (isOrphan) return "due, but no scheduler that runs knows it";
  if (load?.most !== undefined && load.running >= load.most)
    return `waiting for capacity: ${load.running} of ${load.most} running`;
  return undefined;
}

function unplanned(
  origin: FleetSchedule["origin"],
  definition: AgentSchedule | undefined,
  { last_run_at, last_missed_at }: ScheduleState,
): string {
  if (origin === "state-only") return "no longer planned";
  if (definition?.type === "once" && (last_run_at ?? last_missed_at) != null) return "has had its one run";
  return "never planned yet";
}

export function isPausedForEver({ paused_until }: ScheduleState): boolean {
  return paused_until === NO_END;
}

/** Why it was planned for when it runs. */
export function planWords({ state, definition }: Pick<FleetSchedule, "definition" | "state">): string {
  const source = state.next_run_source;
  const rule = definition === undefined ? undefined : ruleWords(definition);
  const reason = state.hint?.reason == null ? "" : `: ${state.hint.reason}`;
  if (source == null) return rule ?? "";
  if (source === "baseline-interval") return withFailures(rule ?? "interval", state, definition);
  if (source === "baseline-cron") return rule ?? "cron";
  if (source === "ai-interval") return `hint, every ${state.hint?.interval ?? "so often"}${reason}`;
  if (source === "ai-oneshot") return `hint, one extra run${reason}`;
  if (source === "clamped-min") return `not sooner than min_interval${limitOf(definition, "min_interval")}`;
  if (source === "clamped-max") return `not later than max_interval${limitOf(definition, "max_interval")}`;
  return SOURCE_WORDS[source];
}

const SOURCE_WORDS = {
  paused: "to be planned again after a pause",
  "first-run": "first run",
  once: "once",
  "catch-up": "makes up for a run that was missed",
  manual: "asked for by hand",
} as const;

function limitOf(definition: AgentSchedule | undefined, key: "max_interval" | "min_interval"): string {
  const limit = definition !== undefined && key in definition ? Reflect.get(definition, key) : undefined;
  return typeof limit === "string" ? ` ${limit}` : "";
}

function withFailures(
  rule: string,
  { failure_count }: ScheduleState,
  definition: AgentSchedule | undefined,
): string {
  const failures = failure_count ?? 0;
  const slows = definition?.type !== "interval" || (definition.on_failure ?? "backoff") === "backoff";
  if (failures === 0 || !slows) return rule;
  return `${rule}, slower after ${failures === 1 ? "a failure" : `${failures} failures`}`;
}

/** The rule of a schedule: "every 5m", "cron 0 9 * * * Europe/Berlin". */
export function ruleWords(definition: AgentSchedule): string {
  if (definition.type === "interval") return `every ${definition.interval}`;
  if (definition.type === "once") return `once at ${definition.at}`;
  if (definition.type !== "cron") return definition.type;
  const parts = ["cron", cronExpression(definition), definition.timezone];
  return parts.filter((part) => part !== undefined).join(" ");
}

/** Both forms of a time, for a line of its own: "2026-11-16T09:00:00+01:00 (in 5m)". */
export function timeInWords(at: Date, now: Date, timezone?: string): string {
  return `${zonedTime(at, timezone)} (${relativeTime(at, now)})`;
}

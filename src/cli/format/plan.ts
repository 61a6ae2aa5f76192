/** A schedule's status, its next run, and why: the reason of the plan or what blocks the run. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import { isAskedFor } from "../../scheduler/planning/due-slot.js";
import { NO_END, pausesOnFailure } from "../../scheduler/planning/state-after-job.js";
import { backfillSlot } from "../../state/claim-rules.js";
import { cronExpression, isAutomatic } from "../../scheduler/timing/schedule.js";
import { type AgentPause, pauseEndMs } from "../../state/agent-pause.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { AgentLoad, FleetSchedule } from "../fleet/fleet.js";
import type { Style } from "./style.js";
import { relativeTime, zonedTime } from "./when.js";

export type DisplayStatus = "disabled" | "failing" | "idle" | "paused" | "running";

export const STATUS_STYLES: Readonly<Record<DisplayStatus, Style | undefined>> = {
  disabled: "dim",
  failing: "red",
  idle: undefined,
  paused: "yellow",
  running: "green",
};

export interface PlanContext {
  readonly now: Date;
  readonly isSchedulerRunning: boolean;
  /** Whether no live scheduler has it in its configuration. @default false */
  readonly isOrphan?: boolean | undefined;
  readonly load: AgentLoad | undefined;
}

export function displayStatus({ origin, state, pause }: FleetSchedule, now: Date): DisplayStatus {
  if (isRunning(state)) return "running";
  if (origin === "switched-off" || state.status === "disabled") return "disabled";
  if (pausedUntil({ state, pause }, now) !== undefined) return "paused";
  return (state.failure_count ?? 0) > 0 ? "failing" : "idle";
}

export function isRunning({ claim }: ScheduleState): boolean {
  return claim != null;
}

/** A schedule with its own pause and the one of its agent: it waits for the end of both. */
export type Pausable = Pick<FleetSchedule, "pause" | "state">;

/** The end of the pause; `undefined` unless it is paused now. */
export function pausedUntil({ state, pause }: Pausable, now: Date): Date | undefined {
  const ms = Math.max(isoTimeMs(state.paused_until) ?? -Infinity, pauseEndMs(pause));
  return ms > now.getTime() ? new Date(Math.min(ms, Date.parse(NO_END))) : undefined;
}

/** The next run; `undefined` when there is none, or when only a request starts it. */
export function nextRunOf(schedule: FleetSchedule, now: Date): Date | undefined {
  const status = displayStatus(schedule, now);
  if (status === "running" || status === "disabled" || isPausedIndefinitely(schedule)) return undefined;
  const { definition, state } = schedule;
  if (schedule.origin === "state-only" && state.next_run_at == null) return undefined;
  // Here it starts on request only: the plan comes from a scheduler with a different definition, or from an older one.
  const isOnRequest = definition !== undefined && !isAutomatic(definition);
  if (isOnRequest && !isAskedFor(state.next_run_source ?? undefined)) return undefined;
  const ms = isoTimeMs(state.next_run_at);
  if (ms === undefined) return undefined;
  // A pause that no scheduler has planned for yet.
  return new Date(Math.max(ms, pausedUntil(schedule, now)?.getTime() ?? -Infinity));
}

/** What blocks the next run, or else the reason of its plan. */
export function whyOf(schedule: FleetSchedule, surroundings: PlanContext): string {
  return obstacle(schedule, surroundings) ?? formatPlan(schedule);
}

function obstacle(schedule: FleetSchedule, about: PlanContext): string | undefined {
  const { origin, state, definition, pause } = schedule;
  const { now, isSchedulerRunning, isOrphan = false, load } = about;
  if (isRunning(state)) {
    const job = `running ${state.claim?.job_id ?? ""}`;
    return isSchedulerRunning ? job : `${job}, whose scheduler is gone`;
  }
  if (origin === "switched-off") return "switched off in the configuration";
  if (state.status === "disabled") return "disabled";
  if (definition?.type === "webhook") return "runs on web requests only";
  if (definition?.type === "chat") return "runs on messages only";
  if (pause !== undefined) return agentPauseText(pause);
  if (isPausedIndefinitely(schedule))
    return isPausedByFailure(state, definition)
      ? "paused until it is resumed, because it failed (on_failure: pause)"
      : "paused until it is resumed";
  const until = pausedUntil(schedule, now);
  if (until !== undefined) return `paused until ${zonedTime(until)}`;
  const nextMs = isoTimeMs(state.next_run_at);
  if (nextMs === undefined) {
    const plain = unplanned(origin, definition, state);
    return plain === NOT_PLANNED && !isSchedulerRunning ? `${plain}: ${NO_SCHEDULER}` : plain;
  }
  if (nextMs > now.getTime()) return undefined;
  if (!isSchedulerRunning) return `due, but ${NO_SCHEDULER}`;
  if (isOrphan) return "due, but no running scheduler has it in its configuration";
  if (load?.most !== undefined && load.running >= load.most)
    return `waiting for capacity: ${load.running} of ${load.most} running`;
  return undefined;
}

function isPausedByFailure({ failure_count }: ScheduleState, definition: AgentSchedule | undefined): boolean {
  return (failure_count ?? 0) > 0 && pausesOnFailure(definition);
}

export const NO_SCHEDULER = "no scheduler runs";
const NOT_PLANNED = "not planned yet";

function unplanned(
  origin: FleetSchedule["origin"],
  definition: AgentSchedule | undefined,
  { last_run_at, last_missed_at }: ScheduleState,
): string {
  if (origin === "state-only") return "no longer planned";
  if (definition?.type === "once" && (last_run_at ?? last_missed_at) != null) return "its one run is over";
  return NOT_PLANNED;
}

export function isPausedIndefinitely({ state, pause }: Pausable): boolean {
  return state.paused_until === NO_END || pauseEndMs(pause) === Infinity;
}

const PAUSE_CAUSES = {
  user: "",
  failure: ", because a run failed",
  indeterminate: ", because it is not known what a run has changed",
} as const;

/** Of an agent: "paused until it is resumed, because a run failed (job-…): out of paper". */
export function pauseText({ by, until, job_id, note }: AgentPause): string {
  const endMs = isoTimeMs(until);
  const end = endMs === undefined ? "until it is resumed" : `until ${zonedTime(new Date(endMs))}`;
  const job = job_id == null ? "" : ` (${job_id})`;
  return `paused ${end}${PAUSE_CAUSES[by]}${job}${note == null ? "" : `: ${note}`}`;
}

/** Of a schedule: "paused with its agent until it is resumed". */
export function agentPauseText(pause: AgentPause): string {
  return pauseText(pause).replace("paused", "paused with its agent");
}

/** The reason of the plan: the rule, a hint, a limit, or a request. */
export function formatPlan({ state, definition }: Pick<FleetSchedule, "definition" | "state">): string {
  const source = state.next_run_source;
  const pastSlot = backfillSlot(state);
  if (pastSlot !== undefined && state.retry == null) return `backfill of ${shortIso(pastSlot)}`;
  const rule = definition === undefined ? undefined : formatRule(definition);
  const reason = state.hint?.reason == null ? "" : `: ${state.hint.reason}`;
  if (source == null) return rule ?? "";
  if (source === "baseline-interval") return withFailures(rule ?? "interval", state, definition);
  if (source === "baseline-cron") return rule ?? "cron";
  if (source === "ai-interval")
    return `hint, ${state.hint?.interval == null ? "changed interval" : `every ${state.hint.interval}`}${reason}`;
  if (source === "ai-oneshot") return `hint, one extra run${reason}`;
  if (source === "clamped-min") return `not sooner than min_interval${limitOf(definition, "min_interval")}`;
  if (source === "clamped-max") return `not later than max_interval${limitOf(definition, "max_interval")}`;
  if (source === "retry") return `attempt ${state.retry?.attempt ?? 2}${slotOf(state)}`;
  return SOURCE_LABELS[source];
}

const SOURCE_LABELS = {
  paused: "planned again when the pause ends",
  "first-run": "first run",
  once: "once",
  "catch-up": "catch-up for a missed run",
  manual: "triggered manually",
} as const;

function slotOf({ retry }: ScheduleState): string {
  return retry == null ? "" : ` at the run of ${shortIso(retry.slot)}`;
}

/** Without seconds that are zero. */
function shortIso(slot: string): string {
  return slot.replace(/(:00)?\.000Z$/, "Z");
}

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
export function formatRule(definition: AgentSchedule): string {
  if (definition.type === "interval") return `every ${definition.interval}`;
  if (definition.type === "once") return `once at ${definition.at}`;
  if (definition.type !== "cron") return definition.type;
  const parts = ["cron", cronExpression(definition), definition.timezone];
  return parts.filter((part) => part !== undefined).join(" ");
}

/** "2026-11-16T09:00:00+01:00 (in 5m)" */
export function formatTime(at: Date, now: Date, timezone?: string): string {
  return `${zonedTime(at, timezone)} (${relativeTime(at, now)})`;
}

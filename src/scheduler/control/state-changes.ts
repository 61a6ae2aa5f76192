/** What pause, disable and hint write into the state of a schedule. Pure. */
import type { Instant } from "../../clock.js";
import type { AgentPause, PauseDecision } from "../../state/agent-pause.js";
import { durationMs } from "../../duration.js";
import type { ScheduleHint, ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { NO_SLOT } from "../../state/claim-rules.js";
import { invalidArgument, invalidOption, readInstant, requireMap } from "../arguments.js";
import { NO_END } from "../planning/state-after-job.js";
import { parseInterval } from "../timing/interval.js";
import { isAutomatic, type Schedule } from "../timing/schedule.js";

/** Temporary advice for a schedule: a different interval, one extra run, or both. It replaces earlier advice. */
export interface HintOptions {
  /** Interval text that stands in for the schedule's own. */
  readonly interval?: string | undefined;
  /** When one extra run is wanted. */
  readonly runAt?: Instant | undefined;
  /**
   * How long the advice counts, as interval text.
   * @default "1h", counted from `runAt` where that is given
   */
  readonly ttl?: string | undefined;
  readonly reason?: string | undefined;
}

const DEFAULT_TTL = "1h";

/** Until a time, or until it is resumed. */
export function paused(until?: Instant): ScheduleStatePatch {
  return { paused_until: until === undefined ? NO_END : readInstant("until", until).toISOString() };
}

/** A pause that has a different cause stays: what a failure has stopped does not go on because a person's pause ends. */
export function agentPaused(now: Date, until?: Instant): PauseDecision {
  const since = now.toISOString();
  const end = until === undefined ? {} : { until: readInstant("until", until).toISOString() };
  return (pause) => (isOfUser(pause) ? { by: "user", since: pause?.since ?? since, ...end } : undefined);
}

function isOfUser(pause: AgentPause | undefined): boolean {
  return pause === undefined || pause.by === "user";
}

export const AGENT_RESUMED: PauseDecision = (pause) => (pause === undefined ? undefined : null);

export const RESUMED: ScheduleStatePatch = { paused_until: null };

/** Slots count from now on: a disabled schedule has none, and one without times has none until it is defined anew. */
export function enabled(
  now: Date,
  schedule: Pick<Schedule, "type"> | undefined,
): (state: ScheduleState) => ScheduleStatePatch {
  const isCounted = schedule === undefined || isAutomatic(schedule);
  const since = isCounted ? { accounted_until: now.toISOString() } : {};
  return ({ status, claim }) => {
    if (status !== "disabled") return {};
    return claim == null ? { status: "idle", ...NO_SLOT, ...since } : { status: "running" };
  };
}

/** A running schedule is planned when its job ends. */
export function disabled({ claim }: ScheduleState): ScheduleStatePatch {
  return claim == null ? { status: "disabled", ...NO_SLOT } : { status: "disabled" };
}

export const UNADVISED: ScheduleStatePatch = { hint: null };

export function advised(options: HintOptions, now: Date): ScheduleStatePatch {
  requireMap("hint", options, '{ interval: "5m" }');
  return { hint: newHint(options, now) };
}

function newHint({ interval, runAt, ttl = DEFAULT_TTL, reason }: HintOptions, now: Date): ScheduleHint {
  if (interval === undefined && runAt === undefined)
    throw invalidArgument("A hint needs an interval, a runAt, or both");
  if (interval !== undefined) parseInterval(interval);
  if (reason !== undefined && typeof reason !== "string") throw invalidOption("reason", reason, "text");
  const nextRunAt = runAt === undefined ? undefined : readInstant("runAt", runAt);
  const fromMs = Math.max(now.getTime(), nextRunAt?.getTime() ?? -Infinity);
  return {
    interval: interval ?? null,
    next_run_at: nextRunAt?.toISOString() ?? null,
    expires_at: expiry(ttl, fromMs).toISOString(),
    reason: reason ?? null,
  };
}

function expiry(ttl: string, fromMs: number): Date {
  const ms = durationMs(ttl);
  if (ms === undefined || ms <= 0) throw invalidOption("ttl", ttl, 'interval text such as "1h"');
  return new Date(Math.min(fromMs + ms, Date.parse(NO_END)));
}

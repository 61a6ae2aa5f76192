/**
 * The governor decides when a schedule runs next, and why then. Every next-run time comes from here.
 * Pure: it reads no clock and keeps nothing. What becomes of a slot that nobody ran in time is late-slot.ts's question.
 */
import { quote } from "../errors.js";
import type { Random } from "../random.js";
import type { PlanSource, ScheduleHint, ScheduleState } from "../state/schedule-state.js";
import { nextCronRun } from "./cron.js";
import { SchedulerError } from "./errors.js";
import { parseInterval, withJitter } from "./interval.js";
import { cronExpression, type OnceSchedule, type RecurringSchedule, type Schedule } from "./schedule.js";

export interface Plan {
  readonly nextRunAt: Date;
  readonly source: PlanSource;
}

export interface PlanInput<Planned extends Schedule = Schedule> {
  readonly now: Date;
  readonly schedule: Planned;
  readonly state: Partial<ScheduleState>;
  /**
   * Draws the jitter.
   * @default none is added, so that equal inputs give equal plans
   */
  readonly random?: Random;
}

/** From the fifth failure on, the wait stays at 32 intervals. */
const MOST_DOUBLINGS = 5;

interface Candidate {
  readonly atMs: number;
  readonly source: PlanSource;
}

/** The next run and what decided it; `undefined` when the loop has nothing to start: webhook, chat, a `once` that ran. */
export function planNextRun(input: PlanInput<RecurringSchedule>): Plan;
export function planNextRun(input: PlanInput): Plan | undefined;
export function planNextRun({ now, schedule, state, random = () => 0 }: PlanInput): Plan | undefined {
  const nowMs = now.getTime();
  if (Number.isNaN(nowMs)) throw new SchedulerError("Now is not a valid Date", { code: "INVALID_ARGUMENT" });
  const chosen = choose(nowMs, schedule, state, random);
  if (chosen === undefined) return undefined;
  const pausedUntilMs = timeOf(state, "paused_until");
  if (pausedUntilMs !== undefined && pausedUntilMs > nowMs) {
    return { nextRunAt: new Date(pausedUntilMs), source: "paused" };
  }
  return { nextRunAt: new Date(chosen.atMs), source: chosen.source };
}

type KnownState = Partial<ScheduleState>;

function choose(nowMs: number, schedule: Schedule, state: KnownState, random: Random): Candidate | undefined {
  if (schedule.type === "webhook" || schedule.type === "chat") return undefined;
  const hint = freshHint(nowMs, state);
  const oneShotMs = hint === undefined ? undefined : timeOf(hint, "next_run_at");
  const oneShot: Candidate | undefined =
    oneShotMs === undefined ? undefined : { atMs: Math.max(oneShotMs, nowMs), source: "ai-oneshot" };
  if (schedule.type === "once") return earlier(onceBaseline(schedule, state), oneShot);
  const regular =
    hint?.interval == null
      ? baseline(nowMs, schedule, state, random)
      : {
          atMs: counted(nowMs, schedule, state, parseInterval(hint.interval)),
          source: "ai-interval" as const,
        };
  return clamp(nowMs, schedule, earlier(regular, oneShot));
}

function freshHint(nowMs: number, { hint }: KnownState): ScheduleHint | undefined {
  const expiresMs = hint == null ? undefined : timeOf(hint, "expires_at");
  return hint != null && expiresMs !== undefined && expiresMs > nowMs ? hint : undefined;
}

function baseline(nowMs: number, schedule: RecurringSchedule, state: KnownState, random: Random): Candidate {
  if (schedule.type === "cron") {
    const next = nextCronRun(cronExpression(schedule), new Date(nowMs), schedule.timezone);
    return { atMs: next.getTime(), source: "baseline-cron" };
  }
  if (state.last_completed_at == null && state.last_run_at == null)
    return { atMs: nowMs, source: "first-run" };
  const backoff = 2 ** Math.min(state.failure_count ?? 0, MOST_DOUBLINGS);
  const delayMs = withJitter(parseInterval(schedule.interval) * backoff, schedule.jitter ?? 0, random);
  return { atMs: counted(nowMs, schedule, state, delayMs), source: "baseline-interval" };
}

/** `delayMs` after what the schedule counts from; after `now` where that has passed or never was. */
function counted(nowMs: number, schedule: RecurringSchedule, state: KnownState, delayMs: number): number {
  const lastRunMs = timeOf(state, "last_run_at");
  const completedMs = timeOf(state, "last_completed_at") ?? lastRunMs ?? nowMs;
  let anchorMs = completedMs;
  if (schedule.type === "interval" && schedule.anchor === "start") {
    const startedMs = timeOf(state, "last_started_at") ?? lastRunMs ?? nowMs;
    if (startedMs + delayMs >= completedMs) anchorMs = startedMs;
  }
  // An anchor in the future is a clock that was set back: waiting for it could take years.
  const dueMs = Math.min(anchorMs, nowMs) + delayMs;
  return dueMs < nowMs ? nowMs + delayMs : dueMs;
}

/** A start at or after its time was the one run it has; an earlier one, by hand, was not. */
function onceBaseline(schedule: OnceSchedule, state: KnownState): Candidate | undefined {
  const atMs = Date.parse(schedule.at);
  const startedMs = timeOf(state, "last_started_at") ?? timeOf(state, "last_run_at");
  return startedMs !== undefined && startedMs >= atMs ? undefined : { atMs, source: "once" };
}

/** `challenger` wins only when strictly earlier: at a tie the run would have come anyway. */
function earlier<Regular extends Candidate | undefined>(
  regular: Regular,
  challenger: Candidate | undefined,
): Regular | Candidate {
  if (challenger === undefined) return regular;
  return regular === undefined || challenger.atMs < regular.atMs ? challenger : regular;
}

/** Limits count from now. The first run has nothing to keep a distance from. */
function clamp(nowMs: number, schedule: RecurringSchedule, chosen: Candidate): Candidate {
  if (chosen.source === "first-run") return chosen;
  const { min_interval, max_interval } = schedule;
  const earliestMs = min_interval === undefined ? -Infinity : nowMs + parseInterval(min_interval);
  const latestMs = max_interval === undefined ? Infinity : nowMs + parseInterval(max_interval);
  if (chosen.atMs < earliestMs) return { atMs: earliestMs, source: "clamped-min" };
  if (chosen.atMs > latestMs) return { atMs: latestMs, source: "clamped-max" };
  return chosen;
}

/** A stored time in milliseconds; `undefined` when there is none. */
function timeOf<Key extends string>(
  holder: { readonly [K in Key]?: string | null },
  key: Key,
): number | undefined {
  const text = holder[key];
  if (text == null) return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw new SchedulerError(`Invalid ${key} ${quote(text)} in the state: expected an ISO time`, {
    code: "INVALID_STATE",
  });
}

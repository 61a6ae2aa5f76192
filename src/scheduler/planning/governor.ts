/**
 * The governor decides when a schedule runs next, and why then. Every next-run time comes from here.
 * Pure: it reads no clock and keeps nothing. What happens to a slot that was not run in time is decided in late-slot.ts.
 */
import { UNIT_MS } from "../../duration.js";
import { quote } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import type { Random } from "../../random.js";
import { LONGEST_INTERRUPTION_WAIT_MS } from "../../state/claim-rules.js";
import type { PlanSource, ScheduleHint, ScheduleState } from "../../state/schedule-state.js";
import { nextCronRun, previousCronRun } from "../timing/cron.js";
import { SchedulerError } from "../errors.js";
import { parseInterval, readInterval, withJitter } from "../timing/interval.js";
import { retryDelayMs } from "../timing/retries.js";
import {
  type CronSchedule,
  cronExpression,
  type IntervalSchedule,
  type OnceSchedule,
  onceTimeMs,
  type RecurringSchedule,
  type Schedule,
} from "../timing/schedule.js";

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
  readonly random?: Random | undefined;
}

/** From the fifth failure on, the wait stays at 32 intervals. */
const MOST_DOUBLINGS = 5;
/** So that a failing daily job does not become a monthly one. */
const LONGEST_BACKOFF_MS = 6 * UNIT_MS.h;
/** A last start further ahead means a mistake in the state, not a clock that was set back. */
const LONGEST_SET_BACK_MS = 366 * UNIT_MS.d;

interface Candidate {
  readonly atMs: number;
  readonly source: PlanSource;
  /** Counted from now, so that planning again later would put it off. */
  readonly fromNow?: boolean;
}

/** The next run and what decided it; `undefined` when the loop has nothing to start: webhook, chat, a `once` that ran. */
export function planNextRun(input: PlanInput<RecurringSchedule>): Plan;
export function planNextRun(input: PlanInput): Plan | undefined;
export function planNextRun({ now, schedule, state, random = () => 0 }: PlanInput): Plan | undefined {
  const nowMs = now.getTime();
  if (Number.isNaN(nowMs)) throw new SchedulerError("Now is not a valid Date", { code: "INVALID_ARGUMENT" });
  const isAutomatic = schedule.type !== "webhook" && schedule.type !== "chat";
  if (!isAutomatic && state.retry == null) return undefined;
  const known = readState(state);
  const chosen =
    state.retry == null ? choose(nowMs, schedule, known, random) : nextAttempt(nowMs, schedule, known);
  if (chosen === undefined) return undefined;
  const { atMs, source } = known.pausedUntilMs === undefined ? chosen : pause(nowMs, schedule, known, chosen);
  return { nextRunAt: new Date(atMs), source };
}

function choose(nowMs: number, schedule: Schedule, state: KnownState, random: Random): Candidate | undefined {
  if (schedule.type === "webhook" || schedule.type === "chat") return undefined;
  return schedule.type === "once"
    ? chooseOnce(nowMs, schedule, state)
    : chooseRecurring(nowMs, schedule, state, random);
}

/** A slot that is tried again: at the time that was planned for it, or as soon as a pause ends that put it off. */
function nextAttempt(nowMs: number, { retries }: Schedule, state: KnownState): Candidate {
  const { plannedMs = nowMs, plannedSource, retryMs = nowMs, failedTries } = state;
  const retryWaitMs = state.retryMs === undefined ? undefined : retryDelayMs(retries, failedTries);
  if (plannedSource === "manual") return { atMs: plannedMs, source: "retry" };
  // A time further ahead is from before the clock was set back.
  const latestMs = nowMs + (retryWaitMs ?? LONGEST_INTERRUPTION_WAIT_MS);
  const wishedMs = plannedSource === "retry" ? plannedMs : Math.max(retryMs, nowMs);
  return { atMs: Math.min(wishedMs, latestMs), source: "retry" };
}

function chooseRecurring(
  nowMs: number,
  schedule: RecurringSchedule,
  state: KnownState,
  random: Random,
): Candidate {
  const hasLimits = schedule.min_interval !== undefined || schedule.max_interval !== undefined;
  const wished =
    state.hint === undefined
      ? baseline(nowMs, schedule, state, random)
      : chooseHinted(nowMs, schedule, state, random);
  const chosen = hasLimits ? clamp(nowMs, schedule, wished) : wished;
  return chosen.fromNow === true ? keep(nowMs, state, chosen) : chosen;
}

function chooseHinted(
  nowMs: number,
  schedule: RecurringSchedule,
  state: KnownState,
  random: Random,
): Candidate {
  const intervalMs = freshHint(nowMs, state)?.intervalMs;
  const firstRun = schedule.type === "interval" && state.completedMs === undefined;
  // A hint about the time between two runs delays no first one.
  const regular =
    intervalMs === undefined || firstRun
      ? baseline(nowMs, schedule, state, random)
      : counted(nowMs, schedule, state, { waitMs: intervalMs, source: "ai-interval" });
  return earlier(regular, oneShot(nowMs, state));
}

function baseline(nowMs: number, schedule: RecurringSchedule, state: KnownState, random: Random): Candidate {
  if (schedule.type === "cron") {
    return { atMs: nextCronMs(nowMs, schedule, state), source: "baseline-cron" };
  }
  if (state.completedMs === undefined) return { atMs: nowMs, source: "first-run" };
  const failures = (schedule.on_failure ?? "backoff") === "backoff" ? state.failures : 0;
  const intervalMs = parseInterval(schedule.interval);
  const waitMs = failures === 0 ? intervalMs : backoffMs(intervalMs, failures, schedule);
  const { jitter } = schedule;
  const jitteredMs = jitter === undefined ? waitMs : withJitter(waitMs, jitter, random);
  return counted(nowMs, schedule, state, { waitMs, jitteredMs, source: "baseline-interval" });
}

function backoffMs(intervalMs: number, failures: number, { max_backoff }: IntervalSchedule): number {
  const longestMs =
    max_backoff === undefined ? Math.max(intervalMs, LONGEST_BACKOFF_MS) : parseInterval(max_backoff);
  return Math.min(intervalMs * 2 ** Math.min(failures, MOST_DOUBLINGS), longestMs);
}

/** A clock that was set back by up to a period repeats no time; one that was set back further was wrong before. */
function nextCronMs(nowMs: number, schedule: CronSchedule, { startedMs = -Infinity }: KnownState): number {
  const expression = cronExpression(schedule);
  if (startedMs > nowMs && startedMs - nowMs < LONGEST_SET_BACK_MS) {
    const next = nextCronRun(expression, new Date(startedMs), schedule.timezone);
    const last = previousCronRun(expression, next, schedule.timezone);
    if (startedMs - nowMs <= next.getTime() - last.getTime()) return next.getTime();
  }
  return nextCronRun(expression, new Date(nowMs), schedule.timezone).getTime();
}

interface Wait {
  readonly waitMs: number;
  /** With the jitter that was drawn. @default waitMs */
  readonly jitteredMs?: number | undefined;
  readonly source: PlanSource;
}

/** A wait after what the schedule counts from, which no jitter decides; after now where that has passed or never was. */
function counted(
  nowMs: number,
  schedule: RecurringSchedule,
  { completedMs = -Infinity, startedMs }: KnownState,
  { waitMs, jitteredMs = waitMs, source }: Wait,
): Candidate {
  const fromStart = schedule.type === "interval" && schedule.anchor === "start";
  const anchorMs =
    fromStart && startedMs !== undefined && startedMs + waitMs >= completedMs ? startedMs : completedMs;
  // An anchor in the future is a clock that was set back: waiting for it could take years.
  const dueMs = Math.min(anchorMs, nowMs) + jitteredMs;
  return dueMs < nowMs ? { atMs: nowMs + jitteredMs, source, fromNow: true } : { atMs: dueMs, source };
}

/** A `once` is over when a run started at or after its time, or was missed; an earlier manual run does not count. */
function chooseOnce(nowMs: number, schedule: OnceSchedule, state: KnownState): Candidate | undefined {
  const atMs = onceTimeMs(schedule);
  const isOver = Math.max(state.startedMs ?? -Infinity, state.missedMs ?? -Infinity) >= atMs;
  return earlier(isOver ? undefined : { atMs, source: "once" }, oneShot(nowMs, state));
}

function oneShot(nowMs: number, state: KnownState): Candidate | undefined {
  const atMs = freshHint(nowMs, state)?.oneShotMs;
  return atMs === undefined ? undefined : { atMs: Math.max(atMs, nowMs), source: "ai-oneshot" };
}

function freshHint(nowMs: number, { hint }: KnownState): KnownState["hint"] {
  return hint !== undefined && hint.expiresMs > nowMs ? hint : undefined;
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
  if (chosen.atMs < earliestMs) return { atMs: earliestMs, source: "clamped-min", fromNow: true };
  if (chosen.atMs > latestMs) return { atMs: latestMs, source: "clamped-max", fromNow: true };
  return chosen;
}

/** Planning again for the same reason puts no run off: what is planned often would otherwise never run. */
function keep(nowMs: number, { plannedMs, plannedSource }: KnownState, chosen: Candidate): Candidate {
  if (plannedSource !== chosen.source || plannedMs === undefined) return chosen;
  return plannedMs > nowMs && plannedMs < chosen.atMs ? { atMs: plannedMs, source: chosen.source } : chosen;
}

/** A pause makes its end the time to plan again, but hurries neither the one time of a `once` nor a try that comes later. */
function pause(
  nowMs: number,
  schedule: Schedule,
  { pausedUntilMs }: KnownState,
  chosen: Candidate,
): Candidate {
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return chosen;
  const isSingle = schedule.type === "once" || chosen.source === "retry";
  if (isSingle && chosen.atMs > pausedUntilMs) return chosen;
  return { atMs: pausedUntilMs, source: "paused" };
}

/** The stored state with its texts checked and turned into milliseconds, and fallbacks applied. */
interface KnownState {
  /** `undefined` when it never ran; the start of the last run where a file has no more than that. */
  readonly completedMs: number | undefined;
  readonly startedMs: number | undefined;
  /** The last slot that was dropped. */
  readonly missedMs: number | undefined;
  readonly plannedMs: number | undefined;
  readonly plannedSource: PlanSource | undefined;
  /** When a failed slot is tried again. */
  readonly retryMs: number | undefined;
  readonly failedTries: number;
  readonly pausedUntilMs: number | undefined;
  readonly failures: number;
  readonly hint: KnownHint | undefined;
}

interface KnownHint {
  readonly intervalMs: number | undefined;
  readonly oneShotMs: number | undefined;
  readonly expiresMs: number;
}

const EXPECTED_TIME = 'expected an ISO time such as "2026-03-01T09:00:00Z"';

/** Throws a SchedulerError with code INVALID_STATE that names the key and its value. */
function readState(state: Partial<ScheduleState>): KnownState {
  const lastRunMs = readTime("last_run_at", state.last_run_at);
  return {
    completedMs: readTime("last_completed_at", state.last_completed_at) ?? lastRunMs,
    startedMs: readTime("last_started_at", state.last_started_at) ?? lastRunMs,
    missedMs: readTime("last_missed_at", state.last_missed_at),
    plannedMs: readTime("next_run_at", state.next_run_at),
    plannedSource: state.next_run_source ?? undefined,
    retryMs: readTime("retry.at", state.retry?.at),
    failedTries: readCount("retry.failures", state.retry?.failures),
    pausedUntilMs: readTime("paused_until", state.paused_until),
    failures: readCount("failure_count", state.failure_count),
    hint: state.hint == null ? undefined : readHint(state.hint),
  };
}

function readHint({ interval, next_run_at, expires_at }: ScheduleHint): KnownHint {
  const expiresMs = readTime("hint.expires_at", expires_at);
  if (expiresMs === undefined) throw invalid("hint.expires_at", expires_at, EXPECTED_TIME);
  const refuse = (fault: string): SchedulerError => invalid("hint.interval", interval, fault);
  return {
    intervalMs: interval == null ? undefined : readInterval(interval, refuse),
    oneShotMs: readTime("hint.next_run_at", next_run_at),
    expiresMs,
  };
}

function readTime(key: string, text: string | null | undefined): number | undefined {
  if (text == null) return undefined;
  const ms = isoTimeMs(text);
  if (ms === undefined) throw invalid(key, text, EXPECTED_TIME);
  return ms;
}

function readCount(key: string, count: number | null | undefined): number {
  if (count == null) return 0;
  if (!Number.isSafeInteger(count) || count < 0) throw invalid(key, count, "expected a whole number from 0");
  return count;
}

function invalid(key: string, value: unknown, reason: string): SchedulerError {
  return new SchedulerError(`Invalid ${key} ${quote(value)} in the state: ${reason}`, {
    code: "INVALID_STATE",
  });
}

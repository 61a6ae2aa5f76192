/** A schedule's stored state as the governor reads it: texts checked and turned into milliseconds, fallbacks applied. */
import { quote } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import type { PlanSource, ScheduleHint, ScheduleState } from "../../state/schedule-state.js";
import { SchedulerError } from "../errors.js";
import { readInterval } from "../timing/interval.js";

export interface KnownState {
  /** `undefined` when it never ran; the start of the last run where a file has no more than that. */
  readonly completedMs: number | undefined;
  readonly startedMs: number | undefined;
  /** The last slot that was dropped. */
  readonly missedMs: number | undefined;
  readonly plannedMs: number | undefined;
  readonly plannedSource: PlanSource | undefined;
  readonly pausedUntilMs: number | undefined;
  readonly failures: number;
  readonly hint: KnownHint | undefined;
}

export interface KnownHint {
  readonly intervalMs: number | undefined;
  readonly oneShotMs: number | undefined;
  readonly expiresMs: number;
}

const EXPECTED_TIME = 'expected an ISO time such as "2026-03-01T09:00:00Z"';

/** Throws a SchedulerError with code INVALID_STATE that names the key and its value. */
export function readState(state: Partial<ScheduleState>): KnownState {
  const lastRunMs = readTime("last_run_at", state.last_run_at);
  return {
    completedMs: readTime("last_completed_at", state.last_completed_at) ?? lastRunMs,
    startedMs: readTime("last_started_at", state.last_started_at) ?? lastRunMs,
    missedMs: readTime("last_missed_at", state.last_missed_at),
    plannedMs: readTime("next_run_at", state.next_run_at),
    plannedSource: state.next_run_source ?? undefined,
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

/**
 * Does a plan found in the state still hold for the schedule as it is defined now? A plan made for an earlier definition,
 * before a restart or a change of agents, is made anew; a slot of this schedule that has come due stays. Pure.
 */
import { isoTimeMs } from "../../iso-time.js";
import { backfillSlot, NO_PLAN } from "../../state/claim-rules.js";
import { isUndecided } from "../../state/recorded-end.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { isCronRun } from "../timing/cron.js";
import {
  type Conclusion,
  planAfter,
  planIn,
  type PlanningInput,
  stateAfterRecorded,
} from "./state-after-job.js";
import { latestSlot } from "./due-slot.js";
import { failuresReset } from "./failed-run.js";
import { type Plan, planNextRun } from "./governor.js";
import { cronExpression, onceTimeMs, type Schedule } from "../timing/schedule.js";

export interface AdoptionInput extends PlanningInput {
  readonly schedule: Schedule;
}

/** The plan to go by from now on; `undefined` when the one in the state stays. */
export function adoptPlan(input: AdoptionInput): Conclusion | undefined {
  const { now, state, runs } = input;
  const reset = runs === undefined ? undefined : failuresReset(state, runs);
  if (reset === undefined) return reconciled(input);
  const plan = planIn(state);
  // A wait for which failures are the reason ends; what is overdue without them is due now.
  if (plan?.source === "baseline-interval" && plan.nextRunAt > now)
    return planUnplanned(input, { ...reset, ...NO_PLAN }, { isAdopted: false });
  const conclusion = reconciled({ ...input, state: { ...state, ...reset } });
  return conclusion === undefined
    ? { patch: reset, plan }
    : { ...conclusion, patch: { ...reset, ...conclusion.patch } };
}

function reconciled(input: AdoptionInput): Conclusion | undefined {
  const { now, schedule, state } = input;
  const plannedMs = isoTimeMs(state.next_run_at);
  if (isUndecided(state)) return stateAfterRecorded(input);
  if (state.status === "disabled") return planAfter(input, {});
  if (plannedMs === undefined) return planUnplanned(input, {}, { isAdopted: true });
  // An order for a time, whatever the schedule says.
  // A backfill waits for no time: its plan is ahead where the clock was set back.
  const isAhead = plannedMs > now.getTime() && backfillSlot(state) !== undefined;
  if (state.next_run_source === "manual" && !isAhead) return undefined;
  if (plannedMs <= now.getTime() && isSlotOf(schedule, state, plannedMs)) return undefined;
  // Jitter drawn before is as good as jitter drawn now.
  const { plan: earliest, problem } = planAfter({ ...input, random: () => 0 }, {});
  if (problem !== undefined) return planAfter(input, {});
  const found = { nextRunAt: new Date(plannedMs), source: state.next_run_source };
  if (isSame(found, earliest)) return undefined;
  const { plan: latest } = planAfter({ ...input, random: () => 1 }, {});
  const isDrawn = found.source === earliest?.source && isBetween(input, earliest, plannedMs, latest);
  // Jitter may put the baseline behind a hinted time: then that is what was planned.
  return isDrawn || isSame(found, latest) ? undefined : planAfter(input, {});
}

/**
 * The plan of a schedule that has none. With only its last run known (`isAdopted`: a foreign file), its slot is the first
 * baseline time after it, however late. Else it was disabled or not defined: an overdue interval is due now.
 */
export function planUnplanned(
  input: PlanningInput,
  changes: ScheduleStatePatch,
  { isAdopted }: { readonly isAdopted: boolean },
): Conclusion {
  const { now, schedule } = input;
  const state = { ...input.state, ...changes };
  if (schedule === undefined) return planAfter(input, changes);
  const countedMs = isoTimeMs(state.accounted_until);
  if (countedMs !== undefined && schedule.type === "cron")
    return planAfter(input, changes, latestSlot(schedule, state, new Date(countedMs), now));
  const firstMs = firstAfterRun({ ...input, schedule, state });
  if (firstMs === undefined || firstMs > now.getTime()) return planAfter(input, changes);
  const isForeign =
    isAdopted && countedMs === undefined && state.last_started_at == null && state.last_completed_at == null;
  if (isForeign) return planAfter(input, changes, new Date(firstMs));
  return planAfter(input, changes, schedule.type === "interval" ? now : undefined);
}

/** The first baseline time after the last run; `undefined` when it never ran. */
function firstAfterRun({ schedule, state, random }: AdoptionInput): number | undefined {
  const lastMs = isoTimeMs(state.last_completed_at) ?? isoTimeMs(state.last_run_at);
  if (lastMs === undefined || (schedule.type !== "interval" && schedule.type !== "cron")) return undefined;
  const unlimited = { ...schedule, min_interval: undefined, max_interval: undefined };
  const plain = { ...state, paused_until: null, hint: null, next_run_at: null, next_run_source: null };
  try {
    return planNextRun({
      now: new Date(lastMs),
      schedule: unlimited,
      state: plain,
      random,
    }).nextRunAt.getTime();
  } catch {
    // What is wrong with the state is reported when the plan is made.
    return undefined;
  }
}

interface FoundPlan {
  readonly nextRunAt: Date;
  readonly source: ScheduleState["next_run_source"];
}

function isSame({ nextRunAt, source }: FoundPlan, plan: Plan | undefined): boolean {
  return source === plan?.source && nextRunAt.getTime() === plan?.nextRunAt.getTime();
}

function isBetween(
  { now, schedule }: AdoptionInput,
  earliest: Plan | undefined,
  ms: number,
  latest: Plan | undefined,
): boolean {
  if (earliest === undefined || latest === undefined) return false;
  const earliestMs = earliest.nextRunAt.getTime();
  const latestMs = latest.nextRunAt.getTime();
  // Without jitter the time has passed and counts from now; with jitter it has not. Then the wait tells the latest time.
  const isSplit = latestMs < earliestMs && schedule.type === "interval";
  const waitMs = earliestMs - now.getTime();
  const untilMs = isSplit ? earliestMs + (waitMs * (schedule.jitter ?? 0)) / 100 : latestMs;
  return earliestMs <= ms && ms <= untilMs;
}

/** Whether a due slot is one of this schedule's, as far as its source tells. */
function isSlotOf(
  schedule: Schedule,
  { next_run_source: source }: Partial<ScheduleState>,
  slotMs: number,
): boolean {
  if (schedule.type === "webhook" || schedule.type === "chat" || source === "paused") return false;
  if (source === "baseline-interval" || source === "first-run") return schedule.type === "interval";
  if (source === "once") return schedule.type === "once" && onceTimeMs(schedule) === slotMs;
  if (source !== "baseline-cron") return true;
  return schedule.type === "cron" && isCronRun(cronExpression(schedule), new Date(slotMs), schedule.timezone);
}

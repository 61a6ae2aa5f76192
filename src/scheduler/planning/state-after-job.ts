/** The state of a schedule after a job of it has ended, or its slot was dropped: the outcome, then the plan. Pure. */
import { isoText, isoTimeMs } from "../../iso-time.js";
import type { Random } from "../../random.js";
import { interruption, NO_PLAN, recordOutcome } from "../../state/claim-rules.js";
import type { JobEndStatus } from "../../state/job-log/job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { type Plan, planNextRun } from "./governor.js";
import type { Schedule } from "../timing/schedule.js";

/** A pause without an end. */
export const NO_END = "9999-12-31T23:59:59.999Z";

export interface Conclusion {
  readonly patch: ScheduleStatePatch;
  readonly plan: Plan | undefined;
  /** What was wrong with the state or the schedule, so that the plan is not what it would have been. */
  readonly problem?: string | undefined;
}

export interface PlanningInput {
  readonly now: Date;
  /** Absent when the schedule was removed. */
  readonly schedule: Schedule | undefined;
  readonly state: Partial<ScheduleState>;
  readonly random: Random;
  /** Whether this scheduler plans the schedule. `false`: a different node does, and the plan in the state stays. */
  readonly isPlannedHere?: boolean | undefined;
}

export interface FinishedRun {
  readonly result: { readonly status: JobEndStatus; readonly error?: string | undefined };
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** What changes in the state of a schedule when a job of it has ended, and the plan that follows. */
export function stateAfterJob(input: PlanningInput, run: FinishedRun): Conclusion {
  const { state, schedule } = input;
  const { result, startedAt, finishedAt: completedAt } = run;
  const { status, error } = result;
  if (status === "interrupted") return afterInterruption(input, error);
  const recorded = recordOutcome(state, { startedAt, completedAt, error });
  // A cancelled job is not a failure of its schedule.
  if (status === "cancelled")
    return dropSlot(input, { ...recorded, failure_count: state.failure_count ?? null });
  const pauses =
    error !== undefined &&
    schedule !== undefined &&
    "on_failure" in schedule &&
    schedule.on_failure === "pause";
  return dropSlot(input, pauses ? { ...recorded, paused_until: NO_END } : recorded);
}

/** As after the death of a process: due at once the first time, and then planned as after a failure. */
function afterInterruption(input: PlanningInput, error: string | undefined): Conclusion {
  const { now, state } = input;
  const { claim: _, ...interrupted } = interruption(state, now);
  const patch = { ...interrupted, last_error: error ?? null };
  if (input.schedule === undefined || patch.next_run_at == null) return dropSlot(input, patch);
  return { patch, plan: { nextRunAt: now, source: "catch-up" } };
}

/** A slot that is used up or dropped, with the changes that come with it: it is not planned again for the same reason. */
export function dropSlot(input: PlanningInput, changes: ScheduleStatePatch): Conclusion {
  const { state, isPlannedHere } = input;
  if (isPlannedHere === false) return planAfter(input, withPlan(changes, unusedPlan(state)));
  return planned(input, changes, Object.assign({}, state, changes, NO_PLAN));
}

/** A slot that is dropped because its agent was busy: the next one counts from it, or it would be due again at once. */
export function dropBusySlot(input: PlanningInput, slot: Date): Conclusion {
  const at = slot.toISOString();
  return dropSlot({ ...input, state: { ...input.state, last_started_at: at, last_completed_at: at } }, {});
}

/** The changes, and the plan that follows from the state with them. Does not throw: the end of a job must be written. */
export function planAfter(input: PlanningInput, changes: ScheduleStatePatch): Conclusion {
  const after = Object.assign({}, input.state, changes);
  return input.isPlannedHere === false
    ? { patch: changes, plan: planIn(after) }
    : planned(input, changes, after);
}

/** `after` is the state with the changes. */
function planned(
  input: PlanningInput,
  changes: ScheduleStatePatch,
  after: Partial<ScheduleState>,
): Conclusion {
  const { now, schedule, random } = input;
  try {
    const isPlanned = schedule !== undefined && after.status !== "disabled";
    const plan = isPlanned ? planNextRun({ now, schedule, state: after, random }) : undefined;
    return { patch: withPlan(changes, plan), plan };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    // A hint may come from a hand edit; one that cannot be read must not keep its schedule from running.
    if (after.hint != null) {
      const rest = planned(input, { ...changes, hint: null }, { ...after, hint: null });
      return { problem: `its hint was dropped: ${problem}`, ...rest };
    }
    return { patch: withPlan(changes, undefined), plan: undefined, problem };
  }
}

/** The plan in the state, unless its slot is used up: the slot of the claim, or without a claim the planned one. */
function unusedPlan(state: Partial<ScheduleState>): Plan | undefined {
  const { claim } = state;
  const plan = planIn(state);
  if (claim == null || plan === undefined) return undefined;
  const isUsedUp = isoTimeMs(claim.slot) === plan.nextRunAt.getTime() && claim.source === plan.source;
  return isUsedUp ? undefined : plan;
}

function planIn({ next_run_at, next_run_source: source }: Partial<ScheduleState>): Plan | undefined {
  const atMs = isoTimeMs(next_run_at);
  return atMs === undefined || source == null ? undefined : { nextRunAt: new Date(atMs), source };
}

export function planPatch(plan: Plan | undefined): ScheduleStatePatch {
  return withPlan({}, plan);
}

/** Assigned, not spread: with a spread each object would get its own hidden class, which is slow in a burst of jobs. */
function withPlan(changes: ScheduleStatePatch, plan: Plan | undefined): ScheduleStatePatch {
  const next_run_at = plan === undefined ? null : isoText(plan.nextRunAt);
  return Object.assign({}, changes, { next_run_at, next_run_source: plan?.source ?? null });
}

/** What is written when a job has ended: its outcome, then the plan that follows from it. Pure. */
import { isoText, isoTimeMs } from "../../iso-time.js";
import type { Random } from "../../random.js";
import { interruption } from "../../state/claim-rules.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { type Plan, planNextRun } from "./governor.js";
import { type JobOutcome, recordOutcome } from "../../state/job-outcome.js";
import type { Schedule } from "../timing/schedule.js";

/** A pause without an end. */
export const NO_END = "9999-12-31T23:59:59.999Z";

/** What is told of a plan. */
export interface PlanNews {
  readonly plan: Plan | undefined;
  /** What was wrong with the state or the schedule, so that the plan is not what it would have been. */
  readonly problem?: string | undefined;
}

export interface Conclusion extends PlanNews {
  readonly patch: ScheduleStatePatch;
}

export interface PlanningInput {
  readonly now: Date;
  /** Absent when the schedule is gone. */
  readonly schedule: Schedule | undefined;
  readonly state: Partial<ScheduleState>;
  readonly random: Random;
  /** Whether the plan is that of others who share the store, because the schedule is started by hand only here. */
  readonly isPlannedByOthers?: boolean | undefined;
}

export interface EndedJob extends JobOutcome {
  /** It was called off, which is no failure of the schedule. */
  readonly isCancelled?: boolean | undefined;
  /** It was told to end because its claim could not be renewed: its slot is not used up. */
  readonly isInterrupted?: boolean | undefined;
}

/** The state of a schedule after a job of it: an ended one with its outcome, or one that was never started. */
export function concludeJob(input: PlanningInput, job: EndedJob): Conclusion {
  const { state, schedule } = input;
  if (job.isInterrupted === true) return concludeCutOff(input, job);
  const recorded = recordOutcome(state, job);
  if (job.isCancelled === true)
    return dropSlot(input, { ...recorded, failure_count: state.failure_count ?? null });
  const pauses =
    job.error !== undefined &&
    schedule !== undefined &&
    "on_failure" in schedule &&
    schedule.on_failure === "pause";
  return dropSlot(input, pauses ? { ...recorded, paused_until: NO_END } : recorded);
}

/** As a store would when the process had died: due at once the first time, and then planned as after a failure. */
function concludeCutOff(input: PlanningInput, { error }: EndedJob): Conclusion {
  const { now, state } = input;
  const { claim: _, ...cutOff } = interruption(state, now);
  const patch = { ...cutOff, last_error: error ?? null };
  if (input.schedule === undefined || patch.next_run_at == null) return dropSlot(input, patch);
  return { patch, plan: { nextRunAt: now, source: "catch-up" } };
}

/** A slot that is used up or dropped, with the changes that come with it: it is not planned again for the same reason. */
export function dropSlot(input: PlanningInput, changes: ScheduleStatePatch): Conclusion {
  const left = input.isPlannedByOthers === true ? unusedPlan(input.state) : undefined;
  return planAfter(input, withPlan(changes, left));
}

/** A slot that is dropped because its agent was busy: the next one counts from it, or it would be due again at once. */
export function dropBusySlot(input: PlanningInput, slot: Date): Conclusion {
  const at = slot.toISOString();
  return dropSlot({ ...input, state: { ...input.state, last_started_at: at, last_completed_at: at } }, {});
}

/** The changes, and the plan that follows from the state with them. Does not throw: who ends a job must come to an end. */
export function planAfter(input: PlanningInput, changes: ScheduleStatePatch): Conclusion {
  try {
    return planned(input, changes);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    // A hint may be written by anyone; one that cannot be read must not keep its schedule from running.
    if (input.state.hint != null && changes.hint !== null)
      return { problem: `its hint was dropped: ${problem}`, ...planAfter(input, { ...changes, hint: null }) };
    return { patch: withPlan(changes, undefined), plan: undefined, problem };
  }
}

function planned(input: PlanningInput, changes: ScheduleStatePatch): Conclusion {
  const { now, schedule, state, random } = input;
  const after: Partial<ScheduleState> = Object.assign({}, state, changes);
  if (input.isPlannedByOthers === true) return { patch: changes, plan: planIn(after) };
  const isPlanned = schedule !== undefined && after.status !== "disabled";
  const plan = isPlanned ? planNextRun({ now, schedule, state: after, random }) : undefined;
  return { patch: withPlan(changes, plan), plan };
}

/** The plan that is there, unless its slot is the one that is used up: that of the claim, or without one, its own. */
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

/** Assigned, not spread: spreading would give each object a shape of its own, which costs a burst of jobs dearly. */
function withPlan(changes: ScheduleStatePatch, plan: Plan | undefined): ScheduleStatePatch {
  const next_run_at = plan === undefined ? null : isoText(plan.nextRunAt);
  return Object.assign({}, changes, { next_run_at, next_run_source: plan?.source ?? null });
}

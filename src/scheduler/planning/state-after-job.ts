/** The state of a schedule after a job of it has ended, or its slot was dropped: the outcome, then the plan. Pure. */
import { isoText, isoTimeMs } from "../../iso-time.js";
import type { Random } from "../../random.js";
import {
  backfillAfter,
  backfillSlot,
  interruption,
  isRetried,
  NO_PLAN,
  NO_SLOT,
  recordOutcome,
} from "../../state/claim-rules.js";
import type { JobEndStatus } from "../../state/job-log/job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import { planBackfill } from "./backfill.js";
import { countedFailures, type RunParts } from "./failed-run.js";
import { type Plan, planNextRun } from "./governor.js";
import { nextTry } from "./next-try.js";
import { type ReplacedPlan, type UnrunSlots, unrunSlots, withBeside } from "./unrun-slots.js";
import type { Schedule } from "../timing/schedule.js";

/** A pause without an end. */
export const NO_END = "9999-12-31T23:59:59.999Z";

export interface Conclusion {
  readonly patch: ScheduleStatePatch;
  readonly plan: Plan | undefined;
  /** What was wrong with the state or the schedule, so that the plan is not what it would have been. */
  readonly problem?: string | undefined;
  /** The slots that passed without a run; `patch` counts them. */
  readonly unrun?: UnrunSlots | undefined;
}

export interface PlanningInput {
  readonly now: Date;
  /** Absent when the schedule was removed. */
  readonly schedule: Schedule | undefined;
  readonly state: Partial<ScheduleState>;
  /** What the schedule runs. Absent when it was removed. */
  readonly runs?: RunParts | undefined;
  readonly random: Random;
  /** Whether this scheduler plans the schedule. `false`: a different node does, and the plan in the state stays. */
  readonly isPlannedHere?: boolean | undefined;
}

export interface FinishedRun {
  readonly result: {
    readonly status: JobEndStatus;
    readonly error?: string | null | undefined;
  };
  /** The id of the item that it worked on. */
  readonly workItem?: string | undefined;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** What changes in the state of a schedule when a job of it has ended, and the plan that follows. */
export function stateAfterJob(input: PlanningInput, run: FinishedRun): Conclusion {
  const { state } = input;
  const { result, startedAt, finishedAt: completedAt } = run;
  const { status } = result;
  const error = result.error ?? undefined;
  if (status === "interrupted") return afterInterruption(input, error);
  const recorded = recordOutcome(state, { startedAt, completedAt, error });
  // A cancelled job is not a failure of its schedule.
  if (status === "cancelled")
    return dropSlot(input, { ...recorded, failure_count: state.failure_count ?? null }, RUN);
  if (error !== undefined) {
    const again = nextTry(input, { status, failedAt: completedAt, workItem: run.workItem });
    // It is no failure of its schedule yet.
    const failure_count = state.failure_count ?? null;
    if (again !== undefined) return planAfter(input, { ...recorded, failure_count, ...again });
  }
  if (error !== undefined) return dropSlot(input, { ...recorded, ...failed(input) }, RUN);
  return dropSlot(input, state.failed_run == null ? recorded : { ...recorded, failed_run: null }, RUN);
}

/** As `stateAfterJob`, for a job whose end was recorded, while whether its slot is tried again was not decided. */
export function stateAfterRecorded(input: PlanningInput, changes: ScheduleStatePatch = {}): Conclusion {
  const { state } = input;
  const { last_job, retry, last_started_at, last_completed_at, last_error, failure_count } = state;
  const at = (text: string | null | undefined): Date => new Date(isoTimeMs(text) ?? input.now.getTime());
  const slot = retry?.slot ?? input.now.toISOString();
  const claim = { token: "", job_id: last_job?.id ?? "", slot, source: "retry" } as const;
  const uncounted = { failure_count: Math.max((failure_count ?? 0) - 1, 0) };
  const run = {
    result: { status: last_job?.status ?? "failed", error: last_error ?? "failed" },
    startedAt: at(last_started_at),
    finishedAt: at(last_completed_at),
  };
  const before = { ...state, ...changes, ...uncounted, claim };
  const conclusion = stateAfterJob({ ...input, state: before }, run);
  return { ...conclusion, patch: { ...changes, ...conclusion.patch } };
}

/** As after the death of a process: the slot runs again. */
function afterInterruption(input: PlanningInput, error: string | undefined): Conclusion {
  const { now, state } = input;
  const { claim: _, ...interrupted } = interruption(state, now);
  const patch = { ...interrupted, last_error: error ?? null };
  return patch.retry == null ? dropSlot(input, patch, RUN) : planAfter(input, patch);
}

/** The state after a slot that is given up because its jobs were interrupted: they count as one failure. */
export function abandonSlot(input: PlanningInput): Conclusion {
  const { now, state } = input;
  const changes = {
    last_completed_at: now.toISOString(),
    abandoned_count: (state.abandoned_count ?? 0) + 1,
    ...failed(input),
  };
  return dropSlot(input, changes, RUN);
}

/** A failure that counts. */
function failed({ state, schedule, runs }: PlanningInput): ScheduleStatePatch {
  const { failures, failed_run } = countedFailures(state, runs);
  const changes = { failure_count: failures + 1, failed_run };
  return pausesOnFailure(schedule) ? { ...changes, paused_until: NO_END } : changes;
}

export function pausesOnFailure(schedule: Schedule | undefined): boolean {
  return schedule !== undefined && "on_failure" in schedule && schedule.on_failure === "pause";
}

/** What becomes of the slot whose plan is replaced. */
export interface SlotEnd {
  /** Whether it was run. */
  readonly isRun: boolean;
  /** Whether it is given up for good. A `once` that is only planned again keeps its slot. */
  readonly isDropped: boolean;
  /** A slot that is due, and comes before the baseline's next time. */
  readonly dueAt?: Date | undefined;
}

const RUN: SlotEnd = { isRun: true, isDropped: false };
const DROPPED: SlotEnd = { isRun: false, isDropped: true };
const REPLACED: SlotEnd = { isRun: false, isDropped: false };

/** A slot that is used up or dropped, with the changes that come with it: it is not planned again for the same reason. */
export function dropSlot(
  input: PlanningInput,
  changes: ScheduleStatePatch,
  end: SlotEnd = DROPPED,
): Conclusion {
  const { state, isPlannedHere } = input;
  if (state.backfill != null && end.isRun)
    changes = { ...changes, ...backfillAfter(state, changes.last_error != null) };
  if (state.retry != null) return dropBeside(input, changes, end);
  if (isPlannedHere === false) {
    const plan = unusedPlan(state);
    const { claim } = state;
    // The node that plans the schedule counts from here.
    const isUsedUp = plan === undefined && claim != null && claim.source !== "manual";
    const since = isUsedUp ? { accounted_until: claim.slot } : {};
    return planAfter(input, withPlan({ ...changes, ...since }, plan));
  }
  return planned(input, changes, Object.assign({}, state, changes, NO_PLAN), end);
}

/** A slot that was missed. `latest`: a later slot of its schedule that is due and not too late, and runs in its place. */
export function dropMissedSlot(input: PlanningInput, latest: Date | undefined): Conclusion {
  return dropSlot(input, {}, { ...DROPPED, dueAt: latest });
}

/** As `dropSlot` where `retry` has a slot: the one that is used up, or one that waits for its next attempt and waits on. */
function dropBeside(input: PlanningInput, changes: ScheduleStatePatch, end: SlotEnd): Conclusion {
  const { state, isPlannedHere } = input;
  if (!isRetried(state)) return planAfter(input, withPlan(changes, planIn(state)));
  const ended = { ...changes, ...NO_SLOT };
  if (isPlannedHere !== false) return planned(input, ended, { ...state, ...ended }, end);
  const beside = state.retry?.beside;
  const unrun = beside == null ? undefined : withBeside(beside, undefined);
  return withUnrun(state, { patch: ended, plan: undefined, unrun });
}

/** A slot that is dropped because its agent was busy: the next one counts from it, or it would be due again at once. */
export function dropBusySlot(input: PlanningInput, slot: Date): Conclusion {
  const at = slot.toISOString();
  return dropSlot({ ...input, state: { ...input.state, last_started_at: at, last_completed_at: at } }, {});
}

/**
 * The changes, and the plan that follows from the state with them. Does not throw: the end of a job must be written.
 * `dueAt`: a slot that is due, and comes before the baseline's next time.
 */
export function planAfter(input: PlanningInput, changes: ScheduleStatePatch, dueAt?: Date): Conclusion {
  const after = Object.assign({}, input.state, changes);
  return input.isPlannedHere === false
    ? { patch: changes, plan: planIn(after) }
    : planned(input, changes, after, { ...REPLACED, dueAt });
}

/** `after` is the state with the changes. */
function planned(
  input: PlanningInput,
  changes: ScheduleStatePatch,
  after: Partial<ScheduleState>,
  end: SlotEnd,
): Conclusion {
  const { now, schedule, random, state } = input;
  // A `once` that is missed is over; whether it is decides the plan.
  if (end.isDropped && schedule?.type === "once" && isDue(state, now))
    Object.assign(after, { last_missed_at: state.next_run_at });
  let plan: Plan | undefined;
  try {
    const isPlanned = schedule !== undefined && after.status !== "disabled";
    plan = isPlanned ? planNextRun({ now, schedule, state: after, random }) : undefined;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    // A hint may come from a hand edit; one that cannot be read must not keep its schedule from running.
    if (after.hint != null) {
      const rest = planned(input, { ...changes, hint: null }, { ...after, hint: null }, end);
      return { problem: `its hint was dropped: ${problem}`, ...rest };
    }
    return { patch: withPlan(changes, undefined), plan: undefined, problem };
  }
  const { dueAt } = end;
  if (dueAt !== undefined && (plan?.source === "baseline-cron" || plan?.source === "baseline-interval"))
    plan = { nextRunAt: dueAt, source: state.backfill == null ? plan.source : "catch-up" };
  if (state.backfill != null || after.backfill != null) {
    const beside = planBackfill({ now, schedule, state, after, isRun: end.isRun, plan });
    plan = beside.plan;
    if (beside.backfill !== undefined) changes = { ...changes, backfill: beside.backfill };
  }
  // As in withPlan.
  const next_run_at = plan === undefined ? null : isoText(plan.nextRunAt);
  const patch = Object.assign({}, changes, { next_run_at, next_run_source: plan?.source ?? null });
  // The plan of an interval is its only slot: it was run, unless the claim is of a job that was triggered beside it.
  const { claim } = state;
  const isOnly =
    schedule?.type === "interval" &&
    claim?.slot === state.next_run_at &&
    claim?.source !== "manual" &&
    state.retry == null;
  return end.isRun && isOnly ? { patch, plan } : counted({ ...input, after, isRun: end.isRun }, patch, plan);
}

function isDue({ next_run_at, next_run_source }: Partial<ScheduleState>, now: Date): boolean {
  return next_run_source !== "paused" && (isoTimeMs(next_run_at) ?? Infinity) <= now.getTime();
}

/** The conclusion with the slots that passed without a run. */
function counted(
  replaced: Omit<ReplacedPlan, "plan">,
  patch: ScheduleStatePatch,
  plan: Plan | undefined,
): Conclusion {
  const { now, schedule, state } = replaced;
  const passed = unrunSlots({ ...replaced, plan });
  const beside = replaced.after.retry == null ? state.retry?.beside : undefined;
  const unrun = beside == null ? passed : withBeside(beside, passed);
  // What passes during a pause is counted when the schedule is planned again.
  const isHeldBack = schedule?.type === "cron" && (plan?.source === "paused" || plan?.source === "manual");
  // From when times are counted stays while a slot is tried again: its time may lie ahead, where a clock was set back.
  const isOpen =
    replaced.after.retry != null && (replaced.after.accounted_until != null || state.backfill != null);
  if (isOpen && unrun === undefined) return { patch, plan };
  if (!isOpen && (isHeldBack || replaced.after.accounted_until != null))
    Object.assign(patch, { accounted_until: isHeldBack ? isoText(now) : null });
  return unrun === undefined ? { patch, plan } : withUnrun(state, { patch, plan, unrun });
}

/** The conclusion, with its slots counted in the state. */
function withUnrun(state: Partial<ScheduleState>, conclusion: Conclusion): Conclusion {
  const { patch, plan, unrun } = conclusion;
  if (unrun === undefined) return conclusion;
  const missed_count = (state.missed_count ?? 0) + unrun.count;
  const lastMs = Math.max(unrun.lastSlot.getTime(), isoTimeMs(state.last_missed_at) ?? -Infinity);
  return { patch: Object.assign({}, patch, { missed_count, last_missed_at: isoText(lastMs) }), plan, unrun };
}

/** The plan in the state, unless its slot is used up: the slot of the claim, or without a claim the planned one. */
function unusedPlan(state: Partial<ScheduleState>): Plan | undefined {
  const { claim } = state;
  const plan = planIn(state);
  if (claim == null || plan === undefined) return undefined;
  const isUsedUp = isoTimeMs(claim.slot) === plan.nextRunAt.getTime() && claim.source === plan.source;
  return isUsedUp || claim.slot === backfillSlot(state) ? undefined : plan;
}

/** The plan in the state. */
export function planIn({ next_run_at, next_run_source: source }: Partial<ScheduleState>): Plan | undefined {
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

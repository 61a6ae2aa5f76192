/**
 * Which slots pass without a run when a plan is replaced by the next one? Every slot ends as a run or is counted here: the
 * planned time that came due, and for cron each grid time between it and the next plan. Pure.
 */
import { isoTimeMs } from "../../iso-time.js";
import { backfillSlot, slotBeside } from "../../state/claim-rules.js";
import type { PlanSource, ScheduleState } from "../../state/schedule-state.js";
import { countCronRuns, isCronRun, nextCronRun, previousCronRun } from "../timing/cron.js";
import { type CronSchedule, cronExpression, onceTimeMs, type Schedule } from "../timing/schedule.js";
import { type Plan, planNextRun } from "./governor.js";

/** Slots that are counted together. */
export interface UnrunSlots {
  /** The first of them. */
  readonly slot: Date;
  readonly lastSlot: Date;
  readonly count: number;
}

export interface ReplacedPlan {
  readonly now: Date;
  readonly schedule: Schedule | undefined;
  /** With the plan that is replaced, and the claim that ends. */
  readonly state: Partial<ScheduleState>;
  /** With all changes but the plan. */
  readonly after: Partial<ScheduleState>;
  readonly plan: Plan | undefined;
  /** Whether the slot of the claim was run. */
  readonly isRun: boolean;
}

/** The slots that were not run, from the one that was planned to the next plan. */
export function unrunSlots(replaced: ReplacedPlan): UnrunSlots | undefined {
  const { now, schedule, state, after, plan } = replaced;
  // A slot that is tried again is still open. A planned time that came due beside it is dropped.
  if (after.retry != null) {
    const beside = replaced.isRun || after.retry.beside != null ? undefined : slotBeside(state, now);
    return beside && single(beside.getTime());
  }
  // A past slot that was run anew takes none of the schedule's times away.
  if (state.backfill != null && backfillSlot(state) !== undefined)
    return gridOf(replaced)(isoTimeMs(state.accounted_until), Infinity);
  const triedMs = isoTimeMs(state.retry?.slot);
  const plannedMs = triedMs ?? isoTimeMs(state.next_run_at) ?? Infinity;
  const grid = gridOf(replaced);
  const countedMs = isoTimeMs(state.accounted_until);
  if (plannedMs > now.getTime()) return grid(countedMs, Infinity);
  // It stays due, unless a backfill runs at the moment at which a pause ends.
  const isKept = plan?.nextRunAt.getTime() === plannedMs && plan.source !== "manual";
  if (isKept || (schedule?.type === "once" && plan?.source === "paused")) return undefined;
  const open =
    schedule?.type === "once" && triedMs !== undefined && plan === undefined ? onceTimeMs(schedule) : 0;
  // The time of a `once` that passed while a job requested before it was tried again.
  if (triedMs !== undefined && triedMs < open && open <= now.getTime()) return single(open);
  const isUsed = triedMs !== undefined || (replaced.isRun && isClaimed(state, plannedMs));
  const own = isUsed || !isSlot(schedule, state.next_run_source, plannedMs) ? undefined : single(plannedMs);
  // An order replaces the grid times until it runs: it may name a time of last year.
  const isOrder = triedMs === undefined && state.next_run_source === "manual";
  const fromMs = isOrder ? (isoTimeMs(state.claim?.claimed_at) ?? now.getTime()) : plannedMs;
  return together(together(grid(countedMs, plannedMs - 1), own), grid(fromMs, Infinity));
}

/** With the planned slot that came due beside a requested job, and was kept until the slot of that job was over. */
export function withBeside(beside: string, unrun: UnrunSlots | undefined): UnrunSlots | undefined {
  const atMs = isoTimeMs(beside);
  if (atMs === undefined || unrun === undefined) return atMs === undefined ? unrun : single(atMs);
  const { slot, lastSlot, count } = unrun;
  return {
    slot: new Date(Math.min(atMs, slot.getTime())),
    lastSlot: new Date(Math.max(atMs, lastSlot.getTime())),
    count: count + 1,
  };
}

/** Whether the claim is of the planned slot, and not of a job that was triggered beside it. */
function isClaimed({ claim, next_run_source }: Partial<ScheduleState>, plannedMs: number): boolean {
  if (claim == null || isoTimeMs(claim.slot) !== plannedMs) return false;
  return claim.source !== "manual" || next_run_source === "manual";
}

/** The end of a pause is a slot only where it is one of the schedule's times. */
function isSlot(
  schedule: Schedule | undefined,
  source: PlanSource | null | undefined,
  plannedMs: number,
): boolean {
  if (source !== "paused") return true;
  return (
    schedule?.type === "cron" && isCronRun(cronExpression(schedule), new Date(plannedMs), schedule.timezone)
  );
}

/** Sources of plans before which all grid times have passed. */
const GRID_SOURCES: ReadonlySet<PlanSource> = new Set<PlanSource>([
  "baseline-cron",
  "ai-oneshot",
  "catch-up",
]);

/** Counts the grid times after one instant, up to and including a second one, that have passed before the next plan. */
function gridOf({
  now,
  schedule,
  after,
  plan,
}: ReplacedPlan): (afterMs: number | undefined, untilMs: number) => UnrunSlots | undefined {
  if (schedule?.type !== "cron" || plan === undefined || after.status === "disabled") return () => undefined;
  const isByGrid = GRID_SOURCES.has(plan.source);
  const endMs = isByGrid ? plan.nextRunAt.getTime() - 1 : now.getTime();
  return (afterMs, untilMs) => {
    const found = afterMs === undefined ? undefined : gridSlots(schedule, afterMs, Math.min(untilMs, endMs));
    return found !== undefined && (isByGrid || hasGrid(schedule, after, now)) ? found : undefined;
  };
}

/** Whether a cron schedule runs at its grid times now: neither a hint nor a limit replaces them. */
export function hasGrid(schedule: CronSchedule, state: Partial<ScheduleState>, now: Date): boolean {
  const unpaused = { ...state, paused_until: null, next_run_at: null, next_run_source: null };
  try {
    const { source } = planNextRun({ now, schedule, state: unpaused });
    return source === "baseline-cron" || source === "ai-oneshot";
  } catch {
    // A hint that cannot be read is dropped.
    return state.hint != null && hasGrid(schedule, { ...state, hint: null }, now);
  }
}

/** The times of a cron schedule after one instant, up to and including a second one. */
export function gridSlots(schedule: CronSchedule, afterMs: number, untilMs: number): UnrunSlots | undefined {
  if (!(afterMs < untilMs)) return undefined;
  const expression = cronExpression(schedule);
  const { timezone } = schedule;
  try {
    const after = new Date(afterMs);
    const slot = nextCronRun(expression, after, timezone);
    if (slot.getTime() > untilMs) return undefined;
    const count = countCronRuns(expression, after, new Date(untilMs), timezone);
    return { slot, lastSlot: previousCronRun(expression, new Date(untilMs + 1), timezone), count };
  } catch {
    // A state file may hold a time outside the calendar.
    return undefined;
  }
}

function single(atMs: number): UnrunSlots {
  return { slot: new Date(atMs), lastSlot: new Date(atMs), count: 1 };
}

function together(first: UnrunSlots | undefined, second: UnrunSlots | undefined): UnrunSlots | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return { slot: first.slot, lastSlot: second.lastSlot, count: first.count + second.count };
}

/** When does the next slot of a backfill run? After whatever of the schedule's own is due, and not during a pause. Pure. */
import { isoText, isoTimeMs } from "../../iso-time.js";
import { backfillSlot } from "../../state/claim-rules.js";
import type { StoredBackfill } from "../../state/schedule-state.js";
import { parseInterval } from "../timing/interval.js";
import type { Plan } from "./governor.js";
import { gridSlots, hasGrid, type ReplacedPlan } from "./unrun-slots.js";

export interface BackfillPlan {
  readonly plan: Plan | undefined;
  /** Set where the plan is the backfill's. */
  readonly backfill?: StoredBackfill | undefined;
}

/** The governor's plan, or the next past slot where that plan lies ahead. `min_interval` keeps slots apart. */
export function planBackfill({ now, schedule, state, after, plan, isRun }: ReplacedPlan): BackfillPlan {
  if (schedule === undefined || plan === undefined || plan.source === "paused" || after.retry != null)
    return { plan };
  // The schedule's own slot that came due while a past one ran is not late: it waited.
  const sinceMs = Math.max(
    isoTimeMs(state.accounted_until) ?? Infinity,
    isoTimeMs(state.claim?.claimed_at) ?? Infinity,
  );
  if (isRun && schedule.type === "cron" && backfillSlot(state) !== undefined) {
    const own = gridSlots(schedule, sinceMs, now.getTime())?.lastSlot;
    if (own !== undefined && hasGrid(schedule, after, now))
      return { plan: { nextRunAt: own, source: "catch-up" } };
  }
  const { backfill } = after;
  if (backfill == null) return { plan };
  const shortest = "min_interval" in schedule ? schedule.min_interval : undefined;
  const earliestMs = now.getTime() + (shortest === undefined ? 0 : parseInterval(shortest));
  const plannedMs = isoTimeMs(backfill.at) ?? Infinity;
  // Planning again puts no slot off.
  const atMs = plannedMs >= now.getTime() ? Math.min(plannedMs, earliestMs) : earliestMs;
  if (plan.nextRunAt.getTime() <= atMs) return { plan };
  return {
    plan: { nextRunAt: new Date(atMs), source: "manual" },
    backfill: { ...backfill, at: isoText(new Date(atMs)) },
  };
}

/**
 * Does a plan found in the state still hold for the schedule as it is defined now? A plan made for an earlier definition,
 * before a restart or a change of agents, is made anew; a slot of this schedule that has come due stays. Pure.
 */
import { isoTimeMs } from "../../iso-time.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import { isCronRun } from "../timing/cron.js";
import { type Conclusion, planAfter, type PlanningInput } from "./state-after-job.js";
import type { Plan } from "./governor.js";
import { cronExpression, onceTimeMs, type Schedule } from "../timing/schedule.js";

export interface AdoptionInput extends PlanningInput {
  readonly schedule: Schedule;
}

/** The plan to go by from now on; `undefined` when the one in the state stays. */
export function adoptPlan(input: AdoptionInput): Conclusion | undefined {
  const { now, schedule, state } = input;
  const plannedMs = isoTimeMs(state.next_run_at);
  if (plannedMs === undefined || state.status === "disabled") return planAfter(input, {});
  // An order for a time, whatever the schedule says.
  if (state.next_run_source === "manual") return undefined;
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

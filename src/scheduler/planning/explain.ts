/**
 * Explains a plan: which rule proposed which time, in the order of the rules. Asks the governor with one more rule each time, so
 * that the explanation cannot differ from the plan. Pure.
 */
import type { ScheduleState } from "../../state/schedule-state.js";
import type { Schedule } from "../timing/schedule.js";
import { type Plan, type PlanInput, planNextRun } from "./governor.js";

/** `baseline`: the schedule's own rule. `state`: all that the state adds, such as a try that is made again. */
export type PlanRule = "baseline" | "failures" | "hint" | "limits" | "pause" | "state";

/** A rule that changed the plan, and the plan after it. */
export interface PlanStep extends Plan {
  readonly rule: PlanRule;
}

export interface ExplainedPlan extends Plan {
  /** The rules that had an effect, in their order; the last step is the plan. */
  readonly trail: readonly PlanStep[];
}

/** The plan of `planNextRun`, with the rules that led to it; `undefined` when the loop has nothing to start. */
export function explainNextRun(input: PlanInput): ExplainedPlan | undefined {
  const { schedule, state } = input;
  // The same jitter for each question.
  const drawn = input.random?.() ?? 0;
  const asked = { ...input, random: () => drawn };
  const plan = planNextRun(asked);
  if (plan === undefined) return undefined;
  const trail: PlanStep[] = [];
  const ask = (rule: PlanRule, known: Partial<ScheduleState>, planned: Schedule): void => {
    const next = planNextRun({ ...asked, schedule: planned, state: known });
    const before = trail.at(-1);
    const isSame =
      next?.source === before?.source && next?.nextRunAt.getTime() === before?.nextRunAt.getTime();
    if (next !== undefined && !isSame) trail.push({ rule, ...next });
  };
  const bare = barely(state);
  const free = withoutLimits(schedule);
  ask("baseline", bare, free);
  ask("failures", { ...bare, failure_count: state.failure_count }, free);
  const hinted = { ...bare, failure_count: state.failure_count, hint: state.hint };
  ask("hint", hinted, free);
  ask("limits", hinted, schedule);
  ask("pause", { ...hinted, paused_until: state.paused_until }, schedule);
  ask("state", state, schedule);
  return { ...plan, trail };
}

/** What the baseline is counted from, and nothing that changes it. */
function barely({
  last_run_at,
  last_started_at,
  last_completed_at,
}: Partial<ScheduleState>): Partial<ScheduleState> {
  return { last_run_at, last_started_at, last_completed_at };
}

function withoutLimits(schedule: Schedule): Schedule {
  return schedule.type === "interval" || schedule.type === "cron"
    ? { ...schedule, min_interval: undefined, max_interval: undefined }
    : schedule;
}

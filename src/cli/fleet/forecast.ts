/** The next runs of a schedule as the governor would plan them, if each ended well and at once. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import { type Plan, planNextRun } from "../../scheduler/planning/governor.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import { isPausedForEver, isRunning } from "../format/plan.js";

export interface ForecastInput {
  readonly definition: AgentSchedule;
  /** `{ status: "idle" }` for a schedule that never ran. */
  readonly state: ScheduleState;
  readonly now: Date;
  readonly count: number;
}

/** Fewer than `count` where there are no more: a `once`, or what waits for a request. */
export function forecast({ definition, state, now, count }: ForecastInput): readonly Plan[] {
  const runs: Plan[] = [];
  if (state.status === "disabled" || isPausedForEver(state)) return runs;
  let known = isRunning(state) ? ended(state, now) : state;
  let at = now;
  // The end of a pause is a time to plan again, and no run.
  for (let pauses = 0; runs.length < count && pauses <= 1;) {
    const plan = storedPlan(known, at) ?? planNextRun({ now: at, schedule: definition, state: known });
    if (plan === undefined) break;
    at = plan.nextRunAt;
    if (plan.source === "paused") {
      pauses += 1;
      known = resumed(known);
      continue;
    }
    runs.push(plan);
    known = afterRun(known, plan);
  }
  return runs;
}

/** The plan that a scheduler has made already. One that has passed is for now. */
function storedPlan({ next_run_at, next_run_source }: ScheduleState, now: Date): Plan | undefined {
  const ms = isoTimeMs(next_run_at);
  if (ms === undefined || next_run_source == null) return undefined;
  return { nextRunAt: new Date(Math.max(ms, now.getTime())), source: next_run_source };
}

/** The run under way is no next one. Its successor is planned when it has ended, and that may be now. */
function ended(state: ScheduleState, now: Date): ScheduleState {
  const startedAt = state.claim?.claimed_at ?? now.toISOString();
  return afterRun(
    { ...state, claim: null },
    { nextRunAt: now, source: state.claim?.source ?? "manual", startedAt },
  );
}

function resumed(state: ScheduleState): ScheduleState {
  return { ...state, paused_until: null, next_run_at: null, next_run_source: null };
}

function afterRun(state: ScheduleState, run: Plan & { readonly startedAt?: string }): ScheduleState {
  const { nextRunAt, source } = run;
  const at = nextRunAt.toISOString();
  const startedAt = run.startedAt ?? at;
  return {
    ...state,
    last_run_at: startedAt,
    last_started_at: startedAt,
    last_completed_at: at,
    failure_count: 0,
    next_run_at: null,
    next_run_source: null,
    // An extra run uses its hint up, but not the other interval that it may have as well.
    hint: source === "ai-oneshot" && state.hint != null ? { ...state.hint, next_run_at: null } : state.hint,
  };
}

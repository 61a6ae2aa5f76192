/** The next runs of a schedule as the governor would plan them, if each job succeeded immediately. Pure. */
import { isoTimeMs } from "../../iso-time.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import { type Plan, planNextRun } from "../../scheduler/planning/governor.js";
import { type AgentPause, pauseEndMs } from "../../state/agent-pause.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import { isPausedIndefinitely, isRunning } from "../format/plan.js";

export interface ForecastInput {
  readonly definition: AgentSchedule;
  /** `{ status: "idle" }` for a schedule that never ran. */
  readonly state: ScheduleState;
  /** What holds its whole agent back. */
  readonly pause?: AgentPause | undefined;
  readonly now: Date;
  readonly count: number;
}

/** Fewer than `count` for a schedule that runs `once` or on request only. */
export function forecast({ definition, state, pause, now, count }: ForecastInput): readonly Plan[] {
  const runs: Plan[] = [];
  if (state.status === "disabled" || isPausedIndefinitely({ state, pause })) return runs;
  let known = isRunning(state) ? ended(state, now) : state;
  let at = new Date(Math.max(now.getTime(), pauseEndMs(pause)));
  // A cron time that passes during the pause of its agent is not made up for.
  const plannedMs = isoTimeMs(known.next_run_at) ?? Infinity;
  if (at > now && definition.type === "cron" && plannedMs < at.getTime()) known = resumed(known);
  // A plan with source "paused" is the end of a pause: the schedule is planned again then, and does not run.
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

/** The plan in the state. A time in the past becomes now. */
function storedPlan({ next_run_at, next_run_source }: ScheduleState, now: Date): Plan | undefined {
  const ms = isoTimeMs(next_run_at);
  if (ms === undefined || next_run_source == null) return undefined;
  return { nextRunAt: new Date(Math.max(ms, now.getTime())), source: next_run_source };
}

/** The state after the running job, as if it ended now. The running job is not part of the forecast. */
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
    // An extra run consumes its part of the hint; the hint's interval stays.
    hint: source === "ai-oneshot" && state.hint != null ? { ...state.hint, next_run_at: null } : state.hint,
  };
}

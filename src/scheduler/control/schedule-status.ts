/** What a schedule looks like from outside: its state, and what keeps it from running right now. */
import { isoTimeMs } from "../../iso-time.js";
import type { AgentPause } from "../../state/agent-pause.js";
import type { PlanSource, ScheduleHint, ScheduleState, StoredStatus } from "../../state/schedule-state.js";
import type { ScheduleKey } from "../../state/store.js";
import { type AgentSchedule, capacityOf } from "../agent.js";
import type { JobStarter } from "../jobs/job-starter.js";
import { type BackfillProgress, backfillProgress } from "./backfill.js";
import { checkSchedule, type ScheduleQuestion, type ScheduleSkipReason } from "./schedule-check.js";
import type { SchedulerContext } from "../context.js";

export interface ScheduleStatus {
  readonly agent: string;
  readonly schedule: string;
  readonly status: StoredStatus;
  /** The start of the latest run. */
  readonly lastRunAt: Date | undefined;
  readonly nextRunAt: Date | undefined;
  /** Why it runs next when it does. */
  readonly source: PlanSource | undefined;
  /** Of the last run; or why the schedule was refused when it was defined. */
  readonly lastError: string | undefined;
  /** Failures since the last success. */
  readonly failureCount: number;
  readonly missedCount: number;
  readonly pausedUntil: Date | undefined;
  /** What holds its whole agent back. The plan stays meanwhile: `nextRunAt` may have passed. */
  readonly agentPause?: AgentPause | undefined;
  readonly hint: ScheduleHint | undefined;
  /** How far the backfill is that is under way. */
  readonly backfill?: BackfillProgress | undefined;
  /** What it waits for; `undefined` when the next pass starts it. */
  readonly waiting: ScheduleSkipReason | undefined;
}

/** The schedules of one agent, or of all, in the order of their definition. `isFull`: the whole herd is at capacity. */
export async function listSchedules(
  context: SchedulerContext,
  jobs: JobStarter,
  { onlyAgent, isFull }: { readonly onlyAgent: string | undefined; readonly isFull: boolean },
): Promise<ScheduleStatus[]> {
  const { roster, store, clock } = context;
  const agents = [...roster.agents.values()].filter(
    ({ name }) => onlyAgent === undefined || name === onlyAgent,
  );
  const pauses = await store.pauses();
  const lists = agents.map(async (agent) => {
    const pause = pauses.get(agent.name);
    const states = await store.list(agent.name);
    const isAtCapacity = isFull || jobs.countOf(agent.name) >= capacityOf(agent);
    return [...roster.schedulesOf(agent.name)].map(([name, schedule]) => {
      const key = { agent: agent.name, schedule: name };
      const isRunning = jobs.isRunning(key);
      const about = { schedule, isAtCapacity, isRunning, pause, nowMs: clock.now().getTime() };
      return statusOf(key, states.get(name) ?? { status: "idle" }, about, roster.problemOf(key));
    });
  });
  return (await Promise.all(lists)).flat();
}

interface Surroundings {
  readonly schedule: AgentSchedule;
  readonly isRunning: boolean;
  readonly isAtCapacity: boolean;
  readonly pause: AgentPause | undefined;
  readonly nowMs: number;
}

function statusOf(
  key: ScheduleKey,
  state: ScheduleState,
  about: Surroundings,
  problem: Error | undefined,
): ScheduleStatus {
  const isRefused = problem !== undefined;
  const { pause } = about;
  const isHeld = pause !== undefined && state.next_run_at != null;
  return {
    ...key,
    status: state.status,
    lastRunAt: dateOf(state.last_run_at),
    nextRunAt: isRefused ? undefined : dateOf(state.next_run_at),
    source: isRefused ? undefined : isHeld ? "paused" : (state.next_run_source ?? undefined),
    lastError: problem?.message ?? state.last_error ?? undefined,
    failureCount: state.failure_count ?? 0,
    missedCount: state.missed_count ?? 0,
    pausedUntil: dateOf(state.paused_until),
    ...(pause === undefined ? {} : { agentPause: pause }),
    hint: state.hint ?? undefined,
    backfill: backfillProgress(state),
    waiting: isRefused ? "unsupported_type" : waitsFor({ ...about, state }),
  };
}

/** A pause of the agent is the last reason that is checked, as a pause of the schedule is. */
function waitsFor({
  pause,
  ...question
}: ScheduleQuestion & Pick<Surroundings, "pause">): ScheduleSkipReason | undefined {
  const check = checkSchedule(question);
  const isHeld = pause !== undefined || question.state.next_run_source === "paused";
  if (check.shouldTrigger) return pause === undefined ? undefined : "paused";
  return check.skipReason === "not_due" && isHeld ? "paused" : check.skipReason;
}

function dateOf(text: string | null | undefined): Date | undefined {
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : new Date(ms);
}

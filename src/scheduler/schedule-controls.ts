/** What a person or a program may do to a schedule: pause, disable, advise. Every change is durable when it resolves. */
import type { Instant } from "../clock.js";
import { durationMs } from "../duration.js";
import { quote } from "../errors.js";
import type { ScheduleHint, ScheduleState, ScheduleStatePatch } from "../state/schedule-state.js";
import type { ScheduleKey } from "../state/state-store.js";
import { NO_END, planPatch } from "./conclusion.js";
import { SchedulerError } from "./errors.js";
import { parseInterval } from "./interval.js";
import type { Planner } from "./planner.js";
import type { Roster } from "./roster.js";
import type { SchedulerContext } from "./scheduler-context.js";

/** A slot from before it was disabled is no slot any more. */
function enabled({ status, claim }: ScheduleState): ScheduleStatePatch {
  if (status !== "disabled") return {};
  return claim == null ? { status: "idle", ...planPatch(undefined) } : { status: "running" };
}

/** What is running is planned when it ends. */
function disabled({ claim }: ScheduleState): ScheduleStatePatch {
  return claim == null ? { status: "disabled", ...planPatch(undefined) } : { status: "disabled" };
}

/** Temporary advice for a schedule: another interval, one extra run, or both. It takes the place of earlier advice. */
export interface HintOptions {
  /** Interval text that stands in for the schedule's own. */
  readonly interval?: string | undefined;
  /** When one extra run is wanted. */
  readonly runAt?: Instant | undefined;
  /**
   * How long the advice counts, as interval text.
   * @default "1h", counted from `runAt` where that is given
   */
  readonly ttl?: string | undefined;
  readonly reason?: string | undefined;
}

const DEFAULT_TTL = "1h";

export class ScheduleControls {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;

  constructor(context: SchedulerContext, planner: Planner) {
    this.#context = context;
    this.#planner = planner;
  }

  pause(agent: string, schedule: string | undefined, until: Instant | undefined): Promise<void> {
    const paused_until = until === undefined ? NO_END : instant("until", until).toISOString();
    return this.#changeAll(agent, schedule, () => ({ paused_until }));
  }

  resume(agent: string, schedule: string | undefined): Promise<void> {
    return this.#changeAll(agent, schedule, () => ({ paused_until: null }));
  }

  enable(agent: string, schedule: string | undefined): Promise<void> {
    return this.#changeAll(agent, schedule, enabled);
  }

  async disable(agent: string, schedule: string | undefined): Promise<void> {
    await Promise.all(
      this.#keys(agent, schedule).map(async (key) => {
        await this.#context.store.update(key, disabled);
        this.#planner.skip(key, "disabled");
      }),
    );
  }

  async hint(agent: string, schedule: string, options: HintOptions): Promise<void> {
    const hint = newHint(options, this.#context.clock.now());
    await this.#changeAll(agent, schedule, () => ({ hint }));
  }

  clearHints(agent: string, schedule: string | undefined): Promise<void> {
    return this.#changeAll(agent, schedule, () => ({ hint: null }));
  }

  async #changeAll(
    agent: string,
    schedule: string | undefined,
    decide: (state: ScheduleState) => ScheduleStatePatch,
  ): Promise<void> {
    await Promise.all(this.#keys(agent, schedule).map((key) => this.#planner.change(key, decide)));
  }

  /** One schedule, or all of the agent's. */
  #keys(agent: string, schedule: string | undefined): ScheduleKey[] {
    const { roster } = this.#context;
    const names =
      schedule === undefined ? Object.keys(roster.agents.get(agent)?.schedules ?? {}) : [schedule];
    const keys = names.map((name) => ({ agent, schedule: name }));
    const known = keys.filter((key) => roster.find(key) !== undefined);
    if (known.length === 0) throw unknownSchedule(roster, agent, schedule);
    return known;
  }
}

export function unknownSchedule(roster: Roster, agent: string, schedule: string | undefined): SchedulerError {
  let what = `Agent ${quote(agent)} is not known`;
  if (schedule !== undefined) what = `Schedule ${quote(schedule)} of agent ${quote(agent)} is not known`;
  else if (roster.agents.has(agent)) what = `Agent ${quote(agent)} has no schedule`;
  return new SchedulerError(`${what}: give it to start() or setAgents()`, { code: "UNKNOWN_SCHEDULE" });
}

function newHint({ interval, runAt, ttl = DEFAULT_TTL, reason }: HintOptions, now: Date): ScheduleHint {
  if (interval === undefined && runAt === undefined)
    throw new SchedulerError("A hint needs an interval, a runAt, or both", { code: "INVALID_ARGUMENT" });
  if (interval !== undefined) parseInterval(interval);
  const nextRunAt = runAt === undefined ? undefined : instant("runAt", runAt);
  const fromMs = Math.max(now.getTime(), nextRunAt?.getTime() ?? -Infinity);
  return {
    interval: interval ?? null,
    next_run_at: nextRunAt?.toISOString() ?? null,
    expires_at: new Date(fromMs + ttlMs(ttl)).toISOString(),
    reason: reason ?? null,
  };
}

function ttlMs(ttl: string): number {
  const ms = durationMs(ttl);
  if (ms !== undefined && ms > 0) return ms;
  throw new SchedulerError(`Invalid ttl ${quote(ttl)}: expected interval text such as "1h"`, {
    code: "INVALID_ARGUMENT",
  });
}

function instant(what: string, given: Instant): Date {
  const at = new Date(given);
  if (!Number.isNaN(at.getTime()) && at.getTime() <= Date.parse(NO_END)) return at;
  throw new SchedulerError(`Invalid ${what} ${quote(given)}: expected a Date, an ISO time or milliseconds`, {
    code: "INVALID_ARGUMENT",
  });
}

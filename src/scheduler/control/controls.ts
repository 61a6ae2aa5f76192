/** Pause, resume, enable, disable and hint of schedules. Every change is durable when it resolves. */
import type { Instant } from "../../clock.js";
import { closest } from "../../closest.js";
import { quote } from "../../errors.js";
import type { AgentPause } from "../../state/agent-pause.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { ScheduleKey } from "../../state/store.js";
import { SchedulerError } from "../errors.js";
import type { Planner } from "../planning/planner.js";
import type { Roster } from "../roster.js";
import {
  type Backfill,
  backfillCancelled,
  backfilled,
  backfillOf,
  type BackfillOptions,
} from "./backfill.js";
import {
  advised,
  AGENT_RESUMED,
  agentPaused,
  disabled,
  enabled,
  type HintOptions,
  paused,
  RESUMED,
  UNADVISED,
} from "./state-changes.js";
import type { SchedulerContext } from "../context.js";

export class ScheduleControls {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;

  constructor(context: SchedulerContext, planner: Planner) {
    this.#context = context;
    this.#planner = planner;
  }

  /** A whole agent, with the schedules that it gets later, when no schedule is named. */
  async pause(agent: string, schedule: string | undefined, until: Instant | undefined): Promise<void> {
    if (schedule !== undefined) {
      const patch = paused(until);
      return this.#changeAll(agent, schedule, () => patch);
    }
    this.#requireAgent(agent);
    const { store, clock } = this.#context;
    await store.changePause(agent, agentPaused(clock.now(), until));
  }

  async resume(agent: string, schedule: string | undefined): Promise<void> {
    const { store } = this.#context;
    if (schedule !== undefined) {
      const keys = this.#keys(agent, schedule);
      const pause = (await store.pauses()).get(agent);
      if (pause !== undefined) throw agentIsPaused(agent, pause);
      return this.#changeKeys(keys, () => RESUMED);
    }
    this.#requireAgent(agent);
    await this.#changeKeys(this.#schedulesOf(agent), () => RESUMED);
    await store.changePause(agent, AGENT_RESUMED);
  }

  async enable(agent: string, schedule: string | undefined): Promise<void> {
    const { roster, clock } = this.#context;
    const now = clock.now();
    const change = (key: ScheduleKey): Promise<unknown> =>
      this.#planner.change(key, enabled(now, roster.find(key)?.schedule));
    await Promise.all(this.#keys(agent, schedule).map(change));
  }

  async disable(agent: string, schedule: string | undefined): Promise<void> {
    await Promise.all(
      this.#keys(agent, schedule).map(async (key) => {
        await this.#planner.disable(key, disabled);
      }),
    );
  }

  async hint(agent: string, schedule: string, options: HintOptions): Promise<void> {
    const patch = advised(options, this.#context.clock.now());
    await this.#changeAll(agent, schedule, () => patch);
  }

  clearHints(agent: string, schedule: string | undefined): Promise<void> {
    return this.#changeAll(agent, schedule, () => UNADVISED);
  }

  /** Runs the slots of a past period, or with `dryRun` only lists them. */
  async backfill(agent: string, schedule: string, options: BackfillOptions): Promise<Backfill> {
    const { store, roster, clock } = this.#context;
    const key = { agent, schedule };
    const definition = roster.find(key)?.schedule;
    if (definition === undefined) throw unknownSchedule(roster, agent, schedule);
    const state = await store.read(key);
    const found = await backfillOf(options, {
      ...key,
      definition,
      state,
      now: clock.now(),
      jobs: store.jobs,
    });
    if (options.dryRun !== true) await this.#planner.change(key, backfilled(found.slots));
    return found;
  }

  cancelBackfill(agent: string, schedule: string | undefined): Promise<void> {
    return this.#changeAll(agent, schedule, backfillCancelled);
  }

  #changeAll(
    agent: string,
    schedule: string | undefined,
    decide: (state: ScheduleState) => ScheduleStatePatch,
  ): Promise<void> {
    return this.#changeKeys(this.#keys(agent, schedule), decide);
  }

  async #changeKeys(
    keys: readonly ScheduleKey[],
    decide: (state: ScheduleState) => ScheduleStatePatch,
  ): Promise<void> {
    await Promise.all(keys.map((key) => this.#planner.change(key, decide)));
  }

  /** One schedule, or all of the agent's. */
  #keys(agent: string, schedule: string | undefined): readonly ScheduleKey[] {
    const { roster } = this.#context;
    const keys = schedule === undefined ? this.#schedulesOf(agent) : [{ agent, schedule }];
    const known = keys.filter((key) => roster.find(key) !== undefined);
    if (known.length === 0) throw unknownSchedule(roster, agent, schedule);
    return known;
  }

  #schedulesOf(agent: string): readonly ScheduleKey[] {
    const { roster } = this.#context;
    const keys = Array.from(roster.schedulesOf(agent).keys(), (schedule) => ({ agent, schedule }));
    return keys.filter((key) => roster.find(key) !== undefined);
  }

  #requireAgent(agent: string): void {
    const { roster } = this.#context;
    if (!roster.agents.has(agent)) throw unknownSchedule(roster, agent, undefined);
  }
}

function agentIsPaused(agent: string, { since, until, by }: AgentPause): SchedulerError {
  const end = until == null ? "" : ` until ${until}`;
  return new SchedulerError(
    `Agent ${quote(agent)} is paused since ${since}${end} (${by}): resume the agent, and its schedules are resumed with it`,
    { code: "AGENT_PAUSED" },
  );
}

/** Says what there is in place of what was asked for. */
export function unknownSchedule(roster: Roster, agent: string, schedule: string | undefined): SchedulerError {
  if (!roster.agents.has(agent))
    return unknown(
      `Agent ${quote(agent)} is not known: ${meant(agent, roster.agents.keys()) ?? "give it to start() or setAgents()"}`,
    );
  if (schedule === undefined) return unknown(`Agent ${quote(agent)} has no schedule: give it one`);
  if (roster.isSwitchedOff({ agent, schedule }))
    return unknown(`Schedule ${quote(schedule)} of agent ${quote(agent)} has enabled: false`);
  const names = [...roster.schedulesOf(agent).keys()];
  const known = names.length === 0 ? "it has none" : `it has ${names.slice(0, 10).map(quote).join(", ")}`;
  const what = `Schedule ${quote(schedule)} of agent ${quote(agent)} is not known`;
  return unknown(`${what}: ${meant(schedule, names) ?? known}`);
}

function unknown(message: string): SchedulerError {
  return new SchedulerError(message, { code: "UNKNOWN_SCHEDULE" });
}

function meant(name: unknown, known: Iterable<string>): string | undefined {
  const near = typeof name === "string" ? closest(name, [...known]) : undefined;
  return near === undefined ? undefined : `did you mean ${quote(near)}?`;
}

/** Which schedules there are, by agent: checked once when they are given, with the fleet's defaults filled in. */
import { quote } from "../errors.js";
import { ScheduleMap } from "../state/schedule-map.js";
import { isName, LONGEST_NAME } from "../state/validate-state.js";
import type { AgentDefinition, Definitions, ScheduleDefinition, ScheduleKey } from "../state/store.js";
import { type Agent, type AgentSchedule, capacityOf } from "./agent.js";
import { SchedulerError } from "./errors.js";
import { isAutomatic } from "./timing/schedule.js";
import { validateSchedule } from "./timing/schedule.js";

/** What holds for every schedule that says nothing else. */
export interface FleetDefaults {
  readonly timezone?: string | undefined;
  readonly jitterPercent?: number | undefined;
}

export interface RosterEntry {
  readonly agent: Agent;
  readonly schedule: AgentSchedule;
}

export interface RosterProblem extends ScheduleKey {
  readonly error: Error;
}

/** Why a schedule of an agent is left out, if it is. */
export type Refusal = (agent: Agent, schedule: string) => Error | undefined;

export class Roster {
  readonly #defaults: FleetDefaults;
  readonly #agents = new Map<string, Agent>();
  readonly #entries = new ScheduleMap<RosterEntry>();
  /** By agent, then by schedule. */
  readonly #refused = new Map<string, Map<string, Error>>();

  /**
   * Throws when `agents` is not a list of agents. A schedule that is invalid, or for which `refusal` returns an error, is
   * left out and kept as a problem.
   */
  constructor(agents: readonly Agent[], defaults: FleetDefaults = {}, refusal: Refusal = () => undefined) {
    if (!Array.isArray(agents)) throw invalid(`Invalid agents ${quote(agents)}: expected an array of agents`);
    this.#defaults = defaults;
    for (const agent of agents) {
      checkAgentShape(agent);
      if (this.#agents.has(agent.name))
        throw invalid(`Two agents are named ${quote(agent.name)}: give each agent a different name`);
      this.#agents.set(agent.name, agent);
      for (const [name, schedule] of schedulesOf(agent))
        this.#add(agent, { name, schedule, refused: refusal(agent, name) });
    }
  }

  get agents(): ReadonlyMap<string, Agent> {
    return this.#agents;
  }

  /** The schedules of an agent by name, without the ones that are switched off. */
  schedulesOf(agent: string): ReadonlyMap<string, AgentSchedule> {
    const known = this.#agents.get(agent);
    return new Map(known === undefined ? [] : schedulesOf(known));
  }

  find(key: ScheduleKey): RosterEntry | undefined {
    return this.#entries.get(key);
  }

  /** What speaks against a schedule that was left out. */
  problemOf({ agent, schedule }: ScheduleKey): Error | undefined {
    return this.#refused.get(agent)?.get(schedule);
  }

  *problems(): Iterable<RosterProblem> {
    for (const [agent, refused] of this.#refused)
      for (const [schedule, error] of refused) yield { agent, schedule, error };
  }

  /** The agents and schedules that the store gives claims for. */
  definitions(): Definitions {
    const agents: AgentDefinition[] = [];
    const schedules: ScheduleDefinition[] = [];
    for (const agent of this.#agents.values()) {
      const refused = this.#refused.get(agent.name);
      agents.push({ agent: agent.name, maxConcurrent: capacityOf(agent) });
      for (const [name, schedule] of schedulesOf(agent))
        if (refused?.has(name) !== true)
          schedules.push({ agent: agent.name, schedule: name, isAutomatic: isAutomatic(schedule) });
    }
    return { agents, schedules };
  }

  /** A schedule that the agent has with `enabled: false`. */
  isSwitchedOff({ agent, schedule }: ScheduleKey): boolean {
    return this.#agents.get(agent)?.schedules?.[schedule]?.enabled === false;
  }

  #add(
    agent: Agent,
    { name, schedule, refused: refusal }: { name: string; schedule: unknown; refused: Error | undefined },
  ): void {
    try {
      checkText("schedule name", name);
      validateSchedule(schedule);
      if (refusal !== undefined) throw refusal;
      const whole = withDefaults(schedule, agent, this.#defaults);
      if (whole !== schedule) validateSchedule(whole);
      this.#entries.set({ agent: agent.name, schedule: name }, { agent, schedule: whole });
    } catch (error) {
      const refused = this.#refused.get(agent.name) ?? new Map<string, Error>();
      refused.set(name, error instanceof Error ? error : new Error(String(error)));
      this.#refused.set(agent.name, refused);
    }
  }
}

function schedulesOf(agent: Agent): readonly (readonly [name: string, schedule: AgentSchedule])[] {
  const all: readonly (readonly [string, AgentSchedule | null])[] = Object.entries(agent.schedules ?? {});
  return all.filter((entry): entry is [string, AgentSchedule] => entry[1]?.enabled !== false);
}

function withDefaults(
  schedule: AgentSchedule,
  { retries }: Agent,
  { timezone, jitterPercent }: FleetDefaults,
): AgentSchedule {
  if (schedule.retries === undefined && retries !== undefined) schedule = { ...schedule, retries };
  if (schedule.type === "cron" && schedule.timezone === undefined && timezone !== undefined)
    return { ...schedule, timezone };
  if (schedule.type === "interval" && schedule.jitter === undefined && jitterPercent !== undefined)
    return { ...schedule, jitter: jitterPercent };
  return schedule;
}

/** Throws for an agent of which nothing can be used: its name, its schedules as a whole or its capacity is wrong. */
export function checkAgentShape(agent: unknown): asserts agent is Agent {
  if (typeof agent !== "object" || agent === null)
    throw invalid(`Invalid agent ${quote(agent)}: expected an object with a name`);
  const { name, schedules, instances }: Record<string, unknown> = { ...agent };
  checkText("agent name", name);
  if (schedules !== undefined && !isObject(schedules))
    throw invalid(
      `Invalid schedules ${quote(schedules)} of agent ${quote(name)}: expected schedules by name`,
    );
  const { max_concurrent: max = 1 }: Record<string, unknown> = isObject(instances) ? { ...instances } : {};
  if (typeof max !== "number" || !Number.isSafeInteger(max) || max < 1)
    throw invalid(
      `Invalid max_concurrent ${quote(max)} of agent ${quote(name)}: expected a whole number from 1`,
    );
}

function checkText(what: string, text: unknown): void {
  if (isName(text)) return;
  throw invalid(`Invalid ${what} ${quote(text)}: expected a text of 1 to ${LONGEST_NAME} characters`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string): SchedulerError {
  return new SchedulerError(message, { code: "INVALID_ARGUMENT" });
}

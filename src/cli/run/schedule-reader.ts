/** Reads the schedules of the fleet that this process runs, each with its definition and state. */
import type { Config } from "../../config/config.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import { Roster } from "../../scheduler/roster.js";
import type { ScheduleKey } from "../../state/store.js";
import type { OpenState } from "../location/state-location.js";
import { definedKeys, type FleetSchedule } from "../fleet/fleet.js";

type KnownSchedule = Omit<FleetSchedule, "pause" | "state">;
type OpenFleet = Pick<OpenState, "states" | "store">;

export class ScheduleReader {
  readonly #opened: OpenFleet;
  /** Options that a scheduler keeps from its start; a reload does not change them. */
  readonly #defaults: Pick<Config, "jitterPercent" | "timezone">;
  #roster: Roster = new Roster([]);
  #known: readonly KnownSchedule[] = [];

  constructor(opened: OpenFleet, config: Config) {
    this.#opened = opened;
    this.#defaults = config;
    this.use(config);
  }

  /** Replaces the configuration. */
  use(config: Config): void {
    const { timezone, jitterPercent } = this.#defaults;
    const roster = new Roster(config.agents, { timezone, jitterPercent });
    this.#roster = roster;
    this.#known = definedKeys(config).map(({ agent, schedule }) => {
      const definition = roster.find({ agent, schedule })?.schedule;
      const origin = definition === undefined ? "switched-off" : "configured";
      return { agent, schedule, definition, origin, agentDefinition: roster.agents.get(agent) };
    });
  }

  definitionOf(key: ScheduleKey): AgentSchedule | undefined {
    return this.#roster.find(key)?.schedule;
  }

  /** In the order of their definition. */
  async read(): Promise<readonly FleetSchedule[]> {
    const known = this.#known;
    const states = await this.#opened.states([...this.#roster.agents.keys()]);
    const pauses = await this.#opened.store.pauses();
    return known.map(({ agent, schedule, definition, origin, agentDefinition }) => {
      const state = states.get(agent)?.get(schedule) ?? { status: "idle" };
      return { agent, schedule, definition, origin, agentDefinition, state, pause: pauses.get(agent) };
    });
  }
}

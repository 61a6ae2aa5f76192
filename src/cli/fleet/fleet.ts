/**
 * The fleet as commands see it: every schedule with its definition and state, and the schedulers that run them.
 * Commands read it beside schedulers that may be running.
 */
import type { Config } from "../../config/config.js";
import type { Logger } from "../../logger.js";
import { type Agent, type AgentSchedule, capacityOf } from "../../scheduler/agent.js";
import { Roster } from "../../scheduler/roster.js";
import type { AgentPause } from "../../state/agent-pause.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Call } from "../command.js";
import { locate, locateState } from "../location/locate.js";
import type { StateConnection, StateLocation, SchedulerProcess } from "../location/state-location.js";

export interface FleetSchedule extends ScheduleKey {
  /** Whether the configuration defines it, defines it with `enabled: false`, or only the state knows it. */
  readonly origin: "configured" | "switched-off" | "state-only";
  readonly agentDefinition: Agent | undefined;
  readonly definition: AgentSchedule | undefined;
  readonly state: ScheduleState;
  /** What holds its whole agent back now. */
  readonly pause?: AgentPause | undefined;
}

/** The caller disposes of it, which closes the connection. */
export interface Fleet extends AsyncDisposable {
  readonly location: StateLocation;
  readonly connection: StateConnection;
  readonly config: Config | undefined;
  /** In the order of their definition, then the schedules that only the state knows. */
  readonly schedules: readonly FleetSchedule[];
  readonly schedulers: readonly SchedulerProcess[];
  /** When it was read, by the clock that decides what is due. */
  readonly now: Date;
}

/** Prints warnings and errors about the state. */
export function messageLogger({ output }: Pick<Call, "output">): Logger {
  const print = (message: string): void => output.message(output.paintMessage("yellow", `rota: ${message}`));
  return { info: () => {}, warn: print, error: print };
}

/** Connects to the state without reading the configuration where the call names a location. */
export async function connectToState(call: Call): Promise<StateConnection> {
  return connect(call, await locateState(call));
}

export async function readFleet(call: Call): Promise<Fleet> {
  const { config, location } = await locate(call);
  const connection = await connect(call, location);
  try {
    const schedules = schedulesOf(config, await connection.states(), await connection.store.pauses());
    const schedulers = await connection.schedulers();
    const now = connection.clock.now();
    const end = (): PromiseLike<void> => connection[Symbol.asyncDispose]();
    return { location, connection, config, schedules, schedulers, now, [Symbol.asyncDispose]: end };
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}

function connect(call: Call, location: StateLocation): Promise<StateConnection> {
  return location.connect({ clock: call.context.clock, logger: messageLogger(call) });
}

function schedulesOf(
  config: Config | undefined,
  states: Awaited<ReturnType<StateConnection["states"]>>,
  pauses: ReadonlyMap<string, AgentPause>,
): FleetSchedule[] {
  const defined = config === undefined ? [] : definedKeys(config);
  const roster = new Roster(config?.agents ?? [], {
    timezone: config?.timezone,
    jitterPercent: config?.jitterPercent,
  });
  const known = new Set(defined.map(nameOf));
  const others: ScheduleKey[] = [];
  for (const [agent, ofAgent] of states)
    for (const schedule of ofAgent.keys())
      if (!known.has(nameOf({ agent, schedule }))) others.push({ agent, schedule });
  return [...defined, ...others].map((key): FleetSchedule => {
    const { agent, schedule } = key;
    const definition = roster.find(key)?.schedule;
    const isDefined = known.has(nameOf(key));
    return {
      agent,
      schedule,
      origin: definition !== undefined ? "configured" : isDefined ? "switched-off" : "state-only",
      agentDefinition: roster.agents.get(agent),
      definition,
      state: states.get(agent)?.get(schedule) ?? { status: "idle" },
      pause: pauses.get(agent),
    };
  });
}

export function hasLiveScheduler({ schedulers }: Pick<Fleet, "schedulers">): boolean {
  return schedulers.some(({ isAlive }) => isAlive);
}

/** The schedules that a configuration defines, including schedules with `enabled: false`. */
export function definedKeys({ agents, disabled }: Pick<Config, "agents" | "disabled">): ScheduleKey[] {
  return agents.flatMap(({ name, schedules = {} }) => [
    ...Object.keys(schedules).map((schedule) => ({ agent: name, schedule })),
    ...disabled.filter(({ agent }) => agent === name),
  ]);
}

/** "reports/nightly" */
export function nameOf({ agent, schedule }: ScheduleKey): string {
  return `${agent}/${schedule}`;
}

export interface AgentLoad {
  readonly running: number;
  /** The agent's capacity; `undefined` without a definition of the agent. */
  readonly most: number | undefined;
}

/** How many jobs run, by agent. */
export function loadsOf({ schedules }: Pick<Fleet, "schedules">): ReadonlyMap<string, AgentLoad> {
  const loads = new Map<string, AgentLoad>();
  for (const { agent, agentDefinition, state } of schedules) {
    const running = (loads.get(agent)?.running ?? 0) + (state.claim?.claimed_at == null ? 0 : 1);
    loads.set(agent, {
      running,
      most: agentDefinition === undefined ? undefined : capacityOf(agentDefinition),
    });
  }
  return loads;
}

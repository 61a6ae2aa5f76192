/**
 * The fleet as the command sees it: every schedule with its definition and its state, and who runs them.
 * Read as a guest, beside schedulers that may be running.
 */
import type { Config } from "../../config/config.js";
import type { Logger } from "../../logger.js";
import { type Agent, type AgentSchedule, capacityOf } from "../../scheduler/agent.js";
import { Roster } from "../../scheduler/roster.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Call } from "../command.js";
import { locate, locateState } from "../location/locate.js";
import type { Guest, Place, SeenScheduler } from "../location/state-location.js";

export interface FleetSchedule extends ScheduleKey {
  /** Where its definition comes from: it may be switched off there, or be known by its state alone. */
  readonly origin: "configured" | "switched-off" | "state-only";
  readonly agentDefinition: Agent | undefined;
  readonly definition: AgentSchedule | undefined;
  readonly state: ScheduleState;
}

/** To be disposed of by who has read it, which ends the visit. */
export interface Fleet extends AsyncDisposable {
  readonly place: Place;
  readonly guest: Guest;
  readonly config: Config | undefined;
  /** In the order of their definition, those known by their state alone last. */
  readonly schedules: readonly FleetSchedule[];
  readonly schedulers: readonly SeenScheduler[];
  /** When it was read, by the clock that counts there. */
  readonly now: Date;
}

/** Where damage of the state is told. */
export function talkingLogger({ output }: Pick<Call, "output">): Logger {
  const talk = (message: string): void => output.talk(output.paintTalk("yellow", `rota: ${message}`));
  return { info: () => {}, warn: talk, error: talk };
}

/** To the state alone, whatever is wrong with the configuration. */
export async function visitState(call: Call): Promise<Guest> {
  return visit(call, await locateState(call));
}

export async function readFleet(call: Call): Promise<Fleet> {
  const { config, place } = await locate(call);
  const guest = await visit(call, place);
  try {
    const schedules = schedulesOf(config, await guest.states());
    const schedulers = await guest.schedulers();
    const now = guest.clock.now();
    const end = (): PromiseLike<void> => guest[Symbol.asyncDispose]();
    return { place, guest, config, schedules, schedulers, now, [Symbol.asyncDispose]: end };
  } catch (error) {
    await guest[Symbol.asyncDispose]();
    throw error;
  }
}

function visit(call: Call, place: Place): Promise<Guest> {
  return place.visit({ clock: call.context.clock, logger: talkingLogger(call) });
}

function schedulesOf(
  config: Config | undefined,
  states: Awaited<ReturnType<Guest["states"]>>,
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
    };
  });
}

/** Whether anybody runs it. */
export function isRun({ schedulers }: Pick<Fleet, "schedulers">): boolean {
  return schedulers.some(({ isAlive }) => isAlive);
}

/** The schedules that a configuration names, those that it has switched off included. */
export function definedKeys({ agents, disabled }: Pick<Config, "agents" | "disabled">): ScheduleKey[] {
  return agents.flatMap(({ name, schedules = {} }) => [
    ...Object.keys(schedules).map((schedule) => ({ agent: name, schedule })),
    ...disabled.filter(({ agent }) => agent === name),
  ]);
}

/** As people write it: "reports/nightly". */
export function nameOf({ agent, schedule }: ScheduleKey): string {
  return `${agent}/${schedule}`;
}

export interface AgentLoad {
  readonly running: number;
  /** `undefined` where nobody says how many may run. */
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

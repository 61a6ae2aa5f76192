/**
 * The fleet as the command sees it: every schedule with its definition and its state, and who runs them.
 * Read as a guest, beside a scheduler that may be running.
 */
import type { Config } from "../config/config.js";
import type { Logger } from "../logger.js";
import { type Agent, type AgentSchedule, capacityOf } from "../scheduler/agent.js";
import { Roster } from "../scheduler/roster.js";
import { FileStore } from "../state/file-store.js";
import type { ScheduleState } from "../state/schedule-state.js";
import type { ScheduleKey } from "../state/state-store.js";
import type { Call } from "./command.js";
import { locate } from "./locate.js";
import { type Owner, readOwner } from "../state/file/state-owner.js";

export interface FleetSchedule extends ScheduleKey {
  /** Where its definition comes from: it may be switched off there, or be known by its state alone. */
  readonly origin: "configured" | "switched-off" | "state-only";
  readonly agentDefinition: Agent | undefined;
  readonly definition: AgentSchedule | undefined;
  readonly state: ScheduleState;
}

export interface Fleet {
  readonly stateDir: string;
  readonly config: Config | undefined;
  /** In the order of their definition, those known by their state alone last. */
  readonly schedules: readonly FleetSchedule[];
  readonly owner: Owner | undefined;
}

/** Where damage of the state is told. */
export function talkingLogger({ output }: Pick<Call, "output">): Logger {
  const talk = (message: string): void => output.talk(output.paintTalk("yellow", `rota: ${message}`));
  return { info: () => {}, warn: talk, error: talk };
}

/** A store to read from. It claims nothing and makes nothing. */
export function guestStore(call: Call, stateDir: string): FileStore {
  return new FileStore({ stateDir, clock: call.context.clock, logger: talkingLogger(call) });
}

export async function readFleet(call: Call): Promise<Fleet> {
  const { config, stateDir } = await locate(call);
  await using store = guestStore(call, stateDir);
  const defined = config === undefined ? [] : definedKeys(config);
  const roster = new Roster(config?.agents ?? [], {
    timezone: config?.timezone,
    jitterPercent: config?.jitterPercent,
  });
  const { agents } = await store.readFleet();
  const states = new Map<string, ReadonlyMap<string, ScheduleState>>();
  for (const agent of new Set([...defined.map((key) => key.agent), ...Object.keys(agents)]))
    states.set(agent, await store.list(agent));
  const known = new Set(defined.map(nameOf));
  const others: ScheduleKey[] = [];
  for (const [agent, ofAgent] of states)
    for (const schedule of ofAgent.keys())
      if (!known.has(nameOf({ agent, schedule }))) others.push({ agent, schedule });
  const schedules = [...defined, ...others].map((key): FleetSchedule => {
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
  return { stateDir, config, schedules, owner: await readOwner(stateDir, call.context.clock.now()) };
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
export function loadsOf({ schedules }: Fleet): ReadonlyMap<string, AgentLoad> {
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

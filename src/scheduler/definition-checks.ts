/**
 * Which agents a scheduler takes: the checks of `rota validate`, applied to what `start` and `setAgents` are given.
 * They need zod, so the first start loads them: importing Rota does not.
 */
import { isFields } from "../fields.js";
import { WorkSourceManager } from "../work-sources/manager.js";
import { defaultRegistry } from "../work-sources/registry.js";
import type { Agent } from "./agent.js";
import type * as definition from "./definition/check-agents.js";
import { ConfigError, type ConfigProblem } from "./definition/errors.js";
import type { HostKeys } from "./definition/host-keys.js";
import { ScheduleDefinitionError, SchedulerError } from "./errors.js";
import type { SchedulerOptions } from "./options.js";
import { checkAgentShape, type Refusal } from "./roster.js";

let checks: typeof definition | undefined;

export function areChecksLoaded(): boolean {
  return checks !== undefined;
}

export async function loadChecks(): Promise<void> {
  checks ??= await import("./definition/check-agents.js");
}

export interface AcceptedAgents {
  readonly agents: readonly Agent[];
  /** Why a schedule of theirs is left out. */
  readonly refusal: Refusal;
  /** Why agents are left out as a whole. */
  readonly leftOut: readonly Error[];
}

/** `loadChecks` has to come first. Throws ConfigError with every problem, unless `onInvalid` is "skip". */
export function acceptAgents(agents: readonly Agent[], options: SchedulerOptions): AcceptedAgents {
  if (checks === undefined) throw new SchedulerError("The checks of agents are not loaded");
  const { problemsOf } = checks;
  const host = hostOf(agents, options);
  const isSkipping = options.onInvalid === "skip" && Array.isArray(agents);
  const problems = problemsOf(agents, host, isSkipping ? Infinity : undefined);
  if (problems.length === 0) return { agents, refusal: () => undefined, leftOut: [] };
  if (!isSkipping) throw new ConfigError(problems, { subject: "The list of agents" });
  return withoutRefused(agents, problems);
}

function withoutRefused(agents: readonly Agent[], problems: readonly ConfigProblem[]): AcceptedAgents {
  /** By agent, then by schedule; under `undefined` for the whole agent. */
  const refused = new Map<Agent, Map<string | undefined, Error>>();
  const unusable = new Map<number, Error>();
  for (const { code, message, path, where } of problems) {
    const index = Number(path[1]);
    const agent = agents[index];
    if (agent === undefined || code === "DUPLICATE_NAME" || !hasShape(agent)) {
      if (!unusable.has(index))
        unusable.set(index, new ScheduleDefinitionError(`${where}: ${message}`, String(path.at(-1))));
      continue;
    }
    const reasons = refused.get(agent) ?? new Map<string | undefined, Error>();
    const schedule = path[2] === "schedules" && path.length > 3 ? String(path[3]) : undefined;
    if (!reasons.has(schedule))
      reasons.set(schedule, new ScheduleDefinitionError(message, String(path.at(-1))));
    refused.set(agent, reasons);
  }
  return {
    agents: agents.filter((_, index) => !unusable.has(index)),
    refusal: (agent, schedule) => refused.get(agent)?.get(schedule) ?? refused.get(agent)?.get(undefined),
    leftOut: [...unusable.values()],
  };
}

function hasShape(agent: unknown): boolean {
  try {
    checkAgentShape(agent);
    return true;
  } catch {
    return false;
  }
}

/** What the host adds to what Rota knows, and what it does itself, so that it is not checked. */
function hostOf(agents: unknown, options: SchedulerOptions): HostKeys {
  const { agentKeys, jobExecutor, onTrigger, runtimes, sdkQuery, workSourceManager: manager } = options;
  const runsAllJobs = onTrigger !== undefined || jobExecutor !== undefined;
  const sources = manager ?? defaultRegistry();
  const hasOwnSources = manager !== undefined && !(manager instanceof WorkSourceManager);
  return {
    agentKeys,
    runtimeTypes: [...(runtimes?.types ?? []), ...(runsAllJobs ? runtimeTypesOf(agents) : [])],
    workSourceTypes: "types" in sources ? sources.types : [],
    acceptsAnyWorkSource: hasOwnSources || onTrigger !== undefined,
    runners: runsAllJobs ? undefined : { hasSdkQuery: sdkQuery !== undefined },
  };
}

function runtimeTypesOf(agents: unknown): readonly string[] {
  const types = new Set<string>();
  for (const agent of Array.isArray(agents) ? (agents as readonly (Agent | undefined)[]) : []) {
    const type: unknown = isFields(agent?.runtime) ? agent.runtime["type"] : undefined;
    if (typeof type === "string") types.add(type);
  }
  return [...types];
}

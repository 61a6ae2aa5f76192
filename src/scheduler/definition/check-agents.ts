/** Checks agents that a program made by the same definition as the agents of a file. */
import { quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import type { Agent } from "../agent.js";
import { checkAgent } from "./check-agent.js";
import { shown } from "./check-value.js";
import { ConfigError, type ConfigProblem } from "./errors.js";
import { type Fault, MOST_FAULTS, problemOf } from "./fault.js";
import type { HostKeys } from "./host-keys.js";
import { agentSchema } from "./schema/agent-schema.js";

/**
 * Throws ConfigError with every problem of every agent. Unknown keys are problems: list the keys that the host reads in
 * `agentKeys`. Keys that only a file has (`env`, `on_failure` and `work_source` of an agent) are unknown here, because a
 * scheduler ignores them.
 */
export function checkAgents(agents: unknown, host: HostKeys = {}): asserts agents is readonly Agent[] {
  const problems = problemsOf(agents, host);
  if (problems.length > 0) throw new ConfigError(problems, { subject: "The list of agents" });
}

/** The same problems as a list. No further agent is checked after `limit` problems. */
export function problemsOf(
  agents: unknown,
  host: HostKeys,
  limit: number = MOST_FAULTS,
): readonly ConfigProblem[] {
  const list: readonly unknown[] = Array.isArray(agents) ? agents : [];
  const faults = Array.isArray(agents) ? faultsOf(list, host, limit) : [notAList(agents)];
  return faults.map((fault) => problemOf(fault, (index) => nameOf(list[index])));
}

function faultsOf(agents: readonly unknown[], host: HostKeys, limit: number): readonly Fault[] {
  const schema = agentSchema(host);
  const faults: Fault[] = [];
  const firsts = new Map<string, number>();
  for (const [index, value] of agents.entries()) {
    if (faults.length >= limit) break;
    const path = ["agents", index];
    faults.push(...checkAgent(schema, { value, path, origin: undefined }, host));
    const name = nameOf(value);
    if (name === undefined) continue;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, index);
    else faults.push(duplicateName(name, [...path, "name"], `is agents[${first}]`));
  }
  return faults;
}

/** `first` says where the first agent of the name is. */
export function duplicateName(name: string, path: Fault["path"], first: string): Fault {
  const given = quote(name);
  const message = `Two agents are named ${given}, the first ${first}: give every agent a unique name`;
  return { code: "DUPLICATE_NAME", message, path, given };
}

function notAList(agents: unknown): Fault {
  const message = `Invalid agents ${shown(agents)}: expected a list of agents`;
  return { code: "INVALID_VALUE", message, path: ["agents"] };
}

function nameOf(agent: unknown): string | undefined {
  const name = isFields(agent) ? agent["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}

/** Checks agents that a program made by the same definition as the agents of a file. */
import { quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import type { Agent } from "../agent.js";
import { checkAgent } from "./check-agent.js";
import { shown } from "./check-value.js";
import { ConfigError } from "./errors.js";
import { type Fault, MOST_FAULTS, problemOf } from "./fault.js";
import { agentSchema, type HostKeys } from "./schema/agent-schema.js";

/**
 * Throws ConfigError with every problem of every agent. Unknown keys are problems: list the keys that the host reads in
 * `agentKeys`. Keys that only a file has (`env`, `on_failure` and `work_source` of an agent, `enabled`) are unknown here,
 * because a scheduler ignores them.
 */
export function checkAgents(agents: unknown, host: HostKeys = {}): asserts agents is readonly Agent[] {
  const faults = Array.isArray(agents) ? faultsOf(agents, host) : [notAList(agents)];
  if (faults.length === 0) return;
  const nameOfAgent = (index: number): string | undefined =>
    Array.isArray(agents) ? nameOf(agents[index]) : undefined;
  throw new ConfigError(faults.map((fault) => problemOf(fault, nameOfAgent)));
}

function faultsOf(agents: readonly unknown[], host: HostKeys): readonly Fault[] {
  const schema = agentSchema(host);
  const faults: Fault[] = [];
  const firsts = new Map<string, number>();
  for (const [index, value] of agents.entries()) {
    if (faults.length >= MOST_FAULTS) break;
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

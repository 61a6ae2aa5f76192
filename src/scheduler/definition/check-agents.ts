/** Holds agents that a program has made against the same definition as those of a file. */
import { quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import type { Agent } from "../agent.js";
import { checkAgent } from "./check-agent.js";
import { shown } from "./check-value.js";
import { ConfigError } from "./errors.js";
import { ProblemList } from "../../config/problem-list.js";
import { configSchemas, type HostKeys } from "./schema/agent-schema.js";

/**
 * Throws ConfigError with everything that is wrong with any of them, unknown keys included: name those that the host
 * reads itself in `agentKeys`. What only a file has (`env`, `on_failure` and `work_source` of an agent, `enabled`) is
 * unknown here, because a scheduler would not see it.
 */
export function checkAgents(agents: unknown, host: HostKeys = {}): asserts agents is readonly Agent[] {
  const list = new ProblemList();
  if (!Array.isArray(agents)) {
    const message = `Invalid agents ${shown(agents)}: expected a list of agents`;
    list.add({ code: "INVALID_VALUE", message, path: ["agents"] });
    throw new ConfigError(list.problems(() => undefined));
  }
  const { plainAgent } = configSchemas(host);
  const firsts = new Map<string, number>();
  for (const [index, agent] of agents.entries()) {
    if (list.isFull) break;
    const value: unknown = agent;
    const path = ["agents", index];
    list.add(...checkAgent(plainAgent, { value, tree: undefined, path }, host));
    const name = nameOf(value);
    const first = name === undefined ? undefined : firsts.get(name);
    if (name !== undefined && first === undefined) firsts.set(name, index);
    if (first === undefined) continue;
    const message = `Two agents are named ${quote(name)}, the other is agents[${first}]: every agent needs a name of its own`;
    list.add({ code: "DUPLICATE_NAME", message, path: [...path, "name"], given: quote(name) });
  }
  if (!list.isEmpty) throw new ConfigError(list.problems((index) => nameOf(agents[index])));
}

function nameOf(agent: unknown): string | undefined {
  const name = isFields(agent) ? agent["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}

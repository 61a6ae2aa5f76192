/** The state file as a whole: its agents, each with the text that says so, and how they become bytes again. */
import type { Fields } from "../../../fields.js";
import type { ScheduleFields } from "../../validate-state.js";
import { type AgentFields, renderAgent, renderFields } from "./state-text.js";

/** An agent with the text that says so. */
export interface AgentEntry extends AgentFields<ScheduleFields> {
  readonly text: Buffer;
}

export interface StateDocument {
  /** Top-level keys other than `agents`. */
  readonly head: Fields;
  /** Changed in place when a change has become durable: copying it would cost more than the change. */
  readonly agents: Map<string, AgentEntry>;
}

export function emptyDocument(): StateDocument {
  return { head: {}, agents: new Map() };
}

/** The first line of the file. */
export const INTRODUCTION =
  "# The state of Rota's schedules. Edits are noticed; keys Rota does not know are kept.\n";

export function agentEntry(agent: AgentFields<ScheduleFields>): AgentEntry {
  return entryWithText(agent, Buffer.from(renderAgent(agent)));
}

/** The agent with a text that is known to say so. */
export function entryWithText(agent: AgentFields<ScheduleFields>, text: Buffer): AgentEntry {
  const { name, other, schedules } = agent;
  return { name, other, schedules, text };
}

/** The bytes of the file, with `changed` agents in place of the document's own. */
export function renderDocument(
  { head, agents }: StateDocument,
  changed: ReadonlyMap<string, AgentEntry> = new Map(),
): Buffer {
  const chunks: Buffer[] = [];
  for (const [name, entry] of agents) chunks.push((changed.get(name) ?? entry).text);
  for (const [name, entry] of changed) if (!agents.has(name)) chunks.push(entry.text);
  const opening = chunks.length === 0 ? "agents: {}\n" : "agents:\n";
  return Buffer.concat([Buffer.from(`${INTRODUCTION}${renderFields(head, "")}${opening}`), ...chunks]);
}

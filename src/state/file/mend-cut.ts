/**
 * A state file that was cut short, completed by what this process knew before: a schedule that was disabled must not
 * start because its entry is missing. Pure.
 */
import { type AgentEntry, agentEntry, type StateDocument } from "./yaml/state-document.js";

/** What was read wins, except in the last entry, which may lack keys; what was not read is as it was known. */
export function mendCut(read: StateDocument, known: StateDocument): StateDocument {
  const agents = new Map<string, AgentEntry>(known.agents);
  const lastAgent = [...read.agents.keys()].at(-1);
  for (const [name, entry] of read.agents) {
    const before = known.agents.get(name);
    if (before === undefined) agents.set(name, entry);
    else if (before !== entry) agents.set(name, mendedAgent(entry, before, name === lastAgent));
  }
  return { head: { ...known.head, ...read.head }, agents };
}

function mendedAgent(read: AgentEntry, known: AgentEntry, isLast: boolean): AgentEntry {
  const schedules = new Map([...known.schedules, ...read.schedules]);
  const lastSchedule = isLast ? [...read.schedules.keys()].at(-1) : undefined;
  const before = lastSchedule === undefined ? undefined : known.schedules.get(lastSchedule);
  if (lastSchedule !== undefined && before !== undefined) schedules.set(lastSchedule, before);
  return agentEntry({ name: read.name, other: { ...known.other, ...read.other }, schedules });
}

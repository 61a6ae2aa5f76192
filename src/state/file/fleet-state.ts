/** The whole state file as one plain object, for programs that read or write it at once. */
import { type Fields, isFields } from "../../fields.js";
import { quote } from "../../errors.js";
import { checkName, isScheduleFields, problemOf, type ScheduleFields } from "../validate-state.js";
import { problemOfValue } from "../validate-state.js";
import { invalidState, type StateError } from "../errors.js";
import type { ScheduleState } from "../schedule-state.js";
import { type AgentEntry, agentEntry, renderDocument, type StateDocument } from "./yaml/state-document.js";
import type { NewDocument } from "./state-file.js";

/** An agent as the file has it. Unknown keys are kept as they are. */
export interface AgentState {
  readonly status?: string | null | undefined;
  readonly current_job?: string | null | undefined;
  readonly last_job?: string | null | undefined;
  readonly next_schedule?: string | null | undefined;
  readonly next_trigger_at?: string | null | undefined;
  readonly container_id?: string | null | undefined;
  readonly error_message?: string | null | undefined;
  readonly schedules?: Readonly<Record<string, Partial<ScheduleState>>> | undefined;
  readonly [key: string]: unknown;
}

/** Agents by name. Names are own keys: check a name from outside with `Object.hasOwn`. */
export interface FleetState {
  readonly fleet: Fields;
  readonly agents: Readonly<Record<string, AgentState>>;
  readonly [key: string]: unknown;
}

/** A copy: what a caller does to it is not yet state. */
export function fleetOf({ head, agents }: StateDocument): FleetState {
  const states = Array.from(agents, ([name, { other, schedules }]): [string, AgentState] => [
    name,
    schedules.size === 0 ? other : { ...other, schedules: Object.fromEntries(schedules) },
  ]);
  const fleet = isFields(head["fleet"]) ? head["fleet"] : {};
  return structuredClone({ ...head, fleet, agents: Object.fromEntries(states) });
}

/** A document that says just this. Throws a StateError for what no file could give back. */
export function newFleet(fleet: FleetState): NewDocument {
  const problem = problemOfValue(requireMap("the fleet", fleet));
  if (problem !== undefined) throw invalid("the fleet", problem);
  // A copy: what the caller does to it later is not state.
  const { agents, ...head } = structuredClone(fleet);
  const entries = Object.entries(requireMap("agents", agents)).map(([name, agent]) => newAgent(name, agent));
  const document: StateDocument = { head, agents: new Map(entries.map((entry) => [entry.name, entry])) };
  return { bytes: renderDocument(document), applied: () => document };
}

function newAgent(name: string, agent: unknown): AgentEntry {
  checkName("agent", name);
  const { schedules, ...other } = requireMap(quote(name), agent);
  const checked = new Map<string, ScheduleFields>();
  for (const [schedule, state] of Object.entries(
    requireMap(`schedules of ${quote(name)}`, schedules ?? {}),
  )) {
    checkName("schedule", schedule);
    const what = `${quote(name)}/${quote(schedule)}`;
    const fields = requireMap(what, state);
    if (!isScheduleFields(fields)) throw invalid(what, problemOf(fields) ?? "");
    checked.set(schedule, fields);
  }
  return agentEntry({ name, other, schedules: checked });
}

function requireMap(what: string, value: unknown): Fields {
  if (isFields(value)) return value;
  throw invalid(what, `it is ${quote(value)}, expected a map`);
}

function invalid(what: string, problem: string): StateError {
  return invalidState(`Invalid state of ${what}: ${problem}.`);
}

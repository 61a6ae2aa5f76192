/**
 * The state file as a whole: its agents, each with the text that says so, how they become bytes again, and a draft of
 * the changes that are written together.
 */
import { applyPatch, type Fields } from "../../../fields.js";
import type { StateDraft } from "../../operations.js";
import type { ScheduleState, ScheduleStatePatch } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import { NO_FIELDS, type ScheduleFields } from "../../validate-state.js";
import type { NewDocument } from "../state-file.js";
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

/** The agent with its text, or with a `text` that is known to say so. */
export function agentEntry(
  agent: AgentFields<ScheduleFields>,
  text: Buffer = Buffer.from(renderAgent(agent)),
): AgentEntry {
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

/** Changes to a document, collected before they are written: a batch of patches becomes one new text. */
export class DocumentDraft implements StateDraft {
  readonly #document: StateDocument;
  readonly #schedules = new Map<string, Map<string, ScheduleFields>>();
  /** The schedules that were patched. */
  readonly touched: ScheduleKey[] = [];

  constructor(document: StateDocument) {
    this.#document = document;
  }

  read({ agent, schedule }: ScheduleKey): Partial<ScheduleState> {
    const schedules = this.#schedules.get(agent) ?? this.#document.agents.get(agent)?.schedules;
    return schedules?.get(schedule) ?? NO_FIELDS;
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const { agent, schedule } = key;
    const drafted = this.#schedules.get(agent);
    const schedules = drafted ?? this.#document.agents.get(agent)?.schedules;
    const before = schedules?.get(schedule) ?? NO_FIELDS;
    const after = applyPatch(before, patch);
    if (after === before) return before;
    if (drafted === undefined) this.#schedules.set(agent, new Map(schedules).set(schedule, after));
    else drafted.set(schedule, after);
    this.touched.push(key);
    return after;
  }

  *keys(): Iterable<ScheduleKey> {
    for (const { name: agent, schedules } of this.#document.agents.values())
      for (const schedule of schedules.keys()) yield { agent, schedule };
  }

  /** The document's new text; `undefined` when no patch changed anything, unless it is wanted `anyway`. */
  finish(anyway = false): NewDocument | undefined {
    if (this.#schedules.size === 0 && !anyway) return undefined;
    const document = this.#document;
    const changed = new Map<string, AgentEntry>();
    for (const [name, schedules] of this.#schedules) {
      const other = document.agents.get(name)?.other ?? NO_FIELDS;
      changed.set(name, agentEntry({ name, other, schedules }));
    }
    return {
      bytes: renderDocument(document, changed),
      applied: () => {
        for (const [name, entry] of changed) document.agents.set(name, entry);
        return document;
      },
    };
  }
}

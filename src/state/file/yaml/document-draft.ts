/** Changes to a state document, collected before they are written: a batch of patches becomes one new text. */
import { NO_FIELDS, type ScheduleFields } from "../../validate-state.js";
import { applyPatch } from "../../apply-patch.js";
import type { ScheduleState, ScheduleStatePatch } from "../../schedule-state.js";
import { type AgentEntry, agentEntry, renderDocument, type StateDocument } from "./state-document.js";
import type { NewDocument } from "../state-file.js";
import type { ScheduleKey } from "../../store.js";
import type { StateDraft } from "../../operations.js";

export class DocumentDraft implements StateDraft {
  readonly #document: StateDocument;
  readonly #schedules = new Map<string, Map<string, ScheduleFields>>();
  readonly #touched: ScheduleKey[] = [];

  constructor(document: StateDocument) {
    this.#document = document;
  }

  /** The schedules that were patched. */
  get touched(): readonly ScheduleKey[] {
    return this.#touched;
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
    this.#touched.push(key);
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

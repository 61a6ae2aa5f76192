/** Rows as they were read and what operations make of them, before anything is written. */
import { isDeepStrictEqual } from "node:util";
import { applyPatch } from "../apply-patch.js";
import type { ScheduleFields } from "../check-schedule.js";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleState, ScheduleStatePatch } from "../schedule-state.js";
import type { StateDraft } from "../state-operation.js";
import type { OutsideChange, ScheduleKey } from "../state-store.js";
import { noRow, type StateRow } from "./state-row.js";

/** A row that is to be written. */
export interface ChangedRow {
  readonly row: StateRow;
  readonly state: ScheduleFields;
  /** A claim is kept or ended by a change, and never made by one. */
  readonly keepsClaim: boolean;
}

interface Draft {
  readonly row: StateRow;
  state: ScheduleFields;
}

export class RowDraft implements StateDraft {
  readonly #drafts = new ScheduleMap<Draft>();

  constructor(rows: Iterable<StateRow>) {
    for (const row of rows) this.#drafts.set(row, { row, state: row.state });
  }

  /** The version that was read, which tells whether a row is still the same. */
  versionOf(key: ScheduleKey): number {
    return this.#draft(key).row.version;
  }

  read(key: ScheduleKey): Partial<ScheduleState> {
    return this.#draft(key).state;
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const draft = this.#draft(key);
    draft.state = applyPatch(draft.state, patch);
    return draft.state;
  }

  *keys(): Iterable<ScheduleKey> {
    for (const { row } of this.#drafts.values()) yield row;
  }

  changed(): ChangedRow[] {
    const changed: ChangedRow[] = [];
    for (const { row, state } of this.#drafts.values()) {
      if (state === row.state) continue;
      const { claim } = row.state;
      const keepsClaim = claim != null && state.claim?.token === claim.token;
      changed.push({ row, state, keepsClaim });
    }
    return changed;
  }

  #draft(key: ScheduleKey): Draft {
    const known = this.#drafts.get(key);
    if (known !== undefined) return known;
    const row = noRow(key);
    const draft: Draft = { row, state: row.state };
    this.#drafts.set(row, draft);
    return draft;
  }
}

/** Which of the keys `told` a change has touched. */
export function changeOf({ row, state }: ChangedRow, told: readonly (keyof ScheduleState)[]): OutsideChange {
  const { agent, schedule } = row;
  const before: ScheduleFields = row.state;
  const keys = told.filter((key) => !isDeepStrictEqual(before[key] ?? null, state[key] ?? null));
  return { agent, schedule, keys };
}

/** Applies operations to rows in memory, before anything is written. */
import { isDeepStrictEqual } from "node:util";
import { applyPatch } from "../../apply-patch.js";
import type { ScheduleFields } from "../../validate-state.js";
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleState, ScheduleStatePatch } from "../../schedule-state.js";
import type { StateDraft } from "../../operations.js";
import type { OutsideChange, ScheduleKey } from "../../store.js";
import { noRow, type StateRow } from "../rows/state-row.js";

/** A row to write. */
export interface ChangedRow {
  readonly row: StateRow;
  readonly state: ScheduleFields;
  /** Whether the claim goes on. A change never makes a claim. */
  readonly keepsClaim: boolean;
}

/** Rows by their schedules. */
export type RowsByKey = Pick<ScheduleMap<StateRow>, "get">;

export class RowDraft implements StateDraft {
  readonly #keys: readonly ScheduleKey[];
  readonly #rows: RowsByKey;
  /** Empty rows of schedules that have none. */
  readonly #unread = new ScheduleMap<StateRow>();
  readonly #changed = new Map<StateRow, ScheduleFields>();

  constructor(keys: readonly ScheduleKey[], rows: RowsByKey) {
    this.#keys = keys;
    this.#rows = rows;
  }

  /** The version of the row when it was read. */
  versionOf(key: ScheduleKey): number {
    return this.#rowOf(key).version;
  }

  read(key: ScheduleKey): Partial<ScheduleState> {
    return this.#stateOf(this.#rowOf(key));
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const row = this.#rowOf(key);
    const before = this.#stateOf(row);
    const state = applyPatch(before, patch);
    if (state !== before) this.#changed.set(row, state);
    return state;
  }

  keys(): Iterable<ScheduleKey> {
    return this.#keys;
  }

  changed(): ChangedRow[] {
    return Array.from(this.#changed, ([row, state]) => {
      const { claim } = row.state;
      return { row, state, keepsClaim: claim != null && state.claim?.token === claim.token };
    });
  }

  #stateOf(row: StateRow): ScheduleFields {
    return this.#changed.get(row) ?? row.state;
  }

  #rowOf(key: ScheduleKey): StateRow {
    const known = this.#rows.get(key) ?? this.#unread.get(key);
    if (known !== undefined) return known;
    const row = noRow(key);
    this.#unread.set(key, row);
    return row;
  }
}

/** Which of the keys a change has changed. */
export function changeOf(
  { row, state }: ChangedRow,
  listed: readonly (keyof ScheduleState)[],
): OutsideChange {
  const { agent, schedule } = row;
  const before: ScheduleFields = row.state;
  const keys = listed.filter((key) => !isDeepStrictEqual(before[key] ?? null, state[key] ?? null));
  return { agent, schedule, keys };
}

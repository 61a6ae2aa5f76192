/** The schedules that a node may run, by the ids of their rows and by their names. */
import { ScheduleMap } from "../../schedule-map.js";
import type { ScheduleDefinition, ScheduleKey } from "../../store.js";
import type { StateRow } from "./state-row.js";

export class DefinedSchedules {
  readonly #keys = new Map<number, ScheduleKey>();
  readonly #ids = new ScheduleMap<number>();
  readonly #automatic = new Set<number>();
  readonly #manual = new Set<number>();

  /** The row of each definition, in the same order. */
  constructor(rows: readonly StateRow[] = [], definitions: readonly ScheduleDefinition[] = []) {
    for (const [index, { id, agent, schedule }] of rows.entries()) {
      if (id === undefined) continue;
      const key = { agent, schedule };
      this.#keys.set(id, key);
      this.#ids.set(key, id);
      (definitions[index]?.isAutomatic === false ? this.#manual : this.#automatic).add(id);
    }
  }

  /** The schedules that it runs at their times. */
  get automaticIds(): Iterable<number> {
    return this.#automatic;
  }

  /** The schedules that it runs on request only. */
  get manualIds(): Iterable<number> {
    return this.#manual;
  }

  isManual(key: ScheduleKey): boolean {
    return this.#manual.has(this.#ids.get(key) ?? -1);
  }

  keyOf(id: number): ScheduleKey | undefined {
    return this.#keys.get(id);
  }

  has(key: ScheduleKey): boolean {
    return this.#ids.get(key) !== undefined;
  }
}

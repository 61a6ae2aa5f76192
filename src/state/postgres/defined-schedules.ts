/** The schedules that a node may run: the database knows them by the ids of their rows, everybody else by their names. */
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleKey } from "../state-store.js";
import type { StateRow } from "./state-row.js";

export class DefinedSchedules {
  readonly #keys = new Map<number, ScheduleKey>();
  readonly #ids = new ScheduleMap<number>();

  constructor(rows: Iterable<StateRow> = []) {
    for (const { id, agent, schedule } of rows) {
      if (id === undefined) continue;
      const key = { agent, schedule };
      this.#keys.set(id, key);
      this.#ids.set(key, id);
    }
  }

  get ids(): Iterable<number> {
    return this.#keys.keys();
  }

  keyOf(id: number): ScheduleKey | undefined {
    return this.#keys.get(id);
  }

  has(key: ScheduleKey): boolean {
    return this.#ids.get(key) !== undefined;
  }
}

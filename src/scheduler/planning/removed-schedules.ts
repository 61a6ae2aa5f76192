/**
 * How schedules were defined here that are gone: on a store that others share, whoever still has them goes on by the plan
 * in the state, and a job that outlives its schedule here has to leave one.
 */
import { ScheduleMap } from "../../state/schedule-map.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Roster } from "../roster.js";
import type { Schedule } from "../timing/schedule.js";

interface GoneSchedule {
  readonly key: ScheduleKey;
  readonly schedule: Schedule;
}

export class GoneSchedules {
  #known = new ScheduleMap<GoneSchedule>();

  /** As it was last known. */
  find(key: ScheduleKey): Schedule | undefined {
    return this.#known.get(key)?.schedule;
  }

  /** Those of `before` are kept until others go, in case they are being written; those with a job for as long as it runs. */
  note(gone: readonly ScheduleKey[], before: Roster, hasJob: (key: ScheduleKey) => boolean): void {
    const known = new ScheduleMap<GoneSchedule>();
    for (const entry of this.#known.values()) if (hasJob(entry.key)) known.set(entry.key, entry);
    for (const key of gone) {
      const schedule = before.find(key)?.schedule;
      if (schedule !== undefined) known.set(key, { key, schedule });
    }
    this.#known = known;
  }
}

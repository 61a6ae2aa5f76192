/**
 * The definitions of schedules that were removed here. On a store with several nodes other nodes may still run them by
 * the plan in the state, so a job that outlives its schedule here has to leave one.
 */
import { ScheduleMap } from "../../state/schedule-map.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Roster } from "../roster.js";
import type { Schedule } from "../timing/schedule.js";

interface RemovedSchedule {
  readonly key: ScheduleKey;
  readonly schedule: Schedule;
}

export class RemovedSchedules {
  #known = new ScheduleMap<RemovedSchedule>();

  /** The last definition of a schedule that was removed. */
  find(key: ScheduleKey): Schedule | undefined {
    return this.#known.get(key)?.schedule;
  }

  /** Keeps what is removed now until the next removal, and what has a job for as long as the job runs. */
  note(removed: readonly ScheduleKey[], before: Roster, hasJob: (key: ScheduleKey) => boolean): void {
    const known = new ScheduleMap<RemovedSchedule>();
    for (const entry of this.#known.values()) if (hasJob(entry.key)) known.set(entry.key, entry);
    for (const key of removed) {
      const schedule = before.find(key)?.schedule;
      if (schedule !== undefined) known.set(key, { key, schedule });
    }
    this.#known = known;
  }
}

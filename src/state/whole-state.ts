/** A schedule's state with a value for every key that decisions read. */
import { NO_FIELDS } from "./validate-state.js";
import { mergedFields } from "../fields.js";
import { type ScheduleState, UNKNOWN_SCHEDULE } from "./schedule-state.js";

/** What is known, completed by what holds of a schedule that never ran. A file may have a status that says nothing. */
export function wholeState(known: Partial<ScheduleState>): ScheduleState {
  if (known === NO_FIELDS) return UNKNOWN_SCHEDULE;
  const { status, last_run_at, next_run_at, last_error } = UNKNOWN_SCHEDULE;
  const whole = mergedFields({ status, last_run_at, next_run_at, last_error }, known);
  return "status" in known && known.status == null ? { ...whole, status } : whole;
}

/** What a patch makes of a schedule's state: keys it names change, those it sets to `null` go, all others stay. */
import type { Fields } from "../fields.js";
import { isDeepStrictEqual } from "node:util";
import type { ScheduleStatePatch } from "./schedule-state.js";
import type { ScheduleFields } from "./check-schedule.js";
import { mergedFields } from "./file/state-text.js";

/** The state with the patch applied; the very same object when that changes nothing. */
export function applyPatch(fields: ScheduleFields, patch: ScheduleStatePatch): ScheduleFields {
  const given: Fields = patch;
  let changed: Record<string, unknown> | undefined;
  for (const key of Object.keys(given)) {
    const value = given[key];
    if (!isChange(fields[key] ?? null, value)) continue;
    changed ??= mergedFields({}, fields);
    if (value === null) delete changed[key];
    else changed[key] = value;
  }
  return changed ?? fields;
}

function isChange(before: unknown, after: unknown): boolean {
  if (after === undefined || before === after) return false;
  return before === null || typeof after !== "object" || !isDeepStrictEqual(before, after);
}

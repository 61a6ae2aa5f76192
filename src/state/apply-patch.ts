/** What a patch makes of a schedule's state: keys it names change, those it sets to `null` go, all others stay. */
import { isDeepStrictEqual } from "node:util";
import type { ScheduleStatePatch } from "./schedule-state.js";
import type { ScheduleFields } from "./check-schedule.js";

/** The state with the patch applied; the very same object when that changes nothing. */
export function applyPatch(fields: ScheduleFields, patch: ScheduleStatePatch): ScheduleFields {
  const changes = Object.entries(patch).filter(([key, value]) => isChange(fields[key] ?? null, value));
  if (changes.length === 0) return fields;
  const changed: Record<string, unknown> = { ...fields };
  for (const [key, value] of changes) changed[key] = value;
  if (changes.every(([, value]) => value !== null)) return changed;
  return Object.fromEntries(
    Object.entries(changed).filter(([key, value]) => value !== null || !(key in patch)),
  );
}

function isChange(before: unknown, after: unknown): boolean {
  if (after === undefined || before === after) return false;
  return typeof after !== "object" || !isDeepStrictEqual(before, after);
}

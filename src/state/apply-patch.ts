/** Applies a patch to a schedule's state: a key that the patch names changes, a key that it sets to `null` goes. */
import type { Fields } from "../fields.js";
import { isDeepStrictEqual } from "node:util";
import type { ScheduleStatePatch } from "./schedule-state.js";
import type { ScheduleFields } from "./validate-state.js";

/** The state with the patch applied; the very same object when that changes nothing. */
export function applyPatch(fields: ScheduleFields, patch: ScheduleStatePatch): ScheduleFields {
  const given: Fields = patch;
  for (const key in given) {
    const before = fields[key] ?? null;
    const after = Object.hasOwn(given, key) ? given[key] : undefined;
    if (after === undefined || before === after) continue;
    if (before === null || typeof after !== "object" || !isDeepStrictEqual(before, after))
      return changedFields(fields, given);
  }
  return fields;
}

/**
 * Nothing is deleted from it: an object that something was deleted from is slow in all that is done with it later.
 * Loops over keys without a list of them: for a thousand jobs that end together the lists would outweigh the states.
 */
function changedFields(fields: ScheduleFields, given: Fields): ScheduleFields {
  const changed: Record<string, unknown> = {};
  for (const key in fields) {
    if (!Object.hasOwn(fields, key)) continue;
    // A file may have any key, also one that every object has from birth.
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    if (value === undefined) define(changed, key, fields[key]);
    else if (value !== null) define(changed, key, value);
  }
  for (const key in given)
    if (Object.hasOwn(given, key) && given[key] != null && !Object.hasOwn(fields, key))
      define(changed, key, given[key]);
  return changed;
}

function define(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(fields, key, { value, enumerable: true, writable: true, configurable: true });
  else fields[key] = value;
}

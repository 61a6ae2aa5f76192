/** How far a backfill is, in words. Pure. */
import type { BackfillProgress } from "../../scheduler/control/backfill.js";
import { zonedTime } from "./when.js";

/** "3 of 10 slots have run, 1 failed; next 2026-03-01T02:30:00+01:00" */
export function progressText({ total, done, failed, next }: BackfillProgress): string {
  const failures = failed === 0 ? "" : `, ${failed} failed`;
  return `${done} of ${slotsOf(total)} have run${failures}${next === undefined ? "" : `; next ${zonedTime(next)}`}`;
}

export function slotsOf(count: number): string {
  return count === 1 ? "1 slot" : `${count} slots`;
}

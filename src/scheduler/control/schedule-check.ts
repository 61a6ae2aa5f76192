/** Would a schedule be started now, and if not, why? Pure; the reasons are asked in the documents' order. */
import { claimRefusal, type ClaimQuestion } from "../../state/claim-rules.js";
import type { ClaimRefusal } from "../../state/store.js";
import { isAutomatic, type Schedule } from "../timing/schedule.js";

/** Why a schedule or a slot does not run. */
export type ScheduleSkipReason = "unsupported_type" | ClaimRefusal | "no_work" | "missed";

export type ScheduleCheckResult =
  | { readonly shouldTrigger: true }
  | { readonly shouldTrigger: false; readonly skipReason: ScheduleSkipReason };

export interface ScheduleQuestion extends ClaimQuestion {
  readonly schedule: Pick<Schedule, "type">;
}

export function checkSchedule({ schedule, ...question }: ScheduleQuestion): ScheduleCheckResult {
  const skipReason = isAutomatic(schedule) ? claimRefusal(question) : "unsupported_type";
  return skipReason === undefined ? { shouldTrigger: true } : { shouldTrigger: false, skipReason };
}

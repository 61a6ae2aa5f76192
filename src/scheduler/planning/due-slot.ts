/** What to do with a claimed slot: run it, run it late, drop it, or plan again? Pure. */
import type { PlanSource } from "../../state/schedule-state.js";
import type { Claim } from "../../state/store.js";
import { isCronRun } from "../timing/cron.js";
import { judgeSlot, type SlotInput, type SlotVerdict } from "./late-slot.js";
import { cronExpression, type Schedule } from "../timing/schedule.js";

export type ClaimVerdict =
  | { readonly action: "run"; readonly source: PlanSource | undefined }
  | { readonly action: "miss"; readonly lateMs: number; readonly graceMs: number }
  /** The end of a pause is a time to plan again, not a slot. */
  | { readonly action: "plan" };

/** Slots that were asked for, at once or at a named time: they run however late. */
const ASKED_FOR: ReadonlySet<PlanSource | undefined> = new Set<PlanSource>([
  "first-run",
  "catch-up",
  "manual",
  "ai-oneshot",
]);

/** Whether a slot is run whatever its schedule's policy says. */
export function isAskedFor(source: PlanSource | undefined): boolean {
  return ASKED_FOR.has(source);
}

/** No grace is shorter: half of the shortest period, which is a second. */
const SHORTEST_GRACE_MS = 500;

export function judgeClaim(
  { slot, source: planned, seenAt }: Pick<Claim, "slot" | "source" | "seenAt">,
  schedule: Schedule,
): ClaimVerdict {
  // A pause that ends at one of its times does not cost a cron schedule that one.
  const source = planned === "paused" && isTimeOf(schedule, slot) ? "baseline-cron" : planned;
  if (source === "paused") return { action: "plan" };
  if (ASKED_FOR.has(source)) return { action: "run", source };
  // Left over from a definition that had slots.
  if (schedule.type === "webhook" || schedule.type === "chat") return { action: "plan" };
  // In time, whatever its grace: what a herd's slots mostly are.
  if (seenAt.getTime() - slot.getTime() < SHORTEST_GRACE_MS) return { action: "run", source };
  const judged = judgeKnown({ now: seenAt, schedule, slotAt: slot });
  if (judged === undefined) return { action: "plan" };
  const { verdict, lateMs, graceMs } = judged;
  if (verdict === "missed") return { action: "miss", lateMs, graceMs };
  return { action: "run", source: verdict === "catch-up" ? "catch-up" : source };
}

function isTimeOf(schedule: Schedule, slot: Date): boolean {
  return schedule.type === "cron" && isCronRun(cronExpression(schedule), slot, schedule.timezone);
}

/** `undefined` for a time outside the calendar, which a state file may hold: it must not break the pass. */
function judgeKnown(input: SlotInput): SlotVerdict | undefined {
  try {
    return judgeSlot(input);
  } catch {
    return undefined;
  }
}

/** What to do with a claimed slot: run it, run it late, drop it, or plan again? Pure. */
import { isoTimeMs } from "../../iso-time.js";
import { backfillSlot, MOST_INTERRUPTIONS } from "../../state/claim-rules.js";
import type { PlanSource, ScheduleState } from "../../state/schedule-state.js";
import type { Claim } from "../../state/store.js";
import { isCronRun } from "../timing/cron.js";
import { judgeSlot, type SlotInput, type SlotVerdict } from "./late-slot.js";
import { gridSlots, hasGrid } from "./unrun-slots.js";
import { cronExpression, type Schedule } from "../timing/schedule.js";

export type ClaimVerdict =
  | { readonly action: "run"; readonly source: PlanSource | undefined }
  | {
      readonly action: "miss";
      readonly lateMs: number;
      readonly graceMs: number;
      /** The schedule's latest slot, which is not too late and runs instead. */
      readonly latest?: Date | undefined;
    }
  /** Its jobs were interrupted too often, or it must not run a second time. */
  | { readonly action: "abandon"; readonly attempts: number }
  /** The end of a pause is a time to plan again, not a slot. */
  | { readonly action: "plan"; readonly latest?: Date | undefined };

/** Slots that were asked for, at once or at a named time: they run however late. */
const ASKED_FOR: ReadonlySet<PlanSource | undefined> = new Set<PlanSource>([
  "first-run",
  "catch-up",
  "manual",
  "ai-oneshot",
  "retry",
]);

/** Whether a slot is run whatever its schedule's policy says. */
export function isAskedFor(source: PlanSource | undefined): boolean {
  return ASKED_FOR.has(source);
}

/** A slot that was claimed, or without attempt and state one that waits. */
type DueSlot = Pick<Claim, "slot" | "source" | "seenAt"> &
  Partial<Pick<Claim, "attempt" | "claimedAt">> & { readonly state?: Partial<ScheduleState> };

/** No grace is shorter: half of the shortest period, which is a second. */
const SHORTEST_GRACE_MS = 500;

/** Without `state` no hint is considered. */
export function judgeClaim(
  { slot, source: planned, seenAt, claimedAt, attempt, state = {} }: DueSlot,
  schedule: Schedule,
): ClaimVerdict {
  if (planned === "retry" && attempt !== undefined) {
    const interruptions = state.interrupted_count ?? 0;
    const most = schedule.on_interrupt === "skip" ? 1 : MOST_INTERRUPTIONS;
    if (interruptions >= most) return { action: "abandon", attempts: attempt - 1 };
  }
  // A pause that ends at one of its times does not cost a cron schedule that one.
  const source = planned === "paused" && isTimeOf(schedule, slot) ? "baseline-cron" : planned;
  if (source === "paused") return { action: "plan", latest: latestSlot(schedule, state, slot, seenAt) };
  if (planned === "manual" && state.backfill != null && claimedAt !== undefined) {
    const latest = ownSlot(schedule, state, seenAt, claimedAt);
    if (latest !== undefined) return { action: "plan", latest };
  }
  if (ASKED_FOR.has(source)) return { action: "run", source };
  // Left over from a definition that had slots.
  if (schedule.type === "webhook" || schedule.type === "chat") return { action: "plan" };
  // In time, whatever its grace: what a herd's slots mostly are.
  if (seenAt.getTime() - slot.getTime() < SHORTEST_GRACE_MS) return { action: "run", source };
  const judged = judgeKnown({ now: seenAt, schedule, slotAt: slot });
  if (judged === undefined) return { action: "plan" };
  const { verdict, lateMs, graceMs } = judged;
  const latest = verdict === "run" ? undefined : latestSlot(schedule, state, slot, seenAt);
  if (verdict === "missed" || latest !== undefined) return { action: "miss", lateMs, graceMs, latest };
  return { action: "run", source: verdict === "catch-up" ? "catch-up" : source };
}

/**
 * The schedule's own slot that came due while one of a backfill waited, and goes first. One that passed before the
 * backfill's was seen may be too late.
 */
function ownSlot(
  schedule: Schedule,
  state: Partial<ScheduleState>,
  seenAt: Date,
  now: Date,
): Date | undefined {
  const sinceMs = isoTimeMs(state.accounted_until);
  if (schedule.type !== "cron" || sinceMs === undefined || backfillSlot(state) === undefined)
    return undefined;
  const latest = gridSlots(schedule, sinceMs, now.getTime())?.lastSlot;
  if (latest === undefined || !hasGrid(schedule, state, now)) return undefined;
  if (latest > seenAt) return latest;
  return judgeKnown({ now: seenAt, schedule, slotAt: latest })?.verdict === "missed" ? undefined : latest;
}

/** The latest grid time of a cron schedule since a slot, if it is not too late to run. */
export function latestSlot(
  schedule: Schedule,
  state: Partial<ScheduleState>,
  since: Date,
  now: Date,
): Date | undefined {
  if (schedule.type !== "cron") return undefined;
  const latest = gridSlots(schedule, since.getTime(), now.getTime())?.lastSlot;
  if (latest === undefined || !hasGrid(schedule, state, now)) return undefined;
  return judgeKnown({ now, schedule, slotAt: latest })?.verdict === "run" ? latest : undefined;
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

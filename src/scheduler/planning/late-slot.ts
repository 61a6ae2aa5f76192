/**
 * What becomes of a slot found due after its time, because the scheduler was down or the machine slept.
 * Waiting for capacity is not lateness: a slot is judged once, when it is first seen due.
 */
import { UNIT_MS } from "../../duration.js";
import { nextCronRun, previousCronRun } from "../timing/cron.js";
import { parseInterval } from "../timing/interval.js";
import {
  type CronSchedule,
  cronExpression,
  type OnceSchedule,
  type RecurringSchedule,
} from "../timing/schedule.js";

export interface SlotVerdict {
  /** `run`: in time or within its grace. `catch-up`: too late, run one time anyway. `missed`: dropped, and to be said so. */
  readonly verdict: "run" | "catch-up" | "missed";
  readonly lateMs: number;
  readonly graceMs: number;
}

export interface SlotInput {
  readonly now: Date;
  readonly schedule: RecurringSchedule | OnceSchedule;
  readonly slotAt: Date;
}

const LONGEST_GRACE_MS = 5 * UNIT_MS.m;

/** Whether a due slot still runs. An overdue interval does by default: it asks for a distance, not for a time of day. */
export function judgeSlot({ now, schedule, slotAt }: SlotInput): SlotVerdict {
  const lateMs = Math.max(0, now.getTime() - slotAt.getTime());
  const graceMs =
    schedule.grace === undefined ? defaultGraceMs(schedule, slotAt) : parseInterval(schedule.grace);
  if (lateMs < graceMs) return { verdict: "run", lateMs, graceMs };
  const missed = schedule.missed ?? (schedule.type === "interval" ? "once" : "skip");
  return { verdict: missed === "once" ? "catch-up" : "missed", lateMs, graceMs };
}

function defaultGraceMs(schedule: SlotInput["schedule"], slotAt: Date): number {
  if (schedule.type === "once") return LONGEST_GRACE_MS;
  const periodMs =
    schedule.type === "interval" ? parseInterval(schedule.interval) : cronPeriodMs(schedule, slotAt);
  return periodMs <= UNIT_MS.m
    ? Math.floor(periodMs / 2)
    : Math.min(Math.floor(periodMs / 60), LONGEST_GRACE_MS);
}

/** The distance between the cron times around a slot, which need not be one of them: hints and limits move it. */
function cronPeriodMs(schedule: CronSchedule, slotAt: Date): number {
  const expression = cronExpression(schedule);
  const next = nextCronRun(expression, slotAt, schedule.timezone);
  return next.getTime() - previousCronRun(expression, next, schedule.timezone).getTime();
}

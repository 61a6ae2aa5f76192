/** Which slots of a past period a backfill runs, and what it writes into the state. When they run is in planning/backfill.ts. */
import type { Instant } from "../../clock.js";
import { isoText, isoTimeMs } from "../../iso-time.js";
import { backfillSlot, NO_PLAN } from "../../state/claim-rules.js";
import type { JobLog } from "../../state/job-log/job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { ScheduleKey } from "../../state/store.js";
import { invalidArgument, invalidOption, readInstant, requireMap } from "../arguments.js";
import type { SchedulerError } from "../errors.js";
import { countCronRuns, nextCronRuns } from "../timing/cron.js";
import { cronExpression, type Schedule } from "../timing/schedule.js";

export interface BackfillOptions {
  /** The first slot of the period is at or after this time. */
  readonly from: Instant;
  /** The last slot is at or before this time, which may not lie ahead. */
  readonly to: Instant;
  /**
   * At most this many slots, up to 1,000; a period with more is refused.
   * @default 100
   */
  readonly limit?: number | undefined;
  /**
   * Only says which slots would run.
   * @default false
   */
  readonly dryRun?: boolean | undefined;
}

export interface Backfill {
  /** The slots to run, oldest first. */
  readonly slots: readonly Date[];
  /** How many slots of the period are left out: completed, running or due. */
  readonly leftOut: number;
}

export interface BackfillProgress {
  readonly total: number;
  /** How many slots have run. */
  readonly done: number;
  /** How many of them did not complete. */
  readonly failed: number;
  /** The slot that runs now or next. */
  readonly next: Date | undefined;
}

const DEFAULT_LIMIT = 100;
/** They are kept in the state of the schedule, which is written with every job. */
const MOST_SLOTS = 1_000;
/** More slots are only counted. */
const MOST_LISTED = 100_000;

export interface BackfillScene extends ScheduleKey {
  readonly definition: Schedule;
  readonly state: ScheduleState;
  readonly now: Date;
  readonly jobs: Pick<JobLog, "list">;
}

/** The slots that a backfill would run. Throws INVALID_ARGUMENT for a period that cannot be run. */
export async function backfillOf(options: BackfillOptions, scene: BackfillScene): Promise<Backfill> {
  const { definition, now, agent, schedule, state } = scene;
  requireMap("backfill", options, '{ from: "2026-03-01T00:00:00Z", to: "2026-03-02T00:00:00Z" }');
  if (definition.type !== "cron")
    throw invalidArgument(
      `Only cron schedules have slots to run again: this one is of type ${definition.type}`,
    );
  const from = readInstant("from", options.from);
  const to = readInstant("to", options.to);
  const limit = options.limit ?? DEFAULT_LIMIT;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST_SLOTS)
    throw invalidOption("limit", limit, `a whole number from 1 to ${MOST_SLOTS}`);
  if (from >= to) throw invalidArgument("The period ends before it begins: from must be earlier than to");
  if (to > now) throw invalidArgument("The period ends in the future: to must not be later than now");
  requireNone(state);
  const expression = cronExpression(definition);
  const before = new Date(from.getTime() - 1);
  const count = countCronRuns(expression, before, to, definition.timezone);
  if (count > MOST_LISTED) throw tooMany(count, limit);
  const slots = nextCronRuns(expression, count, before, definition.timezone);
  const done = new Set(openSlots(state, now));
  // A slot runs at its time or later, and a clock may differ a little between nodes.
  const since = new Date(from.getTime() - 60_000);
  const filter = { agent, schedule, status: "completed", since, limit: Number.MAX_SAFE_INTEGER } as const;
  for (const { slot } of await scene.jobs.list(filter)) done.add(isoTimeMs(slot));
  const wanted = slots.filter((slot) => !done.has(slot.getTime()));
  if (wanted.length > limit) throw tooMany(wanted.length, limit);
  return { slots: wanted, leftOut: slots.length - wanted.length };
}

/** What is running, tried again or due, and runs anyway. */
function openSlots(state: ScheduleState, now: Date): (number | undefined)[] {
  const dueMs = isoTimeMs(state.next_run_at);
  return [
    isoTimeMs(state.claim?.slot),
    isoTimeMs(state.retry?.slot),
    dueMs !== undefined && dueMs <= now.getTime() ? dueMs : undefined,
  ];
}

/** Adds the slots to the state. Throws where a backfill is under way. */
export function backfilled(slots: readonly Date[]): (state: ScheduleState) => ScheduleStatePatch {
  return (state) => {
    requireNone(state);
    if (slots.length === 0) return {};
    return { backfill: { slots: slots.map(isoText), total: slots.length } };
  };
}

/** Takes away the slots that have not run. A job that runs goes on. */
export function backfillCancelled(state: ScheduleState): ScheduleStatePatch {
  if (state.backfill == null) return {};
  const isPlanned = state.claim == null && state.retry == null && backfillSlot(state) !== undefined;
  return isPlanned ? { backfill: null, ...NO_PLAN } : { backfill: null };
}

export function backfillProgress({ backfill }: Partial<ScheduleState>): BackfillProgress | undefined {
  if (backfill == null) return undefined;
  const { slots, total, failed } = backfill;
  const nextMs = isoTimeMs(slots[0]);
  return {
    total,
    done: Math.max(0, total - slots.length),
    failed: failed ?? 0,
    next: nextMs === undefined ? undefined : new Date(nextMs),
  };
}

function requireNone(state: ScheduleState): void {
  const progress = backfillProgress(state);
  if (progress === undefined) return;
  const { done, total } = progress;
  throw invalidArgument(
    `A backfill is under way, ${done} of ${total} slots have run: wait for it, or cancel it`,
  );
}

function tooMany(count: number, limit: number): SchedulerError {
  const remedy =
    count > MOST_SLOTS
      ? `choose a shorter period: at most ${MOST_SLOTS} can be run at a time`
      : `raise the limit to ${count}, or choose a shorter period`;
  return invalidArgument(`The period has ${count} slots to run, the limit is ${limit}: ${remedy}`);
}

/**
 * May a schedule be claimed, and if not, why? What does a job, and the end of its claim, leave in its schedule's state?
 * Pure. The next run is planned from that state, by the governor.
 */
import { UNIT_MS } from "../duration.js";
import { mergedFields } from "../fields.js";
import { isoText, isoTimeMs } from "../iso-time.js";
import type { EndedJobRecord } from "./job-log/job-log.js";
import type {
  LastJob,
  PlanSource,
  ScheduleHint,
  ScheduleState,
  ScheduleStatePatch,
  SlotRetry,
} from "./schedule-state.js";
import type { ClaimRefusal, ScheduleKey } from "./store.js";

export interface ClaimQuestion {
  readonly state: Partial<ScheduleState>;
  /** Whether a claim of this schedule is held. */
  readonly isRunning: boolean;
  /** Whether its agent runs as many jobs as it may. */
  readonly isAtCapacity: boolean;
  /** Absent for a manual claim, which is not bound to a time. */
  readonly nowMs?: number | undefined;
}

/** The first reason against a claim; `undefined` when it may be made. */
export function claimRefusal({
  state,
  isRunning,
  isAtCapacity,
  nowMs,
}: ClaimQuestion): ClaimRefusal | undefined {
  if (state.status === "disabled") return "disabled";
  if (isRunning) return "already_running";
  if (isAtCapacity) return "at_capacity";
  if (nowMs === undefined) return undefined;
  if ((isoTimeMs(state.next_run_at) ?? Infinity) > nowMs) return "not_due";
  if ((isoTimeMs(state.paused_until) ?? -Infinity) > nowMs) return "paused";
  return undefined;
}

/** When a schedule that is not running can be claimed, as far as its own state goes; `undefined` for never. */
export function claimableMs(state: Partial<ScheduleState>): number | undefined {
  const dueMs = isoTimeMs(state.next_run_at);
  if (dueMs === undefined || state.status === "disabled") return undefined;
  return Math.max(dueMs, isoTimeMs(state.paused_until) ?? -Infinity);
}

/** What removes the plan of a schedule: it is not due again until it is planned anew. */
export const NO_PLAN = { next_run_at: null, next_run_source: null } as const;
/** As NO_PLAN, of a schedule whose slot also runs no further time. */
export const NO_SLOT = {
  next_run_at: null,
  next_run_source: null,
  retry: null,
  interrupted_count: null,
  accounted_until: null,
} as const;

/** What ends a claim: the slot is used up, and the schedule idle again unless it was disabled meanwhile. */
export function completion(state: Partial<ScheduleState>, patch: ScheduleStatePatch): ScheduleStatePatch {
  const end: ScheduleStatePatch = {
    status: state.status === "disabled" ? "disabled" : "idle",
    claim: null,
    interrupted_count: null,
    next_run_at: null,
    next_run_source: null,
  };
  // A slot that waits for its next attempt waits on, where the job was not one of it.
  if (state.retry != null)
    Object.assign(end, isRetried(state) ? { retry: null } : { interrupted_count: state.interrupted_count });
  return mergedFields(end, patch);
}

/** What a claim that is given back unused leaves behind: the slot, as it was. */
export function givenBack(state: Partial<ScheduleState>): ScheduleStatePatch {
  return { status: state.status === "disabled" ? "disabled" : "idle", claim: null };
}

/**
 * The state without a claim that is not held: one whose write failed after its effect, or whose lease ended while the
 * disk failed. No job runs under it.
 */
export function seenState(
  state: Partial<ScheduleState>,
  isHeld: (token: string) => boolean,
): Partial<ScheduleState> {
  if (state.claim == null || isHeld(state.claim.token)) return state;
  return mergedFields(mergedFields({}, state), givenBack(state));
}

/** Whether the slot that is running, or without a claim the one that runs next, is the one in `retry`. */
export function isRetried(state: Partial<ScheduleState>): boolean {
  return state.retry != null && (state.claim == null || state.claim.source === "retry");
}

/** The slot of a backfill that is planned, tried again or running; `undefined` where the plan is not a backfill's. */
export function backfillSlot({
  backfill,
  retry,
  next_run_at,
  next_run_source,
}: Partial<ScheduleState>): string | undefined {
  const [slot] = backfill?.slots ?? [];
  if (retry != null) return retry.slot === slot ? slot : undefined;
  return next_run_source === "manual" && backfill?.at != null && backfill.at === next_run_at
    ? slot
    : undefined;
}

/** The backfill after a job of a schedule has ended: without its slot, if it was one of the backfill. */
export function backfillAfter(state: Partial<ScheduleState>, isFailure: boolean): ScheduleStatePatch {
  const { backfill, claim } = state;
  const slot = backfillSlot(state);
  if (backfill == null || slot === undefined || claim?.slot !== slot) return {};
  const { slots, total, failed } = backfill;
  if (slots.length <= 1) return { backfill: null };
  return { backfill: { slots: slots.slice(1), total, failed: (failed ?? 0) + (isFailure ? 1 : 0) } };
}

/** After this many interruptions a slot is given up. */
export const MOST_INTERRUPTIONS = 5;
/** How long a slot waits after each of its interruptions: the job itself may be what kills the process. */
const WAITS_MS: readonly number[] = [0, 0, UNIT_MS.m, 2 * UNIT_MS.m, 4 * UNIT_MS.m];
export const LONGEST_INTERRUPTION_WAIT_MS: number = Math.max(...WAITS_MS);

/** How long work that is never given up waits after so many interruptions in a row. */
export function interruptionWaitMs(times: number): number {
  return WAITS_MS[times] ?? LONGEST_INTERRUPTION_WAIT_MS;
}

/**
 * What a claim whose process died leaves behind: its slot, which is due again, and later after each time. A slot that
 * was interrupted too often is due at once: the scheduler that claims it gives it up, and says so.
 */
export function interruption(state: Partial<ScheduleState>, now: Date): ScheduleStatePatch {
  const { claim, retry } = state;
  const startedAt = claim?.claimed_at ?? claim?.slot;
  const common: ScheduleStatePatch = {
    ...givenBack(state),
    ...(startedAt == null ? {} : { last_run_at: startedAt, last_started_at: startedAt }),
    last_error: "interrupted: the process that ran the job ended",
  };
  if (isBesideRetry(state))
    return {
      ...common,
      failure_count: (state.failure_count ?? 0) + 1,
      abandoned_count: (state.abandoned_count ?? 0) + 1,
    };
  const times = Math.min((state.interrupted_count ?? 0) + 1, MOST_INTERRUPTIONS);
  const attempt = (retry?.attempt ?? 1) + 1;
  const again = retry?.at == null ? retry : { ...retry, at: null };
  const waitMs = WAITS_MS[times] ?? 0;
  return {
    ...common,
    ...gridBeside(state),
    interrupted_count: times,
    retry: again == null ? { ...interruptedSlot(state, now), attempt } : { ...again, attempt },
    next_run_at: isoText(new Date(now.getTime() + waitMs)),
    next_run_source: "retry",
  };
}

export interface FailedTry {
  /** How many attempts have failed by now. */
  readonly failures: number;
  readonly failedAt: Date;
  /** When the next one is due. */
  readonly at: Date;
  /** The id of the item that the job worked on. */
  readonly workItem?: string | undefined;
}

/** What a job of a slot that failed leaves behind where it is tried again: the slot, and when. */
export function failedTry(
  state: Partial<ScheduleState>,
  { failures, failedAt, at, workItem }: FailedTry,
): ScheduleStatePatch {
  const { retry, interrupted_count } = state;
  const slot = retry ?? { ...interruptedSlot(state, failedAt), attempt: 1 };
  const next_run_at = isoText(at);
  const next = { ...slot, attempt: slot.attempt + 1, failures, at: next_run_at };
  return {
    retry: workItem === undefined ? next : { ...next, work_item: workItem },
    ...gridBeside(state),
    interrupted_count: interrupted_count ?? null,
    next_run_at,
    next_run_source: "retry",
  };
}

/** Whether the job under way is one on request, while an earlier slot waits for its next attempt: only that is kept. */
export function isBesideRetry(state: Partial<ScheduleState>): boolean {
  return state.retry != null && !isRetried(state);
}

/** Plans that are no slots of their own: the grid times of a cron schedule are counted from the slot that is kept. */
const UNCOUNTED: ReadonlySet<unknown> = new Set([
  null,
  undefined,
  "paused",
  "once",
  "retry",
  "baseline-cron",
]);

/** The planned time that came due beside a job on request, whose slot is to be tried again in its place. */
export function slotBeside(state: Partial<ScheduleState>, now: Date): Date | undefined {
  const { claim, retry, next_run_at, next_run_source } = state;
  if (claim?.source !== "manual" || retry != null || UNCOUNTED.has(next_run_source)) return undefined;
  const plannedMs = isoTimeMs(next_run_at) ?? Infinity;
  const isOwn =
    backfillSlot(state) !== undefined ||
    (next_run_source === "manual" && plannedMs === isoTimeMs(claim.slot));
  return plannedMs <= now.getTime() && !isOwn ? new Date(plannedMs) : undefined;
}

/** A cron time that waited already when a job was requested counts with the times before the slot that is kept. */
export function gridBeside({
  claim,
  retry,
  next_run_at,
  next_run_source,
  accounted_until,
}: Partial<ScheduleState>): ScheduleStatePatch {
  if (claim?.source !== "manual" || retry != null || next_run_source !== "baseline-cron") return {};
  const plannedMs = isoTimeMs(next_run_at) ?? Infinity;
  const isWaiting = accounted_until == null && plannedMs < (isoTimeMs(claim.slot) ?? -Infinity);
  return isWaiting ? { accounted_until: isoText(plannedMs - 1) } : {};
}

/** The first attempt at a slot. A state that says `running` without a claim knows only when its run began. */
export function interruptedSlot(state: Partial<ScheduleState>, now: Date): Omit<SlotRetry, "attempt"> {
  const { claim, next_run_at, last_run_at } = state;
  if (claim != null) {
    const slot = { slot: claim.slot, trigger: triggerBy(claim.source), source: claim.source };
    if (claim.source !== "manual") return slot;
    // A scheduler counts it when the slot is over, and says so.
    const beside = slotBeside(state, now);
    const requested = { ...slot, job_id: claim.job_id };
    return beside === undefined ? requested : { ...requested, beside: isoText(beside) };
  }
  const startedAt = last_run_at ?? isoText(now);
  const isDue = (isoTimeMs(next_run_at) ?? Infinity) <= (isoTimeMs(startedAt) ?? now.getTime());
  return { slot: isDue && next_run_at != null ? next_run_at : startedAt };
}

/** What starts a job for which reason; `null` where a reason does not tell. */
function triggerBy(source: PlanSource | null | undefined): SlotRetry["trigger"] {
  if (source === "manual" || source === "once") return source;
  if (source === "baseline-cron") return "cron";
  return source === "baseline-interval" || source === "first-run" ? "interval" : null;
}

export interface JobOutcome {
  readonly startedAt: Date;
  readonly completedAt: Date;
  /** Why the job failed; absent when it succeeded. */
  readonly error?: string | undefined;
}

/**
 * The changes to record, given the state at completion. They come before the plan, so the first failure already
 * doubles the wait; a hint that the job did not use up is not among them, so a newer one is never overwritten.
 */
export function recordOutcome(state: Partial<ScheduleState>, outcome: JobOutcome): ScheduleStatePatch {
  const startedAt = isoText(outcome.startedAt);
  const hint = state.hint == null ? state.hint : remainingHint(state.hint, outcome);
  const changes = {
    last_run_at: startedAt,
    last_started_at: startedAt,
    last_completed_at: isoText(outcome.completedAt),
    last_error: outcome.error ?? null,
    failure_count: outcome.error === undefined ? 0 : (state.failure_count ?? 0) + 1,
  };
  return hint === state.hint ? changes : { ...changes, hint };
}

/** An expired hint is gone as a whole; a one-shot is used up by a job that started at or after its time. */
function remainingHint(hint: ScheduleHint, { startedAt, completedAt }: JobOutcome): ScheduleHint | null {
  if (isOver(hint.expires_at, completedAt)) return null;
  const { next_run_at, ...rest } = hint;
  if (next_run_at == null || !isOver(next_run_at, startedAt)) return hint;
  return rest.interval == null ? null : rest;
}

function isOver(text: string, at: Date): boolean {
  return (isoTimeMs(text) ?? -Infinity) <= at.getTime();
}

/** What the write that ends a claim keeps of its job. */
export function lastJobOf({ id, slot, trigger, attempt, status }: EndedJobRecord): LastJob {
  return { id, slot, trigger, attempt, status };
}

/** The record of a schedule's last job, made from the state that its end left; less than the job's own record says. */
export function recordOfLastJob(
  { agent, schedule }: ScheduleKey,
  state: Partial<ScheduleState>,
  job: LastJob,
  now: Date,
): EndedJobRecord {
  const finishedAt = state.last_completed_at ?? state.last_started_at ?? now.toISOString();
  const startedAt = state.last_started_at ?? finishedAt;
  const { id, slot = null, trigger, attempt, status } = job;
  return {
    id,
    agent,
    schedule,
    trigger: trigger ?? "interval",
    slot,
    source: null,
    attempt: Math.max(1, attempt ?? 1),
    prompt: null,
    work_item: null,
    started_at: startedAt,
    status,
    finished_at: finishedAt,
    duration_ms: durationOf(startedAt, finishedAt),
    error: status === "completed" ? null : (state.last_error ?? null),
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

function durationOf(startedAt: string, finishedAt: string): number | null {
  const ms = (isoTimeMs(finishedAt) ?? Number.NaN) - (isoTimeMs(startedAt) ?? Number.NaN);
  return ms >= 0 ? ms : null;
}

/**
 * Whether a final record is the end that `record` tells of, and not one that the store wrote because the claim's lease
 * had ended.
 */
export function isSameEnd(final: EndedJobRecord, record: EndedJobRecord): boolean {
  return final.status === record.status && isoTimeMs(final.finished_at) === isoTimeMs(record.finished_at);
}

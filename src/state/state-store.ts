/**
 * The StateStore contract: what any keeper of schedule state guarantees, whatever it writes to.
 * A store knows due times, capacity and claims; when a schedule is due next is planned by its user.
 */
import type { JobLog } from "./jobs/job-log.js";
import type { PlanSource, ScheduleState, ScheduleStatePatch } from "./schedule-state.js";

export interface ScheduleKey {
  readonly agent: string;
  readonly schedule: string;
}

/** A schedule that may be claimed. */
export interface ScheduleDefinition extends ScheduleKey {
  /**
   * How many jobs its agent may have at a time, over all its schedules.
   * @default 1
   */
  readonly maxConcurrent?: number | undefined;
}

/** The exclusive right to run one slot, for as long as it is renewed. */
export interface Claim extends ScheduleKey {
  /** Fences off whoever held the schedule before. */
  readonly token: string;
  /** The id its job is to have. */
  readonly jobId: string;
  /** When the slot was due. */
  readonly slot: Date;
  /** Why it was due then. */
  readonly source: PlanSource | undefined;
}

/** Why a schedule is not claimed, in the order in which it is asked. */
export type ClaimRefusal = "disabled" | "already_running" | "at_capacity" | "not_due" | "paused";

export interface SkippedSlot extends ScheduleKey {
  readonly slot: Date;
  readonly reason: ClaimRefusal;
}

export interface DueSlots {
  readonly claims: readonly Claim[];
  /** Slots that came due and have to wait, each reported once. */
  readonly skipped: readonly SkippedSlot[];
}

export interface StateStore extends AsyncDisposable {
  /** Takes ownership, and recovers what an owner that died left behind. */
  open(): Promise<void>;
  /** Waits for what is under way and gives ownership up. May be called twice, or before `open`. */
  close(): Promise<void>;
  /** Says which schedules may be claimed from now on, in place of all said before. Claims that run on stay valid. */
  define(schedules: readonly ScheduleDefinition[]): Promise<void>;
  /** The state of a schedule; that of one that never ran when it is unknown. */
  read(key: ScheduleKey): Promise<ScheduleState>;
  /** The states of an agent's schedules, by name. */
  list(agent: string): Promise<ReadonlyMap<string, ScheduleState>>;
  /** Changes the keys that `patch` names, and answers the whole. Durable when it resolves. */
  update(key: ScheduleKey, patch: ScheduleStatePatch): Promise<ScheduleState>;
  /**
   * Claims at most `limit` due schedules, oldest slot first, none above its agent's capacity. Slot, token and the
   * status `running` are durable when it resolves.
   */
  claimDue(limit: number): Promise<DueSlots>;
  /** Extends a claim by a whole lease; `false` when another has taken its place. */
  renew(claim: Claim): Promise<boolean>;
  /**
   * Ends a claim and records what came of it; `false`, and no change at all, when another has taken its place.
   * The slot is used up: without a `next_run_at` in the patch the schedule is not due again.
   */
  complete(claim: Claim, patch: ScheduleStatePatch): Promise<boolean>;
  /** The earliest time at which `claimDue` can find something; in the past when something waits already. */
  nextDueAt(): Promise<Date | undefined>;
  /** Calls back when somebody else has changed the state of schedules. Answers how to stop it. */
  onChange(listener: (changed: readonly ScheduleKey[]) => void): () => void;
  readonly jobs: JobLog;
}

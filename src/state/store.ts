/**
 * The StateStore contract: what any keeper of schedule state guarantees, whatever it writes to.
 * A store knows due times, capacity and claims; when a schedule is due next is planned by its user.
 */
import type { Clock } from "../clock.js";
import type { EndedJobRecord, JobLog } from "./job-log/job-log.js";
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
  /**
   * Whether it runs at its times. `false`: it is claimed by hand, and where others share the store, its times are theirs.
   * @default true
   */
  readonly isAutomatic?: boolean | undefined;
}

/** What tells a claim from all others. */
export interface ClaimToken extends ScheduleKey {
  /** Fences off whoever held the schedule before. */
  readonly token: string;
}

/** The exclusive right to run one slot, for as long as it is renewed. */
export interface Claim extends ClaimToken {
  /** The id its job is to have. */
  readonly jobId: string;
  /** When the slot was due. */
  readonly slot: Date;
  /** Why it was due then. */
  readonly source: PlanSource | undefined;
  /** When the slot was first seen due: what came after was waiting for capacity, not lateness. */
  readonly seenAt: Date;
  readonly claimedAt: Date;
  /** The schedule's state as the claim left it. */
  readonly state: ScheduleState;
}

/**
 * A change to a schedule's state, or what decides on one from the state as it is when the change is written. It decides
 * again when that state turns out to be another.
 */
export type ScheduleChange = ScheduleStatePatch | ((state: ScheduleState) => ScheduleStatePatch);

/** Decides on the change of one of many schedules, the one at `index`; again when its state turns out to be another. */
export type ScheduleDecision = (state: ScheduleState, index: number) => ScheduleStatePatch;

/** What came of a claim. */
export interface ClaimEnd {
  readonly claim: ClaimToken;
  readonly change: ScheduleChange;
  /**
   * The record of its job, where that is still to be made: `completeAll` of a store that has both in one place writes it
   * with the end, of a claim that is held, and calls `noteRecorded`. Others leave it to the job log's callers.
   */
  readonly record?: EndedJobRecord | undefined;
  noteRecorded?(): void;
}

/** Why a schedule is not claimed, in the order in which it is asked. */
export type ClaimRefusal = "disabled" | "already_running" | "at_capacity" | "not_due" | "paused";

export interface SkippedSlot extends ScheduleKey {
  readonly slot: Date;
  /** Why it was due then. */
  readonly source: PlanSource | undefined;
  readonly reason: ClaimRefusal;
}

/** What somebody else has changed in a schedule's state. */
export interface OutsideChange extends ScheduleKey {
  readonly keys: readonly (keyof ScheduleState)[];
}

export interface DueSlots {
  readonly claims: readonly Claim[];
  /** Slots that came due and have to wait, each reported once. */
  readonly skipped: readonly SkippedSlot[];
  /** Whether more may be due than a shared store claims at once, within the limit that it was given. */
  readonly hasMore?: boolean | undefined;
}

export interface StateStore extends AsyncDisposable {
  /** How long a claim lasts that is not renewed, in milliseconds. */
  readonly leaseMs: number;
  /**
   * By which it decides what is due, from `open` on, where that is no clock of this machine: whoever plans for it goes by
   * this one too. Absent: the one given to `open`, or to the store when it was made.
   */
  readonly clock?: Clock | undefined;
  /**
   * Whether others may claim what is not renewed here in time, so that its jobs have to end before. Absent: there is
   * one owner, and a store that hangs harms none of its jobs.
   */
  readonly isShared?: boolean | undefined;
  /**
   * Takes ownership, and recovers what an owner that died left behind. A store that was made without a clock goes by
   * the one given here. May be called again after `close`.
   */
  open(clock?: Clock): Promise<void>;
  /** Waits for what is under way and gives ownership up. May be called twice, or before `open`. */
  close(): Promise<void>;
  /**
   * Says which schedules may be claimed from now on, in place of all said before, and answers their states in the same
   * order. Claims that run on stay valid.
   */
  define(schedules: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]>;
  /** The state of a schedule; that of one that never ran when it is unknown. */
  read(key: ScheduleKey): Promise<ScheduleState>;
  /** The states of an agent's schedules, by name. */
  list(agent: string): Promise<ReadonlyMap<string, ScheduleState>>;
  /** Changes the keys that the change names, and answers the whole. Durable when it resolves. */
  update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState>;
  /**
   * Changes many schedules in one go, each as `decide` says of its state before any of them was changed. All or nothing:
   * when one decision throws, or is no change that can be, it rejects and none is made. Durable when it resolves.
   */
  updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void>;
  /**
   * Claims at most `limit` due schedules, oldest slot first, none above its agent's capacity. Slot, token and the
   * status `running` are durable when it resolves.
   */
  claimDue(limit: number): Promise<DueSlots>;
  /**
   * Makes ready for slots that come due within `aheadMs`: `claimDue` at their time needs no write then. It promises nothing
   * to them, keeps nobody from anything, and may do nothing at all. At most `limit`.
   */
  reserve(limit: number, aheadMs: number): Promise<void>;
  /** Claims one schedule now, due or not, paused or not, or answers what speaks against it. The source is `manual`. */
  claim(key: ScheduleKey): Promise<Claim | ClaimRefusal>;
  /** Extends a claim by a whole lease; `false` when another has taken its place. */
  renew(claim: ClaimToken): Promise<boolean>;
  /**
   * Ends a claim and records what came of it; `false`, and no change at all, when another has taken its place.
   * The slot is used up: without a `next_run_at` in the change the schedule is not due again.
   */
  complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean>;
  /**
   * Ends claims together, and answers of each what `complete` would. When it cannot be written, or one of the changes
   * cannot be decided, it rejects: then nothing has changed, and all claims are held as before.
   */
  completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]>;
  /** Gives a claim back unused: its schedule is due as if it had never been claimed. `false` as for `complete`. */
  release(claim: ClaimToken): Promise<boolean>;
  /**
   * The earliest time at which `claimDue` can find something; in the past when something waits already. With `lookedAt`,
   * without what a `claimDue` at that time has seen and left waiting.
   */
  nextDueAt(lookedAt?: Date): Promise<Date | undefined>;
  /**
   * How many milliseconds pass before `claimDue` can find anything, or anything else to do, as far as can be told without
   * waiting: 0 when it has to be asked. A store that cannot tell leaves it out.
   */
  idleMs?(): number;
  /** Calls back when somebody else has changed the state of schedules. Answers how to stop it. */
  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void;
  readonly jobs: JobLog;
}

/**
 * The StateStore contract: what any keeper of schedule state guarantees, whatever it writes to.
 * A store knows due times, capacity and claims; when a schedule is due next is planned by its user.
 */
import type { Clock } from "../clock.js";
import type { AgentPause, PauseDecision } from "./agent-pause.js";
import type { EndedJobRecord, JobLog, JobRecord } from "./job-log/job-log.js";
import type { Mailbox, ScheduleRequest } from "./mailbox.js";
import type { PlanSource, ScheduleState, ScheduleStatePatch } from "./schedule-state.js";

export interface ScheduleKey {
  readonly agent: string;
  readonly schedule: string;
}

/** One step of a workflow's execution. */
export interface StepKey {
  readonly agent: string;
  readonly execution: string;
  readonly step: string;
}

/** What a claim gives the right to run: a schedule's slot, a consumer's session, or a step. */
export type ClaimSubject = ScheduleKey | StepKey;

/** An agent whose schedules or steps may be claimed. */
export interface AgentDefinition {
  readonly agent: string;
  /**
   * How many jobs the agent may have at a time, over all its schedules and steps.
   * @default 1
   */
  readonly maxConcurrent?: number | undefined;
  /**
   * Whether its jobs are counted even where its schedules alone cannot exceed its capacity, because something else
   * starts jobs of it too, or its budget needs the count.
   * @default false
   */
  readonly isCounted?: boolean | undefined;
}

/** A schedule that may be claimed. */
export interface ScheduleDefinition extends ScheduleKey {
  /**
   * Whether it runs at its times. `false`: it is claimed on request only, and on a store with several nodes its times
   * belong to the nodes that run it at them.
   * @default true
   */
  readonly isAutomatic?: boolean | undefined;
}

export interface Definitions {
  /** Agents that are not listed have the default capacity. */
  readonly agents?: readonly AgentDefinition[] | undefined;
  readonly schedules: readonly ScheduleDefinition[];
}

/** A schedule as `define` found it. */
export interface DefinedSchedule {
  readonly state: ScheduleState;
  /** Whether the caller plans its next run. `false`: another node does, and the caller leaves `next_run_at` alone. */
  readonly isPlannedHere: boolean;
}

/** Identifies a claim. */
export type ClaimToken<Subject extends ClaimSubject = ScheduleKey> = Subject & {
  /** Unique to this claim, so that an earlier holder of the same subject cannot write. */
  readonly token: string;
};

/** The exclusive right to run one slot, for as long as it is renewed. */
export interface Claim extends ScheduleKey {
  readonly token: string;
  /** The id of the job that runs under the claim. */
  readonly jobId: string;
  /** When the slot was due, the same in every attempt. */
  readonly slot: Date;
  /** Why it is run now: `retry` where this is not its first attempt. */
  readonly source: PlanSource | undefined;
  /** How often the slot was claimed to run, with this time. */
  readonly attempt: number;
  /** When the slot was first seen due: what came after was waiting for capacity, not lateness. */
  readonly seenAt: Date;
  readonly claimedAt: Date;
  /** When the pause of its agent ended, where the slot came due during it: until then it could not be claimed. */
  readonly heldUntil?: Date | undefined;
  /** The schedule's state as the claim left it. */
  readonly state: ScheduleState;
}

/**
 * A change to a schedule's state, or a function that decides on one from the state as it is when the change is written.
 * The function is called again when the state has changed before the write.
 */
export type ScheduleChange = ScheduleStatePatch | ((state: ScheduleState) => ScheduleStatePatch);

/** Decides on the change of the schedule at `index`; called again when its state has changed before the write. */
export type ScheduleDecision = (state: ScheduleState, index: number) => ScheduleStatePatch;

/** The end of a claim, with the record of the job that ran under it. */
export interface JobFinish {
  readonly claim: ClaimToken & Pick<Claim, "jobId">;
  /** The state after the job. Without a `next_run_at` in it the schedule is not due again. */
  readonly change: ScheduleChange;
  /**
   * Whether the claim is given back unused: its slot stays due, and `change` is ignored.
   * @default false
   */
  readonly keepsSlot?: boolean | undefined;
  /** The job's final record; absent where no job ran. */
  readonly record?: EndedJobRecord | undefined;
  /**
   * Called when the claim has ended and its record is still being written, so that a job log that hangs holds no schedule
   * up. A store that writes both at once does not call it.
   */
  readonly onClaimEnded?: (() => void) | undefined;
}

export interface FinishResult {
  /**
   * `ended`: by this call or an earlier one. `superseded`: the claim was no longer held, and the state is unchanged.
   * `failed`: the change could not be decided, and the claim is held as before.
   */
  readonly claim: "ended" | "superseded" | "failed";
  /**
   * `written`: by this call or an earlier one; the record of a superseded job says so (`supersededRecord`).
   * `none`: the finish has no record. `failed`: call again, unless `error` says INVALID_STATE: that record can never be
   * written.
   */
  readonly record: "written" | "failed" | "none";
  /** Why one of the two failed. */
  readonly error?: unknown;
}

/** Why a schedule is not claimed, in the order in which the reasons are checked. */
export type ClaimRefusal = "disabled" | "already_running" | "at_capacity" | "not_due" | "paused";

export interface SkippedSlot extends ScheduleKey {
  readonly slot: Date;
  /** Why it was due then. */
  readonly source: PlanSource | undefined;
  readonly reason: ClaimRefusal;
}

/** A change of a schedule's state that came from outside this store object. */
export interface OutsideChange extends ScheduleKey {
  readonly keys: readonly (keyof ScheduleState)[];
}

export interface DueSlots {
  readonly claims: readonly Claim[];
  /** Slots that came due and have to wait, each reported once. */
  readonly skipped: readonly SkippedSlot[];
  /**
   * When the next slot comes due; `new Date(0)` when the store can give more at once, `undefined` when nothing is
   * planned. Slots that wait for capacity, or for the caller's limit, do not count: the end of a job makes room.
   */
  readonly nextDueAt: Date | undefined;
}

export interface StateStore extends AsyncDisposable {
  /** How long a claim lasts that is not renewed, in milliseconds. */
  readonly leaseMs: number;
  /**
   * How long a job may go on after its claim was last renewed, in milliseconds, before it has to stop because another
   * node could claim its slot. Absent: no other node claims from these states.
   */
  readonly holdMs?: number | undefined;
  /** The name of this node, where several share the states. */
  readonly nodeName?: string | undefined;
  /**
   * The clock that decides what is due, from `open` on, where that is not a clock of this machine; the caller plans by
   * it too. Absent: the clock given to `open` or to the store's constructor.
   */
  readonly clock?: Clock | undefined;
  /**
   * Takes ownership, and recovers what an owner that died left behind. A store that was made without a clock uses the
   * one given here. May be called again after `close`.
   */
  open(clock?: Clock): Promise<void>;
  /** Waits for what is under way and gives ownership up. May be called twice, or before `open`. */
  close(): Promise<void>;
  /**
   * Replaces all agents and schedules that may be claimed, and returns the schedules in the same order. Claims that are
   * held stay valid. A schedule that no node defines any longer is not due.
   */
  define(definitions: Definitions): Promise<readonly DefinedSchedule[]>;
  /** The state of a schedule; of an unknown one, the state of a schedule that never ran. */
  read(key: ScheduleKey): Promise<ScheduleState>;
  /** The states of an agent's schedules, by name. */
  list(agent: string): Promise<ReadonlyMap<string, ScheduleState>>;
  /** Changes the keys that the change names, and returns the whole state. Durable when it resolves. */
  update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState>;
  /**
   * Changes many schedules at once, each as `decide` says of its state before any of them was changed. All or nothing:
   * when one decision throws or is not a valid patch, it rejects and changes none. Durable when it resolves.
   */
  updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void>;
  /** The agents that are paused now, with the reason: none of their schedules is due, also of those that come later. */
  pauses(): Promise<ReadonlyMap<string, AgentPause>>;
  /**
   * Pauses an agent, or ends its pause, as `decide` says of the pause that is there. No schedule's state changes, and a
   * claim that is held stays valid. Durable when it resolves with the pause that holds from now on.
   */
  changePause(agent: string, decide: PauseDecision): Promise<AgentPause | undefined>;
  /**
   * Claims at most `limit` due schedules, oldest slot first, none above its agent's capacity. Slot, token and the
   * status `running` are durable when it resolves.
   */
  claimDue(limit: number): Promise<DueSlots>;
  /** Claims one schedule now, due or not, paused or not, or returns why it cannot. The source is `manual`. */
  claim(key: ScheduleKey): Promise<Claim | ClaimRefusal>;
  /**
   * As `claim`, for a request: at most once. A store with several nodes answers the request by the same write. `answered`:
   * it has an answer, or expired, or an order with its key has started a job.
   */
  claimFor(request: ScheduleRequest): Promise<Claim | ClaimRefusal | "answered">;
  /** Extends a claim by a whole lease; `false` when it is no longer held. */
  renew(claim: ClaimToken): Promise<boolean>;
  /**
   * Opens the records of jobs. Idempotent by job id: what is there stays. Rejects with the first error when some could
   * not be opened; the rest are.
   */
  startJobs(jobs: readonly JobRecord[]): Promise<void>;
  /**
   * Ends claims and closes the records of their jobs, also of jobs whose record was never opened. Idempotent by token
   * and job id: a repeated call returns what the first did, and does what the first could not. One of many that fails
   * is told in its result. Rejects only when nothing could be written.
   */
  finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]>;
  /** Calls back when something outside this store object has changed the state of schedules. Returns how to stop it. */
  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void;
  readonly jobs: JobLog;
  /** Requests to the schedulers on this store. */
  readonly mailbox: Mailbox;
}

/** Ends a claim under which no job ran: its slot is used up. `false` when the claim was no longer held. */
export async function completeClaim(
  store: Pick<StateStore, "finishJobs">,
  claim: JobFinish["claim"],
  change: ScheduleChange,
): Promise<boolean> {
  return isEnded(await store.finishJobs([{ claim, change }]));
}

/** Gives a claim back unused: its schedule is due as if it had never been claimed. `false` as for `completeClaim`. */
export async function releaseClaim(
  store: Pick<StateStore, "finishJobs">,
  claim: JobFinish["claim"],
): Promise<boolean> {
  return isEnded(await store.finishJobs([{ claim, change: {}, keepsSlot: true }]));
}

function isEnded([result]: readonly FinishResult[]): boolean {
  if (result?.claim === "failed") throw result.error;
  return result?.claim === "ended";
}

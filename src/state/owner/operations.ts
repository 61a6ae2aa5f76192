/** What a store with one owner commits: claims that were made, ended, given back or found after a crash. */
import { isDeepStrictEqual } from "node:util";
import { mergedFields } from "../../fields.js";
import { isoText } from "../../iso-time.js";
import {
  claimRefusal,
  completion,
  givenBack,
  interruption,
  lastJobOf,
  recordedEnd,
  seenState,
} from "../claim-rules.js";
import type { EndedJobRecord } from "../job-log/job-log.js";
import { decidedBy, type StateDraft, type StateOperation } from "../operations.js";
import type { ScheduleState, ScheduleStatePatch } from "../schedule-state.js";
import type { Claim, JobFinish, ScheduleKey } from "../store.js";
import { checkedPatch } from "../validate-state.js";
import { wholeState } from "../whole-state.js";
import type { TakenClaim } from "./leases.js";

type IsHeld = (token: string) => boolean;

/** A draft without the claims that are not held. Any change of a schedule removes such a claim from it. */
export class SeenDraft implements StateDraft {
  readonly #draft: StateDraft;
  readonly #isHeld: IsHeld;

  constructor(draft: StateDraft, isHeld: IsHeld) {
    this.#draft = draft;
    this.#isHeld = isHeld;
  }

  read(key: ScheduleKey): Partial<ScheduleState> {
    return seenState(this.#draft.read(key), this.#isHeld);
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const stored = this.#draft.read(key);
    const isWhole = seenState(stored, this.#isHeld) === stored;
    return this.#draft.patch(key, isWhole ? patch : mergedFields(givenBack(stored), patch));
  }

  keys(): Iterable<ScheduleKey> {
    return this.#draft.keys();
  }
}

/** Records claims, unless the state forbids them by now. */
export class ClaimOperation implements StateOperation {
  readonly #taken: readonly TakenClaim[];
  readonly #now: () => Date;
  #claims: TakenClaim[] = [];
  #dropped: TakenClaim[] = [];

  constructor(taken: readonly TakenClaim[], now: () => Date) {
    this.#taken = taken;
    this.#now = now;
  }

  apply(draft: StateDraft): void {
    const nowMs = this.#now().getTime();
    this.#claims = [];
    this.#dropped = [];
    for (const claim of this.#taken)
      (isRecorded(draft, claim, nowMs) ? this.#claims : this.#dropped).push(claim);
  }

  /** The claims that the state forbids. */
  get dropped(): readonly TakenClaim[] {
    return this.#dropped;
  }

  /** The claims that were recorded. */
  get claims(): readonly Claim[] {
    return this.#claims;
  }
}

function isRecorded(draft: StateDraft, taken: TakenClaim, nowMs: number): boolean {
  const { token, jobId, slot, source, claimedAt } = taken;
  const state = draft.read(taken);
  const at = source === "manual" ? undefined : nowMs;
  if (claimRefusal({ state, isRunning: false, isAtCapacity: false, nowMs: at }) !== undefined) return false;
  const claim = {
    token,
    job_id: jobId,
    slot: isoText(slot),
    source: source ?? null,
    claimed_at: isoText(claimedAt),
  };
  taken.state = wholeState(draft.patch(taken, { status: "running", claim }));
  return true;
}

/** The end of a claim that is held. */
export interface HeldEnd extends JobFinish {
  /** The state that an earlier write of this end would have left, which failed: it may be in the file all the same. */
  readonly triedState: Partial<ScheduleState> | undefined;
}

/** Ends claims. One whose change cannot be decided stays as it is, and the rest end. */
export class EndOperation implements StateOperation {
  readonly #ends: readonly HeldEnd[];
  readonly #isDefined: (key: ScheduleKey) => boolean;
  #failures = new Map<number, unknown>();
  #states: (Partial<ScheduleState> | undefined)[] = [];

  constructor(ends: readonly HeldEnd[], isDefined: (key: ScheduleKey) => boolean) {
    this.#ends = ends;
    this.#isDefined = isDefined;
  }

  apply(draft: StateDraft): void {
    this.#failures = new Map();
    this.#states = this.#ends.map((end, index) => {
      const { claim } = end;
      const state = draft.read(claim);
      if (isWritten(end, state)) return state;
      try {
        return draft.patch(claim, this.#patchOf(end, state));
      } catch (error) {
        this.#failures.set(index, error);
        return undefined;
      }
    });
  }

  /** Why changes could not be decided, by their index. */
  get failures(): ReadonlyMap<number, unknown> {
    return this.#failures;
  }

  /** The states after the ends; `undefined` for one that failed. */
  get states(): readonly (Partial<ScheduleState> | undefined)[] {
    return this.#states;
  }

  #patchOf(end: HeldEnd, state: Partial<ScheduleState>): ScheduleStatePatch {
    const { claim, change, record, keepsSlot = false } = end;
    const patch = keepsSlot
      ? givenBack(state)
      : completion(state, checkedPatch(decidedBy(change, wholeState(state))));
    const withJob = record === undefined ? patch : mergedFields(patch, { last_job: lastJobOf(record) });
    return this.#isDefined(claim) ? withJob : mergedFields(withJob, NO_PLAN);
  }
}

const NO_PLAN = { next_run_at: null, next_run_source: null } as const;

/** Whether an earlier write of this end, whose reply was lost, is what the state says. */
function isWritten({ claim, record, triedState }: HeldEnd, state: Partial<ScheduleState>): boolean {
  if (record !== undefined) return state.last_job?.id === claim.jobId;
  return triedState !== undefined && isDeepStrictEqual(state, triedState);
}

/** Removes the plans of schedules that are no longer defined. A running schedule loses its plan when its job ends. */
export class UnplanOperation implements StateOperation {
  readonly #keys: readonly ScheduleKey[];
  readonly #isDefined: (key: ScheduleKey) => boolean;
  readonly #isHeld: IsHeld;

  constructor(keys: readonly ScheduleKey[], isDefined: (key: ScheduleKey) => boolean, isHeld: IsHeld) {
    this.#keys = keys;
    this.#isDefined = isDefined;
    this.#isHeld = isHeld;
  }

  apply(draft: StateDraft): void {
    for (const key of this.#keys) {
      const { claim } = draft.read(key);
      const isClaimed = claim != null && this.#isHeld(claim.token);
      if (!isClaimed && !this.#isDefined(key)) draft.patch(key, NO_PLAN);
    }
  }
}

/** Gives back claims that are not held. */
export class FreeOperation implements StateOperation {
  readonly #isHeld: IsHeld;
  readonly #keys: readonly ScheduleKey[] | undefined;

  /** Of all schedules, or of `keys`. */
  constructor(isHeld: IsHeld, keys?: readonly ScheduleKey[]) {
    this.#isHeld = isHeld;
    this.#keys = keys;
  }

  apply(draft: StateDraft): void {
    for (const key of this.#keys ?? draft.keys()) {
      const state = draft.read(key);
      if (seenState(state, this.#isHeld) !== state) draft.patch(key, givenBack(state));
    }
  }
}

/** Frees what an owner that died left running: by the job's final record where there is one, else as interrupted. */
export class RecoverOperation implements StateOperation {
  readonly #now: () => Date;
  readonly #records: ReadonlyMap<string, EndedJobRecord>;

  constructor(now: () => Date, records: ReadonlyMap<string, EndedJobRecord>) {
    this.#now = now;
    this.#records = records;
  }

  apply(draft: StateDraft): void {
    for (const key of draft.keys()) {
      const state = draft.read(key);
      if (state.status !== "running" && state.claim == null) continue;
      const record = state.claim == null ? undefined : this.#records.get(state.claim.job_id);
      const now = this.#now();
      draft.patch(key, record === undefined ? interruption(state, now) : recordedEnd(state, record, now));
    }
  }
}

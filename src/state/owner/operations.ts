/**
 * What a store commits: changes to the states of schedules, and the claims that were taken.
 * Decided on the draft they are written to, so that they hold whatever others have written meanwhile.
 */
import { isoText } from "../../iso-time.js";
import { checkedPatch } from "../validate-state.js";
import type { TakenClaim } from "./leases.js";
import { claimRefusal, givenBack, interruption, isAhead, seenState } from "../claim-rules.js";
import { mergedFields } from "../file/yaml/state-text.js";
import type { ScheduleState, ScheduleStatePatch, StoredClaim } from "../schedule-state.js";
import type { Claim, ScheduleChange, ScheduleDecision, ScheduleKey } from "../store.js";
import { wholeState } from "../whole-state.js";

/** Changes on the way: patches are seen by later reads, and nothing is kept before all of them are. */
export interface StateDraft {
  read(key: ScheduleKey): Partial<ScheduleState>;
  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState>;
  /** All schedules with a state. */
  keys(): Iterable<ScheduleKey>;
}

export interface StateOperation {
  /** May be asked again, on another draft. */
  apply(draft: StateDraft): void;
}

/** What is written of a patch, given the state that it changes. */
export type PatchRule = (state: Partial<ScheduleState>, patch: ScheduleStatePatch) => ScheduleStatePatch;

const asGiven: PatchRule = (_, patch) => patch;

/** A change as it is now, whatever its caller does to it later. Throws when it is a patch that cannot be. */
export function checkedChange(change: ScheduleChange): ScheduleChange {
  return typeof change === "function" ? change : checkedPatch(change);
}

/** What the changes decide, each for one schedule. */
export function decisionBy(changes: readonly ScheduleChange[]): ScheduleDecision {
  return (state, index) => {
    const change = changes[index] ?? {};
    return typeof change === "function" ? change(state) : change;
  };
}

/** Changes to different schedules, of which all are made or none. What is wrong with them must not fail others. */
export class ChangeOperation implements StateOperation {
  readonly #keys: readonly ScheduleKey[];
  readonly #decide: ScheduleDecision;
  readonly #toWrite: PatchRule;
  #states: readonly Partial<ScheduleState>[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(keys: readonly ScheduleKey[], decide: ScheduleDecision, toWrite: PatchRule = asGiven) {
    this.#keys = keys;
    this.#decide = decide;
    this.#toWrite = toWrite;
  }

  apply(draft: StateDraft): void {
    this.#failure = undefined;
    try {
      // A draft takes nothing back: all are decided before the first is made.
      const patches = this.#keys.map((key, index) => this.#patchOf(draft.read(key), index));
      this.#states = this.#keys.map((key, index) => draft.patch(key, patches[index] ?? {}));
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** What the changes have made of the states. Throws what went wrong with one of them. */
  requireDone(): readonly Partial<ScheduleState>[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#states;
  }

  #patchOf(before: Partial<ScheduleState>, index: number): ScheduleStatePatch {
    return this.#toWrite(before, checkedPatch(this.#decide(wholeState(before), index)));
  }
}

/** A draft in which a claim that nobody holds is none. Whatever is changed of its schedule, it goes. */
export class SeenDraft implements StateDraft {
  readonly #draft: StateDraft;
  readonly #isHeld: (token: string) => boolean;

  constructor(draft: StateDraft, isHeld: (token: string) => boolean) {
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

/** Records claims, those that nothing speaks against by now. */
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
    const now = this.#now();
    this.#claims = [];
    this.#dropped = [];
    for (const claim of this.#taken) {
      const at = claim.source === "manual" ? undefined : now;
      (isRecorded(draft, claim, at, claim.claimedAt) ? this.#claims : this.#dropped).push(claim);
    }
  }

  /** Those that something speaks against by now. */
  get dropped(): readonly TakenClaim[] {
    return this.#dropped;
  }

  /** Those that were recorded. */
  get claims(): readonly Claim[] {
    return this.#claims;
  }
}

/** Records claims of slots that are due soon, those that nothing would speak against then. */
export class ReserveOperation implements StateOperation {
  readonly #reserved: readonly TakenClaim[];
  readonly #isWanted: (claim: TakenClaim) => boolean;

  /** `isWanted`: whether a reservation still holds when it is written. */
  constructor(reserved: readonly TakenClaim[], isWanted: (claim: TakenClaim) => boolean) {
    this.#reserved = reserved;
    this.#isWanted = isWanted;
  }

  apply(draft: StateDraft): void {
    for (const claim of this.#reserved.filter(this.#isWanted))
      isRecorded(draft, claim, claim.slot, undefined);
  }
}

/** Gives back claims that nobody holds. */
export class FreeOperation implements StateOperation {
  readonly #isHeld: (token: string) => boolean;
  readonly #keys: readonly ScheduleKey[] | undefined;

  /** Of all schedules, or of these. */
  constructor(isHeld: (token: string) => boolean, keys?: readonly ScheduleKey[]) {
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

/** Frees what an owner that died left running. */
export class RecoverOperation implements StateOperation {
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  apply(draft: StateDraft): void {
    for (const key of draft.keys()) {
      const state = draft.read(key);
      const now = this.#now();
      if (state.status === "running" || state.claim != null)
        draft.patch(key, isAhead(state, now) ? givenBack(state) : interruption(state, now));
    }
  }
}

/** Records a claim, unless something speaks against it `at` that time; at any, where that is absent. */
function isRecorded(
  draft: StateDraft,
  taken: TakenClaim,
  at: Date | undefined,
  claimedAt: Date | undefined,
): boolean {
  const { token, jobId, slot, source } = taken;
  const state = draft.read(taken);
  const question = { state, isRunning: false, isAtCapacity: false, nowMs: at?.getTime() };
  if (claimRefusal(question) !== undefined) return false;
  const stored: StoredClaim = { token, job_id: jobId, slot: isoText(slot), source: source ?? null };
  const claim = claimedAt === undefined ? stored : { ...stored, claimed_at: isoText(claimedAt) };
  taken.state = wholeState(draft.patch(taken, { status: "running", claim }));
  return true;
}

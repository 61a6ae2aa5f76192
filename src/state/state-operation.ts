/**
 * What a store commits: changes to the states of schedules, and the claims that were taken.
 * Decided on the draft they are written to, so that they hold whatever others have written meanwhile.
 */
import { isoText } from "../iso-time.js";
import { checkedPatch, NO_FIELDS } from "./check-schedule.js";
import type { TakenClaim } from "./leases.js";
import { claimRefusal } from "./claim-rules.js";
import { mergedFields } from "./file/state-text.js";
import {
  type ScheduleState,
  type ScheduleStatePatch,
  type StoredClaim,
  UNKNOWN_SCHEDULE,
} from "./schedule-state.js";
import type { Claim, ScheduleChange, ScheduleDecision, ScheduleKey } from "./state-store.js";

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

/** A change to one schedule. What is wrong with it must not fail those it is written with. */
export class ChangeOperation implements StateOperation {
  readonly #key: ScheduleKey;
  readonly #change: ScheduleChange;
  readonly #toWrite: PatchRule;
  #state: Partial<ScheduleState> = UNKNOWN_SCHEDULE;
  #failure: { readonly error: unknown } | undefined;

  /** Throws when the change is a patch that cannot be. */
  constructor(key: ScheduleKey, change: ScheduleChange, toWrite: PatchRule = asGiven) {
    this.#key = key;
    this.#change = typeof change === "function" ? change : checkedPatch(change);
    this.#toWrite = toWrite;
  }

  apply(draft: StateDraft): void {
    this.#failure = undefined;
    try {
      const before = draft.read(this.#key);
      const patch =
        typeof this.#change === "function" ? checkedPatch(this.#change(wholeState(before))) : this.#change;
      this.#state = draft.patch(this.#key, this.#toWrite(before, patch));
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** What the change has made of the state. Throws what went wrong with it. */
  requireDone(): Partial<ScheduleState> {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#state;
  }
}

/** Changes to many schedules, of which all are made or none. What is wrong with them must not fail others either. */
export class ChangesOperation implements StateOperation {
  readonly #keys: readonly ScheduleKey[];
  readonly #decide: ScheduleDecision;
  #failure: { readonly error: unknown } | undefined;

  constructor(keys: readonly ScheduleKey[], decide: ScheduleDecision) {
    this.#keys = keys;
    this.#decide = decide;
  }

  apply(draft: StateDraft): void {
    this.#failure = undefined;
    try {
      // A draft takes nothing back: all are decided before the first is made.
      const patches = this.#keys.map((key, index) =>
        checkedPatch(this.#decide(wholeState(draft.read(key)), index)),
      );
      for (const [index, key] of this.#keys.entries()) draft.patch(key, patches[index] ?? {});
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Throws what went wrong with one of them. */
  requireDone(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Records claims, those that nothing speaks against by now. */
export class ClaimOperation implements StateOperation {
  readonly #taken: readonly TakenClaim[];
  readonly #now: () => Date;
  #claims: Claim[] = [];

  constructor(taken: readonly TakenClaim[], now: () => Date) {
    this.#taken = taken;
    this.#now = now;
  }

  apply(draft: StateDraft): void {
    const nowMs = this.#now().getTime();
    this.#claims = this.#taken.flatMap((taken) => recordClaim(draft, taken, nowMs) ?? []);
  }

  /** Those that were recorded. */
  get claims(): readonly Claim[] {
    return this.#claims;
  }
}

function recordClaim(draft: StateDraft, taken: TakenClaim, nowMs: number): Claim | undefined {
  const state = draft.read(taken);
  const { agent, schedule, token, jobId, slot, source, seenAt, claimedAt } = taken;
  const question = {
    state,
    isRunning: false,
    isAtCapacity: false,
    nowMs: source === "manual" ? undefined : nowMs,
  };
  if (claimRefusal(question) !== undefined) return undefined;
  const claim: StoredClaim = {
    token,
    job_id: jobId,
    slot: isoText(slot),
    source: source ?? null,
    claimed_at: isoText(claimedAt),
  };
  const recorded = wholeState(draft.patch(taken, { status: "running", claim }));
  return { agent, schedule, token, jobId, slot, source, seenAt, claimedAt, state: recorded };
}

/** What is known, completed by what holds of a schedule that never ran. A file may have a status that says nothing. */
export function wholeState(known: Partial<ScheduleState>): ScheduleState {
  if (known === NO_FIELDS) return UNKNOWN_SCHEDULE;
  const { status, last_run_at, next_run_at, last_error } = UNKNOWN_SCHEDULE;
  const whole = mergedFields({ status, last_run_at, next_run_at, last_error }, known);
  return "status" in known && known.status == null ? { ...whole, status } : whole;
}

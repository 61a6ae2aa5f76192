/**
 * Changes to states as stores write them: decided on the draft that is being written, so that a decision sees what
 * was written before it.
 */
import { checkedPatch, wholeState } from "./validate-state.js";
import type { ScheduleState, ScheduleStatePatch } from "./schedule-state.js";
import type { ScheduleChange, ScheduleDecision, ScheduleKey } from "./store.js";

/** States that are about to be written: later reads see earlier patches, and all patches are kept or none. */
export interface StateDraft {
  read(key: ScheduleKey): Partial<ScheduleState>;
  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState>;
  /** All schedules with a state. */
  keys(): Iterable<ScheduleKey>;
}

export interface StateOperation {
  /** Called again, on a new draft, when the write has to be repeated. */
  apply(draft: StateDraft): void;
}

/** What is written of a patch, given the state that it changes. */
export type PatchRule = (state: Partial<ScheduleState>, patch: ScheduleStatePatch) => ScheduleStatePatch;

const asGiven: PatchRule = (_, patch) => patch;

/** A copy of a change, which its caller may alter later. Throws for an invalid patch. */
export function checkedChange(change: ScheduleChange): ScheduleChange {
  return typeof change === "function" ? change : checkedPatch(change);
}

/** The decision of many changes, each for the schedule at its index. */
export function decisionBy(changes: readonly ScheduleChange[]): ScheduleDecision {
  return (state, index) => decidedBy(changes[index] ?? {}, state);
}

export function decidedBy(change: ScheduleChange, state: ScheduleState): ScheduleStatePatch {
  return typeof change === "function" ? change(state) : change;
}

/** Changes to several schedules: all are made or none. A decision that throws fails only its own operation. */
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
      // A patch cannot be taken back, so all are decided before the first is made.
      const patches = this.#keys.map((key, index) => this.#patchOf(draft.read(key), index));
      this.#states = this.#keys.map((key, index) => draft.patch(key, patches[index] ?? {}));
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** The states after the changes. Throws what a decision threw. */
  requireDone(): readonly Partial<ScheduleState>[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#states;
  }

  #patchOf(before: Partial<ScheduleState>, index: number): ScheduleStatePatch {
    return this.#toWrite(before, checkedPatch(this.#decide(wholeState(before), index)));
  }
}

/** What a store with one owner commits beside claims and their ends: plans removed, claims given back or found after a crash. */
import { mergedFields } from "../../fields.js";
import { givenBack, interruption, NO_SLOT, seenState } from "../claim-rules.js";
import { recordedEnd } from "../recorded-end.js";
import type { EndedJobRecord } from "../job-log/job-log.js";
import type { StateDraft, StateOperation } from "../operations.js";
import type { ScheduleState, ScheduleStatePatch } from "../schedule-state.js";
import type { ScheduleKey } from "../store.js";

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
      if (!isClaimed && !this.#isDefined(key)) draft.patch(key, NO_SLOT);
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

/** What ends claims: their outcome, their being given back, or the end of their lease. Each looks at its token first. */
import { requirePatch } from "../../validate-state.js";
import { givenBack, interruption } from "../../claim-rules.js";
import type { PatchRule, StateDraft } from "../../operations.js";
import type { ScheduleStatePatch } from "../../schedule-state.js";
import type { ClaimEnd, ClaimToken } from "../../store.js";
import { wholeState } from "../../whole-state.js";
import type { NewRow } from "../jobs/job-rows.js";
import type { RowDraft } from "../writes/row-draft.js";
import type { StateRow } from "../rows/state-row.js";
import type { RowOperation } from "../writes/decide-write.js";

/** Ends those of the claims that are held; all of them or, where one cannot be decided, none. */
export class EndClaims implements RowOperation {
  readonly #ends: readonly ClaimEnd[];
  readonly #rowOf: (end: ClaimEnd) => NewRow | undefined;
  readonly #toWrite: PatchRule;
  readonly #wasEnded: (token: string) => boolean;
  #areHeld: readonly boolean[] = [];
  /** Those that the draft has ended and that are to be recorded, the ids of their records, and these until they are taken. */
  #recorded: ClaimEnd[] = [];
  #ids: string[] = [];
  #records: NewRow[] = [];
  #failure: { readonly error: unknown } | undefined;

  /**
   * `rowOf`: the record of an end, where that is to be made too. `wasEnded`: whether a claim was ended by us already,
   * although nobody was told.
   */
  constructor(
    ends: readonly ClaimEnd[],
    rules: {
      readonly rowOf: (end: ClaimEnd) => NewRow | undefined;
      readonly toWrite: PatchRule;
      readonly wasEnded: (token: string) => boolean;
    },
  ) {
    this.#ends = ends;
    this.#rowOf = rules.rowOf;
    this.#toWrite = rules.toWrite;
    this.#wasEnded = rules.wasEnded;
  }

  apply(draft: StateDraft): void {
    this.#failure = undefined;
    this.#forgetRecords();
    const ended = new Set<string>();
    try {
      // A draft takes nothing back: all are decided before the first is made.
      const patches = this.#ends.map((end) => {
        const patch = this.#patchOf(draft, end, ended);
        if (patch !== undefined) this.#record(end);
        return patch;
      });
      this.#areHeld = this.#ends.map(({ claim }, index) => {
        const patch = patches[index];
        if (patch === undefined) return this.#wasEnded(claim.token);
        draft.patch(claim, patch);
        return true;
      });
    } catch (error) {
      this.#failure = { error };
      this.#forgetRecords();
    }
  }

  #forgetRecords(): void {
    this.#recorded = [];
    this.#ids = [];
    this.#records = [];
  }

  takeRecords(): readonly NewRow[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  /** How many records were to be made. */
  get recordCount(): number {
    return this.#recorded.length;
  }

  noteRecorded(ids: ReadonlySet<unknown> | undefined): void {
    for (const [index, end] of this.#recorded.entries())
      if (ids?.has(this.#ids[index]) !== false) end.noteRecorded?.();
  }

  #record(end: ClaimEnd): void {
    const row = this.#rowOf(end);
    if (row === undefined) return;
    this.#recorded.push(end);
    this.#ids.push(row.id);
    this.#records.push(row);
  }

  /** Of each claim whether it was held. Throws what went wrong with one of them. */
  requireDone(): readonly boolean[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#areHeld;
  }

  #patchOf(
    draft: StateDraft,
    { claim, change }: ClaimEnd,
    ended: Set<string>,
  ): ScheduleStatePatch | undefined {
    const state = draft.read(claim);
    if (state.claim?.token !== claim.token || ended.has(claim.token)) return undefined;
    ended.add(claim.token);
    const decided = typeof change === "function" ? change(wholeState(state)) : change;
    requirePatch(decided);
    return this.#toWrite(state, decided);
  }
}

export interface LostClaim extends ClaimToken {
  readonly jobId: string;
}

/** Ends claims that nobody will end: those of others as interrupted, our own as given back. */
export class EndLost implements RowOperation {
  readonly #rows: readonly StateRow[];
  readonly #isOwn: (row: StateRow) => boolean;
  readonly #now: () => Date;
  #ended: LostClaim[] = [];

  constructor(rows: readonly StateRow[], isOwn: (row: StateRow) => boolean, now: () => Date) {
    this.#rows = rows;
    this.#isOwn = isOwn;
    this.#now = now;
  }

  apply(draft: StateDraft & Pick<RowDraft, "versionOf">): void {
    this.#ended = [];
    for (const row of this.#rows) {
      const { agent, schedule, version } = row;
      const state = draft.read(row);
      // Another version: it was renewed meanwhile, or somebody else has ended it.
      if (state.claim == null || draft.versionOf(row) !== version) continue;
      const { token, job_id: jobId } = state.claim;
      draft.patch(row, this.#isOwn(row) ? givenBack(state) : interruption(state, this.#now()));
      this.#ended.push({ agent, schedule, token, jobId });
    }
  }

  get ended(): readonly LostClaim[] {
    return this.#ended;
  }
}

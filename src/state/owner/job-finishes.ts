/**
 * Ends claims and closes the records of their jobs, states and records side by side: a job log that hangs keeps no
 * schedule from its next run. A call may be repeated; what an earlier call has written is found and left as it is.
 */
import { completion, givenBack, isSameEnd, lastJobOf, NO_SLOT } from "../claim-rules.js";
import { StateError } from "../errors.js";
import type { EndedJobRecord } from "../job-log/job-log.js";
import { supersededRecord } from "../job-log/superseded-record.js";
import type { StateDraft, StateOperation } from "../operations.js";
import type { ScheduleState } from "../schedule-state.js";
import type { FinishResult, JobFinish, ScheduleChange, ScheduleKey } from "../store.js";
import { checkedPatch, wholeState } from "../validate-state.js";
import type { ClaimQueue, HeldClaim } from "./claim-queue.js";
import type { OwnedJobLog, RecordFailure, RecordFailures } from "./owned-job-log.js";

export interface FinishingStore {
  readonly queue: ClaimQueue;
  readonly log: () => OwnedJobLog;
  readonly known: (key: ScheduleKey) => Partial<ScheduleState>;
  readonly commit: (operation: StateOperation) => Promise<void>;
}

/** One finish, and what became of it so far. */
interface Finishing {
  /** A copy: the caller may alter the finish later. */
  readonly end: JobFinish;
  claim: FinishResult["claim"];
  claimError: unknown;
  record: FinishResult["record"];
  recordError: unknown;
  /** Whether its record is durable, or can never be written. */
  isRecordSettled: boolean;
}

export class JobFinishes {
  readonly #store: FinishingStore;
  /** Jobs whose claim has ended and whose record is still to be written. */
  readonly #unrecorded = new Set<string>();

  constructor(store: FinishingStore) {
    this.#store = store;
  }

  /** The jobs whose claim has ended and whose record is still to be written. */
  get unrecorded(): Iterable<string> {
    return this.#unrecorded;
  }

  /** Rejects when nothing could be written. */
  async finish(given: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    const finishes = given.map(newFinishing);
    for (let earlier = this.#endings(finishes); earlier.length > 0; earlier = this.#endings(finishes))
      await Promise.all(earlier);
    const held = new Map<HeldClaim, Finishing>();
    const rest: Finishing[] = [];
    for (const finishing of finishes) {
      const claim = this.#store.queue.find(finishing.end.claim);
      if (claim === undefined || held.has(claim)) rest.push(finishing);
      else held.set(claim, finishing);
    }
    let failure: RecordFailure | undefined;
    if (held.size > 0) {
      const ending = this.#endClaims(held);
      // A lease lasts until the end of its claim is written.
      for (const claim of held.keys()) claim.ending = ending;
      [failure] = await Promise.all([ending, this.#closeRecords([...held.values()])]);
    }
    if (rest.length > 0) await this.#finishRest(rest);
    else if (failure !== undefined && finishes.every(({ record }) => record !== "written"))
      throw failure.error;
    return finishes.map(resultOf);
  }

  /** The writes of earlier calls that end one of the same claims. */
  #endings(finishes: readonly Finishing[]): readonly Promise<unknown>[] {
    return finishes.flatMap(({ end }) => this.#store.queue.find(end.claim)?.ending ?? []);
  }

  /** Each claim ends in the queue as soon as its state is durable. Does not reject; returns why no state was written. */
  async #endClaims(held: ReadonlyMap<HeldClaim, Finishing>): Promise<RecordFailure | undefined> {
    const { queue, commit } = this.#store;
    let failure: RecordFailure | undefined;
    try {
      await commit({
        apply: (draft) => {
          for (const [claim, finishing] of held) endIn(draft, claim, finishing);
        },
      });
    } catch (error) {
      failure = { error };
    }
    for (const [claim, finishing] of held) {
      const { record, onClaimEnded } = finishing.end;
      claim.ending = undefined;
      if (failure !== undefined) {
        claim.mayHaveEnded = true;
        Object.assign(finishing, { claim: "failed", claimError: failure.error });
      } else if (finishing.claim === "ended") {
        if (record !== undefined && !finishing.isRecordSettled) this.#unrecorded.add(claim.claim.jobId);
        queue.end(claim.claim);
        onClaimEnded?.();
      }
    }
    return failure;
  }

  /** Finishes whose claims are not held: an earlier call has ended them, or later claims supersede them. */
  async #finishRest(finishes: readonly Finishing[]): Promise<void> {
    const ids = finishes.filter(({ end }) => end.record !== undefined).map(({ end }) => end.claim.jobId);
    let closed: ReadonlyMap<string, EndedJobRecord>;
    try {
      closed = ids.length === 0 ? new Map() : await this.#store.log().closedRecords(ids);
    } catch (error) {
      for (const finishing of finishes) {
        finishing.claimError = error;
        if (finishing.end.record !== undefined) finishing.record = "failed";
      }
      return;
    }
    for (const finishing of finishes) {
      const { jobId } = finishing.end.claim;
      const record = closed.get(jobId);
      finishing.claim = this.#isEnded(finishing.end, record) ? "ended" : "superseded";
      if (record === undefined || finishing.end.record === undefined) continue;
      finishing.record = "written";
      this.#unrecorded.delete(jobId);
    }
    await this.#closeRecords(finishes.filter(({ record }) => record !== "written"));
  }

  #isEnded({ claim, record }: JobFinish, closed: EndedJobRecord | undefined): boolean {
    if (this.#unrecorded.has(claim.jobId)) return true;
    if (this.#store.known(claim).last_job?.id === claim.jobId) return true;
    return closed !== undefined && record !== undefined && isSameEnd(closed, record);
  }

  /** Does not reject. */
  async #closeRecords(finishes: readonly Finishing[]): Promise<void> {
    const given: Finishing[] = [];
    const records: EndedJobRecord[] = [];
    for (const finishing of finishes) {
      const { claim, end } = finishing;
      if (end.record === undefined) continue;
      given.push(finishing);
      records.push(claim === "superseded" ? supersededRecord(end.record) : end.record);
    }
    if (given.length === 0) return;
    let failures: RecordFailures;
    try {
      failures = await this.#store.log().closeRecords(records);
    } catch (error) {
      failures = given.map(() => ({ error }));
    }
    for (const [index, finishing] of given.entries()) {
      const failure = failures[index];
      finishing.record = failure === undefined ? "written" : "failed";
      finishing.recordError = failure?.error;
      finishing.isRecordSettled = failure === undefined || isInvalid(failure.error);
      if (finishing.isRecordSettled) this.#unrecorded.delete(finishing.end.claim.jobId);
    }
  }
}

function newFinishing(end: JobFinish): Finishing {
  const { claim, keepsSlot, record, onClaimEnded } = end;
  const { agent, schedule, token, jobId } = claim;
  let change: ScheduleChange = keepsSlot === true ? {} : end.change;
  try {
    if (typeof change !== "function") change = checkedPatch(change);
  } catch (error) {
    change = () => {
      throw error;
    };
  }
  return {
    end: { claim: { agent, schedule, token, jobId }, change, keepsSlot, record, onClaimEnded },
    claim: "failed",
    claimError: undefined,
    record: "none",
    recordError: undefined,
    isRecordSettled: false,
  };
}

/** Ends one claim in the draft; a change that cannot be decided leaves the claim as it is. */
function endIn(draft: StateDraft, held: HeldClaim, finishing: Finishing): void {
  const { claim, change, record, keepsSlot = false } = finishing.end;
  const state = draft.read(claim);
  finishing.claim = "ended";
  // An earlier write of this end, whose reply was lost, is what the state says.
  if (held.mayHaveEnded && state.claim?.token !== claim.token) return;
  try {
    const decided = typeof change === "function" ? checkedPatch(change(wholeState(state))) : change;
    const patch = keepsSlot ? givenBack(state) : completion(state, decided);
    if (record !== undefined) Object.assign(patch, { last_job: lastJobOf(record) });
    // Its schedule is not defined any longer.
    if (held.entry === undefined) Object.assign(patch, NO_SLOT);
    draft.patch(claim, patch);
  } catch (error) {
    finishing.claim = "failed";
    finishing.claimError = error;
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof StateError && error.code === "INVALID_STATE";
}

function resultOf({ claim, claimError, record, recordError }: Finishing): FinishResult {
  if (claim !== "failed" && record !== "failed") return { claim, record };
  return { claim, record, error: claim === "failed" ? claimError : recordError };
}

/**
 * Ends claims and closes the records of their jobs, states and records side by side: a job log that hangs keeps no
 * schedule from its next run. A call may be repeated; what an earlier call has written is found and left as it is.
 */
import { isSameEnd } from "../claim-rules.js";
import { StateError } from "../errors.js";
import type { EndedJobRecord } from "../job-log/job-log.js";
import { supersededRecord } from "../job-log/superseded-record.js";
import { checkedChange, type StateOperation } from "../operations.js";
import type { ScheduleState } from "../schedule-state.js";
import type { FinishResult, JobFinish, ScheduleChange, ScheduleKey } from "../store.js";
import type { ClaimQueue } from "./claim-queue.js";
import { EndOperation, type HeldEnd } from "./operations.js";
import type { OwnedJobLog, RecordFailure } from "./owned-job-log.js";

export interface FinishingStore {
  readonly queue: ClaimQueue;
  readonly log: () => OwnedJobLog;
  readonly known: (key: ScheduleKey) => Partial<ScheduleState>;
  readonly commit: (operation: StateOperation) => Promise<void>;
}

/** What became of the claim of one finish; `error` when it could not be ended. */
interface ClaimResult {
  readonly claim: FinishResult["claim"];
  readonly error?: unknown;
}

interface WrittenStates {
  readonly results: readonly ClaimResult[];
  /** Why nothing could be written. */
  readonly failure?: RecordFailure;
}

export class JobFinishes {
  readonly #store: FinishingStore;
  /** Jobs whose claim has ended and whose record is still to be written. */
  readonly #unrecorded = new Set<string>();

  constructor(store: FinishingStore) {
    this.#store = store;
  }

  /** Rejects when nothing could be written. */
  async finish(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    const settled = new Settled();
    const begun = ends.map((end) => this.#begin(end, settled.promise));
    const held = begun.filter((end) => end !== undefined);
    const rest = ends.filter((_, index) => begun[index] === undefined);
    const [states, records, restResults] = await Promise.all([
      this.#endClaims(held).finally(() => settled.resolve()),
      this.#closeRecords(held.map(({ record }) => record)),
      this.#finishRest(rest),
    ]);
    for (const [index, { claim }] of held.entries())
      if (isSettled(records[index])) this.#unrecorded.delete(claim.jobId);
    if (states.failure !== undefined && rest.length === 0 && !records.some(isWritten))
      throw states.failure.error;
    const heldResults = states.results.map((result, index) => finishResult(result, records[index]));
    return merged(
      heldResults,
      restResults,
      begun.map((end) => end !== undefined),
    );
  }

  /** Begins an end that is not begun yet, of a claim that is held; its lease lasts until the end is written. */
  #begin(end: JobFinish, settled: Promise<void>): HeldEnd | undefined {
    const held = this.#store.queue.find(end.claim);
    if (held === undefined || held.ending !== undefined) return undefined;
    held.ending = settled;
    const { agent, schedule, token, jobId } = end.claim;
    return {
      claim: { agent, schedule, token, jobId },
      change: fixedChange(end.change),
      keepsSlot: end.keepsSlot,
      record: end.record,
      onClaimEnded: end.onClaimEnded,
      triedState: held.triedState,
    };
  }

  /** Each claim ends in the queue as soon as its state is durable. Does not reject. */
  async #endClaims(ends: readonly HeldEnd[]): Promise<WrittenStates> {
    if (ends.length === 0) return { results: [] };
    const { queue, known, commit } = this.#store;
    const operation = new EndOperation(ends, (key) => queue.isDefined(key));
    try {
      await commit(operation);
    } catch (error) {
      for (const [index, { claim }] of ends.entries()) this.#keep(claim, operation.states[index]);
      return { results: ends.map(() => ({ claim: "failed", error })), failure: { error } };
    }
    const results = ends.map(({ claim, record, onClaimEnded }, index): ClaimResult => {
      if (operation.failures.has(index)) {
        this.#keep(claim, undefined);
        return { claim: "failed", error: operation.failures.get(index) };
      }
      if (record !== undefined) this.#unrecorded.add(claim.jobId);
      queue.end(claim, known(claim));
      onClaimEnded?.();
      return { claim: "ended" };
    });
    return { results };
  }

  #keep(claim: JobFinish["claim"], triedState: Partial<ScheduleState> | undefined): void {
    const held = this.#store.queue.find(claim);
    if (held === undefined) return;
    held.ending = undefined;
    held.triedState = triedState ?? held.triedState;
  }

  /**
   * Finishes whose claim is not held, because an earlier call ends it or has ended it, or because it is superseded.
   */
  async #finishRest(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    if (ends.length === 0) return [];
    const endings = ends.map(({ claim }) => this.#store.queue.find(claim)?.ending);
    const [ended, ending] = await Promise.all([
      this.#finishEnded(ends.filter((_, index) => endings[index] === undefined)),
      Promise.all(
        ends.flatMap((end, index) => {
          const earlier = endings[index];
          return earlier === undefined ? [] : [this.#finishAfter(earlier, end)];
        }),
      ),
    ]);
    return merged(
      ended,
      ending,
      endings.map((earlier) => earlier === undefined),
    );
  }

  async #finishAfter(ending: Promise<void>, end: JobFinish): Promise<FinishResult> {
    await ending;
    try {
      const [result] = await this.finish([end]);
      if (result !== undefined) return result;
      throw new Error("A finish has no result.");
    } catch (error) {
      return finishResult({ claim: "failed", error }, end.record === undefined ? "none" : { error });
    }
  }

  async #finishEnded(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    if (ends.length === 0) return [];
    const ids = ends.filter(({ record }) => record !== undefined).map(({ claim }) => claim.jobId);
    let closed: ReadonlyMap<string, EndedJobRecord>;
    try {
      closed = ids.length === 0 ? new Map() : await this.#store.log().closedRecords(ids);
    } catch (error) {
      return ends.map(({ record }) =>
        finishResult({ claim: "failed", error }, record === undefined ? "none" : { error }),
      );
    }
    const areEnded = ends.map((end) => this.#isEnded(end, closed.get(end.claim.jobId)));
    const records = await this.#closeRecords(
      ends.map(({ claim, record }, index) => {
        if (record === undefined || closed.has(claim.jobId)) return undefined;
        return areEnded[index] === true ? record : supersededRecord(record);
      }),
    );
    return ends.map(({ claim, record }, index) => {
      const isClosed = record !== undefined && closed.has(claim.jobId);
      const result = isClosed ? undefined : records[index];
      if (record !== undefined && isSettled(result)) this.#unrecorded.delete(claim.jobId);
      return finishResult({ claim: areEnded[index] === true ? "ended" : "superseded" }, result);
    });
  }

  #isEnded({ claim, record }: JobFinish, closed: EndedJobRecord | undefined): boolean {
    if (this.#unrecorded.has(claim.jobId)) return true;
    if (this.#store.known(claim).last_job?.id === claim.jobId) return true;
    return closed !== undefined && record !== undefined && isSameEnd(closed, record);
  }

  /** Does not reject. "none" for a finish without a record. */
  async #closeRecords(records: readonly (EndedJobRecord | undefined)[]): Promise<readonly RecordResult[]> {
    const given = records.filter((record) => record !== undefined);
    if (given.length === 0) return records.map(() => "none");
    try {
      const failures = (await this.#store.log().closeRecords(given)).values();
      return records.map((record) => (record === undefined ? "none" : failures.next().value));
    } catch (error) {
      return records.map((record) => (record === undefined ? "none" : { error }));
    }
  }
}

/** `undefined` for a record that is durable. */
type RecordResult = RecordFailure | "none" | undefined;

function isWritten(record: RecordResult): boolean {
  return record === undefined;
}

/** Whether a repeated call could do no better: the record is durable, or can never be written. */
function isSettled(record: RecordResult): boolean {
  if (record === undefined || record === "none") return true;
  return record.error instanceof StateError && record.error.code === "INVALID_STATE";
}

/** Both lists as one: at each place the next of `first` where `isFirst` says so, else the next of `second`. */
function merged(
  first: readonly FinishResult[],
  second: readonly FinishResult[],
  isFirst: readonly boolean[],
): readonly FinishResult[] {
  if (second.length === 0) return first;
  const [firsts, seconds] = [[...first], [...second]];
  return isFirst.flatMap((isOne) => (isOne ? firsts.splice(0, 1) : seconds.splice(0, 1)));
}

function finishResult({ claim, error }: ClaimResult, record: RecordResult): FinishResult {
  if (record === undefined || record === "none") {
    const result = { claim, record: record ?? "written" } as const;
    return claim === "failed" ? { ...result, error } : result;
  }
  return { claim, record: "failed", error: claim === "failed" ? error : record.error };
}

/** The change as it is now, whatever its caller does to it later. An invalid patch becomes a decision that throws. */
function fixedChange(change: ScheduleChange): ScheduleChange {
  try {
    return checkedChange(change);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

class Settled {
  resolve: () => void = () => {};
  readonly promise: Promise<void> = new Promise((resolve) => {
    this.resolve = resolve;
  });
}

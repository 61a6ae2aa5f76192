/**
 * Ends claims and closes the records of their jobs, both in one statement. Each finish of a call succeeds or fails alone.
 * What is written again when a row has changed meanwhile is decided by state-writer.ts.
 */
import { completion, givenBack } from "../../claim-rules.js";
import { idTakenError } from "../../job-log/job-id.js";
import type { EndedJobRecord } from "../../job-log/job-log.js";
import { supersededRecord } from "../../job-log/superseded-record.js";
import type { StateDraft } from "../../operations.js";
import type { FinishResult, JobFinish } from "../../store.js";
import { checkedPatch, requirePatch, wholeState } from "../../validate-state.js";
import type { JobRow } from "../jobs/job-rows.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import type { RowOperation } from "./decide-write.js";
import type { StateWriter } from "./state-writer.js";

const ENDED: FinishResult = { claim: "ended", record: "none" };
const RECORDED: FinishResult = { claim: "ended", record: "written" };
/** The claim is not in its row: what became of it is known after the write. */
const NOT_HELD: FinishResult = { claim: "superseded", record: "none" };

type RowOf = (record: EndedJobRecord) => JobRow;

class FinishOperation implements RowOperation {
  readonly #ends: readonly JobFinish[];
  readonly #rowOf: RowOf;
  results: FinishResult[] = [];
  records: readonly JobRow[] = [];
  ended: readonly string[] = [];
  /** The ids of other jobs that were given as ids of records; `undefined` when no reply says so. */
  refusedIds: ReadonlySet<unknown> | undefined;

  constructor(ends: readonly JobFinish[], rowOf: RowOf) {
    this.#ends = ends;
    this.#rowOf = rowOf;
  }

  apply(draft: StateDraft): void {
    const records: JobRow[] = [];
    const ended: string[] = [];
    this.results = this.#ends.map(({ claim, change, keepsSlot, record }) => {
      const state = draft.read(claim);
      if (state.claim?.token !== claim.token) return NOT_HELD;
      try {
        if (keepsSlot === true) draft.patch(claim, givenBack(state));
        else {
          const patch = typeof change === "function" ? change(wholeState(state)) : change;
          requirePatch(patch);
          draft.patch(claim, completion(state, patch));
        }
      } catch (error) {
        return { claim: "failed", record: record === undefined ? "none" : "failed", error };
      }
      ended.push(claim.token);
      if (record === undefined) return ENDED;
      try {
        records.push(this.#rowOf(record));
        return RECORDED;
      } catch (error) {
        return { claim: "ended", record: "failed", error };
      }
    });
    this.records = records;
    this.ended = ended;
  }

  noteWritten(refusedIds: ReadonlySet<unknown>): void {
    this.refusedIds = refusedIds;
  }
}

export class JobFinisher {
  readonly #writer: StateWriter;
  readonly #jobs: PostgresJobLog;

  constructor(writer: StateWriter, jobs: PostgresJobLog) {
    this.#writer = writer;
    this.#jobs = jobs;
  }

  async finish(given: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    const ends = given.map(withOwnPatch);
    const ids = ends.map(({ claim }) => claim.jobId);
    const opening = this.#jobs.whenOpened(ids);
    // No await unless it is needed: the changes of one caller are made in the order of its calls.
    if (opening !== undefined) await opening;
    const operation = new FinishOperation(ends, (record) => this.#jobs.rowOf(record));
    await this.#writer.commit({ keys: ends.map(({ claim }) => claim), operation, news: "none" });
    const { results, refusedIds } = operation;
    // A finish with a record may be repeated until the record is written.
    const isRepeatable = ({ record }: JobFinish, index: number): boolean =>
      record !== undefined && results[index]?.claim === "ended";
    this.#writer.noteEnded(ends.filter(isRepeatable).map(({ claim }) => claim.token));
    const late = new Map<number, JobRow>();
    ends.forEach(({ claim, record }, index) => {
      const result = results[index];
      if (result === RECORDED && refusedIds?.has(record?.id) === true)
        results[index] = { claim: "ended", record: "failed", error: idTakenError(record?.id ?? "", 1) };
      // The write was carried out and its reply lost, or the claim ended before this write.
      const isLate = result === NOT_HELD || (result === RECORDED && refusedIds === undefined);
      if (!isLate) return;
      const isEnded = result === RECORDED || this.#writer.wasEnded(claim.token);
      results[index] = isEnded ? ENDED : NOT_HELD;
      try {
        if (record !== undefined)
          late.set(index, this.#jobs.rowOf(isEnded ? record : supersededRecord(record)));
      } catch (error) {
        results[index] = { claim: isEnded ? "ended" : "superseded", record: "failed", error };
      }
    });
    if (late.size > 0) await this.#recordLate(late, results);
    this.#jobs.noteClosed(ids.filter((_, index) => results[index]?.record === "written"));
    return results;
  }

  /** Writes records whose claims ended in an earlier statement. */
  async #recordLate(rows: ReadonlyMap<number, JobRow>, results: FinishResult[]): Promise<void> {
    let outcome: (row: JobRow) => Pick<FinishResult, "record" | "error">;
    try {
      const refusedIds = await this.#jobs.record([...rows.values()]);
      outcome = ({ id }) =>
        refusedIds.has(id) ? { record: "failed", error: idTakenError(id, 1) } : { record: "written" };
    } catch (error) {
      outcome = () => ({ record: "failed", error });
    }
    for (const [index, row] of rows)
      results[index] = { claim: results[index]?.claim ?? "superseded", ...outcome(row) };
  }
}

/** A finish whose patch is a copy: the caller may change its own while the finish waits for its write. */
function withOwnPatch(end: JobFinish): JobFinish {
  const { claim, change, keepsSlot, record } = end;
  if (typeof change === "function" || keepsSlot === true) return end;
  try {
    return { claim, change: checkedPatch(change), record };
  } catch (error) {
    const refuse = (): never => {
      throw error;
    };
    return { claim, change: refuse, record };
  }
}

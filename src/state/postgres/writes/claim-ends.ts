/** Ends claims, and makes the records of their jobs with the same write, where these are still to be made. */
import type { EndedJobRecord } from "../../job-log/job-log.js";
import { checkedChange, type PatchRule } from "../../operations.js";
import type { ClaimEnd } from "../../store.js";
import { EndClaims } from "../claims/claim-operations.js";
import type { NewRow } from "../jobs/job-rows.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import type { StateWriter } from "./state-writer.js";

export class ClaimEnds {
  readonly #writer: StateWriter;
  readonly #jobs: Pick<PostgresJobLog, "rowOf" | "noteMade">;

  constructor(writer: StateWriter, jobs: Pick<PostgresJobLog, "rowOf" | "noteMade">) {
    this.#writer = writer;
    this.#jobs = jobs;
  }

  /** Of each whether its claim was held. */
  async write(ends: readonly ClaimEnd[], toWrite: PatchRule): Promise<readonly boolean[]> {
    const checked = ends.map(withCheckedChange);
    const rowOf = ({ record }: ClaimEnd): NewRow | undefined => this.#rowOf(record);
    const operation = new EndClaims(checked, { rowOf, toWrite, wasEnded: this.#writer.wasEnded });
    await this.#writer.commit({ keys: checked.map(({ claim }) => claim), operation, news: "none" });
    const areHeld = operation.requireDone();
    this.#jobs.noteMade(operation.recordCount);
    return areHeld;
  }

  /** What is no record is left to the job log, which says what is wrong with it: it must not keep the claim from ending. */
  #rowOf(record: EndedJobRecord | undefined): NewRow | undefined {
    try {
      return record && this.#jobs.rowOf(record);
    } catch {
      return undefined;
    }
  }
}

/** What decides is asked when it is written; a patch may be another by then. */
function withCheckedChange(end: ClaimEnd): ClaimEnd {
  const { claim, change, record } = end;
  if (typeof change === "function") return end;
  return { claim, change: checkedChange(change), record, noteRecorded: () => end.noteRecorded?.() };
}

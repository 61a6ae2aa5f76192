/**
 * The record of a job whose slot a later claim took before the job ended: its result changes nothing, but is kept.
 * Pure.
 */
import type { EndedJobRecord } from "./job-log.js";

export function supersededRecord(record: EndedJobRecord): EndedJobRecord {
  const { status, error } = record;
  const end = error === null ? status : `${status}: ${error}`;
  return {
    ...record,
    status: "interrupted",
    error: `superseded: another claim has taken its slot, where this job ended as ${end}`,
  };
}

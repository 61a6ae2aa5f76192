/** A job's id, "job-2026-11-15-k3x9qa7f": which day it belongs to, and whether a text is one at all. */
import { quote } from "../../errors.js";
import { isoText } from "../../iso-time.js";
import type { Random } from "../../random.js";
import { invalidState, type StateError } from "../errors.js";

/** Ids of earlier versions have six characters after the day. */
const ID = /^job-\d{4}-\d\d-\d\d-(?:[0-9a-z]{6}|[0-9a-z]{8})$/;
const SUFFIX_LENGTH = 8;
const IDS_A_DAY = 36 ** SUFFIX_LENGTH;

/** Jobs with smaller numbers have six characters in their ids, as earlier versions gave them. */
export const FIRST_LONG_NUMBER: number = 36 ** 6;
const SHORT_LENGTH = 6;

const DAY_MS = 86_400_000;
/** The day that was asked for last: jobs that start together start on one. */
let latestDay = { startMs: 0, text: "1970-01-01" };

/** The UTC day of an instant: "2026-11-15". */
export function dayOf(at: Date): string {
  const ms = at.getTime() - latestDay.startMs;
  if (!(ms >= 0 && ms < DAY_MS)) {
    const text = isoText(at).slice(0, 10);
    latestDay = { startMs: Date.parse(text), text };
  }
  return latestDay.text;
}

/** An id for a job that starts now. The log draws again when a job has it. */
export function drawJobId(startedAt: Date, random: Random): string {
  return jobId(startedAt, Math.floor(random() * IDS_A_DAY), SUFFIX_LENGTH);
}

/** Has no factor in common with the number of ids, so that all are used before one comes again. */
const STEP = 1_743_541_808_669;

/**
 * Ids that no two jobs of one process share. Every process goes in the same steps from a random start, so that the ids of
 * two processes meet only if one starts within the other's: two with a million jobs each in less than one of a million days.
 */
export class JobIds {
  #drawn: number;

  constructor(random: Random) {
    this.#drawn = Math.floor(random() * IDS_A_DAY);
  }

  next(startedAt: Date): string {
    this.#drawn = (this.#drawn + STEP) % IDS_A_DAY;
    return jobId(startedAt, this.#drawn, SUFFIX_LENGTH);
  }
}

/**
 * The id of the job with this number. No two are the same until all of a day are used up; and they are in order, so that
 * an index of them grows at its end.
 */
export function numberedJobId(startedAt: Date, number: number): string {
  return jobId(startedAt, number % IDS_A_DAY, number < FIRST_LONG_NUMBER ? SHORT_LENGTH : SUFFIX_LENGTH);
}

/** The number in an id; of one that was not made from a number, one that no job has. */
export function numberOfJobId(id: string): number {
  return isJobId(id) ? Number.parseInt(id.slice(DAY_TO + 1), 36) : -1;
}

/** In two halves: rendering one large number takes several times as long. */
const HALF = 36 ** (SUFFIX_LENGTH / 2);

function jobId(startedAt: Date, drawn: number, length: number): string {
  const high = Math.floor(drawn / HALF).toString(36);
  const low = (drawn % HALF).toString(36);
  return `job-${dayOf(startedAt)}-${high.padStart(length - SUFFIX_LENGTH / 2, "0")}${low.padStart(SUFFIX_LENGTH / 2, "0")}`;
}

export function isJobId(text: string): boolean {
  return ID.test(text);
}

/** The day in an id; `undefined` for a malformed id. */
export function dayInJobId(id: string): string | undefined {
  return isJobId(id) ? id.slice(DAY_FROM, DAY_TO) : undefined;
}

/** The day in an id. Ids become file names, so a malformed one is refused with INVALID_STATE. */
export function dayOfJob(id: string): string {
  if (isJobId(id)) return id.slice(DAY_FROM, DAY_TO);
  throw invalidState(`Not a job id: ${quote(id)}. Expected one such as "job-2026-11-15-k3x9qa7f".`);
}

const DAY_FROM = "job-".length;
const DAY_TO = "job-2026-11-15".length;

/** So many ids drawn in vain mean a source of randomness that repeats itself. */
export const MOST_DRAWS = 100;

export function idTakenError(id: string, draws: number): StateError {
  const drawn = draws > 1 ? `, as were the ${draws - 1} ids drawn before it` : "";
  return invalidState(`The job id ${id} is taken${drawn}.`);
}

export function outputTakenError(id: string): StateError {
  return invalidState(`The output of ${id} was opened before.`);
}

/**
 * Reads the lines of a day's part: the jobs of a piece, the jobs that have not ended, and what a line is about without
 * reading all of it. Where the bytes come from is job-archive.ts's matter.
 */
import { glanceAt, idEndAt, type LineGlance, scanLines } from "./job-line.js";

/** A job as its lines tell it. */
export interface DayJob {
  readonly id: string;
  readonly startedAt: string;
  /** Who started it; `undefined` where the line does not say. */
  readonly process: string | undefined;
  readonly start: Buffer;
  readonly end: Buffer | undefined;
}

/** The ends of jobs whose starts are in an earlier piece. */
export type LaterEnds = Map<string, Buffer>;

/**
 * The jobs that start in a piece, in the order of the file: the first line of its kind counts. Pieces are to be given from
 * the last to the first, with the same `ends`.
 */
export function jobsOfPiece(
  piece: Buffer,
  ends: LaterEnds,
  isWanted: (id: string) => boolean = () => true,
  damaged: () => void = () => {},
): readonly DayJob[] {
  const jobs = new Map<string, DayJob>();
  const later: LaterEnds = new Map();
  const visit = ({ id, startedAt, process }: LineGlance, line: Buffer): void => {
    const job = jobs.get(id);
    if (startedAt !== undefined) {
      if (job === undefined) jobs.set(id, { id, startedAt, process, start: line, end: ends.get(id) });
      later.delete(id);
    } else if (job === undefined) {
      if (!later.has(id)) later.set(id, line);
    } else if (job.end === ends.get(id)) jobs.set(id, { ...job, end: line });
  };
  scanLines(piece, visit, damaged, isWanted);
  // Copies: a line is a part of its piece.
  for (const [id, line] of later) ends.set(id, Buffer.from(line));
  for (const id of jobs.keys()) ends.delete(id);
  return [...jobs.values()];
}

const NEWLINE = 10;
const CLOSING_BRACE = 125;
const MINUS = 45;
const COLON = 58;
const LETTER_R = 114;
const LETTER_S = 115;
/** `{"id":"job-2026-11-15-` */
const NUMBER_AT = 22;
/** From the end of an id to the first letter of its status: `","status":"`. */
const STATUS_AFTER = 12;
/** The signature of a process ends with a machine and a token: `-0123456789ab-0123456789ab0123456789ab"}`. */
const TOKEN_FROM_END = 27;
const MACHINE_FROM_END = 40;

/**
 * Collects the jobs of a part that have not ended, piece by piece from its beginning. A day may have a million lines, so
 * a line in the form that Rota writes is not turned into text.
 */
export class OpenJobs {
  /** The numbers of the jobs that have not ended; the number of a short id is negative. */
  readonly #open = new Set<number>();
  readonly #glances = new Map<string, LineGlance>();

  add(piece: Buffer): void {
    for (let from = 0; from < piece.length;) {
      const newline = piece.indexOf(NEWLINE, from);
      const to = newline < 0 ? piece.length : newline;
      this.#line(piece, from, to);
      from = to + 1;
    }
  }

  /** Whether a job may be open. Lines of jobs in a different form are all looked at again. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#glances.size === 0;
  }

  has(id: string): boolean {
    return this.#glances.has(id) || this.#open.has(numberIn(Buffer.from(id, "latin1"), 15, id.length));
  }

  #line(bytes: Buffer, from: number, to: number): void {
    const idTo = idEndAt(bytes, from);
    const isPlain =
      idTo !== undefined &&
      bytes[idTo + STATUS_AFTER - 2] === COLON &&
      bytes[idTo + STATUS_AFTER - 4] === LETTER_S &&
      bytes[to - 1] === CLOSING_BRACE &&
      bytes[to - TOKEN_FROM_END] === MINUS &&
      bytes[to - MACHINE_FROM_END] === MINUS;
    if (!isPlain) {
      const glance = to > from ? glanceAt(bytes.subarray(from, to)) : undefined;
      if (glance !== undefined) this.#glances.set(glance.id, glance);
      return;
    }
    const number = numberIn(bytes, from + NUMBER_AT, idTo);
    if (bytes[idTo + STATUS_AFTER] === LETTER_R) this.#open.add(number);
    else this.#open.delete(number);
  }
}

/** The number that base 36 digits write; negative for the six characters of earlier versions. */
function numberIn(bytes: Buffer, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at] ?? 0;
    number = number * 36 + (digit < 58 ? digit - 48 : digit - 87);
  }
  return to - from === 6 ? -1 - number : number;
}

/** What a journal keeps: records of parts that register by name. The journal knows nothing of what they mean. */

/** One record of a decision: which part it is for, and plain JSON data. */
export interface JournalRecord {
  readonly part: string;
  readonly data: unknown;
}

/**
 * A part's state in memory, made from records alone: the same records in the same order give the same state. Data that
 * it gets must not be changed.
 */
export interface JournalPart {
  /** Takes a record in. `position` is where `readAt` finds the record's line again. */
  apply(data: unknown, position: number): void;
  /** The whole state as plain JSON. */
  snapshot(): unknown;
  /** Replaces the whole state; `undefined` makes it empty. */
  load(snapshot: unknown): void;
  /** The ids under which the record's line is to be found by `findId`. */
  idsOf?(data: unknown): Iterable<string>;
  /** The smallest position of a line that is still to be read or found; `undefined` for none. */
  keepFrom?(): number | undefined;
}

/** By the names under which they are written. */
export type JournalParts = Readonly<Record<string, JournalPart>>;

export interface Decision {
  /** The ids that `decide` looks for. */
  readonly ids?: readonly DecisionId[] | undefined;
  /**
   * What is to be written; nothing to change nothing. Called when it is its turn, with the state that holds every decision
   * before it, and maybe never. Must not wait. What it throws rejects its own call only.
   */
  decide(find: FindId): readonly JournalRecord[];
}

export interface DecisionId {
  readonly part: string;
  readonly id: string;
}

/** The position of the last line with this id. */
export type FindId = (part: string, id: string) => number | undefined;

/** The line of one decision, read again. */
export interface JournalEntry {
  readonly position: number;
  readonly records: readonly JournalRecord[];
}

/** A larger offset would not fit beside the number of a segment. */
const SEGMENT_SPAN = 2 ** 32;

/** One number for a place in the journal: it grows with every line, and takes no object to keep. */
export function positionOf(segment: number, offset: number): number {
  return segment * SEGMENT_SPAN + offset;
}

export function segmentOf(position: number): number {
  return Math.floor(position / SEGMENT_SPAN);
}

export function offsetOf(position: number): number {
  return position % SEGMENT_SPAN;
}

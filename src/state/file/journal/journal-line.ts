/**
 * The lines of a journal: `{"crc":"89abcdef","n":7,"records":[["part",data]]}` for a decision, `"snapshot":{"part":data}`
 * for the first line of a segment. The crc is of all bytes behind it. Damage costs the line it hit and no line beside it.
 */
import { crc32 } from "./crc32.js";
import type { JournalParts, JournalRecord } from "./journal-part.js";

export interface JournalLine {
  /** Of the decision; a snapshot has the number of the last decision in it. */
  readonly number: number;
  readonly records: readonly JournalRecord[];
  /** Of the first line of a segment: the data of the parts by name. */
  readonly snapshot: Readonly<Record<string, unknown>> | undefined;
}

/** What a line says between its braces, apart from the crc. */
interface LineData {
  readonly n: number;
  readonly records?: readonly (readonly [string, unknown])[];
  readonly snapshot?: Readonly<Record<string, unknown>>;
}

/** A line found in bytes; its end is that of its newline. */
export interface FoundLine {
  readonly start: number;
  readonly end: number;
  /** A line is "torn" when it has no newline: the last write did not finish. */
  readonly state: "whole" | "damaged" | "torn";
  /** `undefined` unless it can be read. A damaged newline leaves the line readable. */
  readonly line: JournalLine | undefined;
}

const MARK = Buffer.from('{"crc":"');
const CRC_DIGITS = 8;
const CRC_END = Buffer.from('",');
/** How many bytes come before the bytes that the crc is of. Lines that differ differ in them, nearly always. */
export const HEAD_BYTES: number = MARK.length + CRC_DIGITS + CRC_END.length;
const NEWLINE = 10;

export function encodeDecision(number: number, records: readonly JournalRecord[]): Buffer {
  return encodeLine(
    number,
    "records",
    records.map(({ part, data }) => [part, data]),
  );
}

export function encodeSnapshot(number: number, parts: JournalParts): Buffer {
  const data = Object.entries(parts).map(([name, part]) => [name, part.snapshot()] as const);
  return encodeLine(number, "snapshot", Object.fromEntries(data));
}

function encodeLine(number: number, key: string, value: unknown): Buffer {
  const bytes = Buffer.from(`{"crc":"00000000","n":${number},"${key}":${JSON.stringify(value)}}\n`);
  bytes.write(crcText(bytes, HEAD_BYTES, bytes.length - 1), MARK.length, "latin1");
  return bytes;
}

function crcText(bytes: Buffer, start: number, end: number): string {
  return crc32(bytes, start, end).toString(16).padStart(CRC_DIGITS, "0");
}

/** The line without its newline; `undefined` when a byte of it is not as it was written. */
export function decodeLine(bytes: Buffer, start = 0, end: number = bytes.length): JournalLine | undefined {
  const crcAt = start + MARK.length;
  const crcEnd = crcAt + CRC_DIGITS;
  if (end < start + HEAD_BYTES || bytes.compare(MARK, 0, MARK.length, start, crcAt) !== 0) return undefined;
  if (bytes.compare(CRC_END, 0, CRC_END.length, crcEnd, start + HEAD_BYTES) !== 0) return undefined;
  if (bytes.toString("latin1", crcAt, crcEnd) !== crcText(bytes, start + HEAD_BYTES, end)) return undefined;
  // The bytes are as they were written, so that this parses.
  const { n, records, snapshot }: LineData = JSON.parse(bytes.toString("utf8", start, end));
  return { number: n, records: (records ?? []).map(([part, data]) => ({ part, data })), snapshot };
}

/** All lines of the bytes, in their order. */
export function* findLines(bytes: Buffer): Generator<FoundLine, void> {
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline < 0) {
      yield lastLine(bytes, start);
      return;
    }
    yield* linesBetween(bytes, start, newline + 1);
    start = newline + 1;
  }
}

/** Lines whose newline is damaged look like one: what begins as a line and is right to the end is one of its own. */
function* linesBetween(bytes: Buffer, start: number, end: number): Generator<FoundLine, void> {
  const line = decodeLine(bytes, start, end - 1);
  if (line !== undefined) {
    yield { start, end, state: bytes[end - 1] === NEWLINE ? "whole" : "damaged", line };
    return;
  }
  for (let at = bytes.indexOf(MARK, start + 1); at >= 0 && at < end; at = bytes.indexOf(MARK, at + 1)) {
    const following = decodeLine(bytes, at, end - 1);
    if (following === undefined) continue;
    yield* linesBetween(bytes, start, at);
    yield { start: at, end, state: "whole", line: following };
    return;
  }
  yield { start, end, state: "damaged", line: undefined };
}

/** What has no newline is torn, unless only that byte is wrong, or there is more than one line in it. */
function lastLine(bytes: Buffer, start: number): FoundLine {
  const end = bytes.length;
  const line = decodeLine(bytes, start, end - 1);
  const isTorn = line === undefined && bytes.indexOf(MARK, start + 1) < 0;
  return { start, end, state: isTorn ? "torn" : "damaged", line };
}

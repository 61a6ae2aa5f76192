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
const HEAD = Buffer.concat([MARK, Buffer.alloc(CRC_DIGITS, "0"), CRC_END]);
const DIGITS = Buffer.from("0123456789abcdef");
const FIRST_BYTES = 65_536;
/** More than this is not kept for the next lines. */
const MOST_KEPT_BYTES = 1_000_000;
/** A unit of a text takes three bytes at most. */
const BYTES_PER_UNIT = 3;
const NEWLINE = 10;

/** The line without its newline; `undefined` when a byte of it is not as it was written. */
export function decodeLine(bytes: Buffer, start = 0, end: number = bytes.length): JournalLine | undefined {
  if (end < start + HEAD_BYTES) return undefined;
  const written = crcWritten(bytes, start);
  if (written === undefined || written !== crc32(bytes, start + HEAD_BYTES, end)) return undefined;
  // The bytes are as they were written, so that this parses.
  const { n, records, snapshot }: LineData = JSON.parse(bytes.toString("utf8", start, end));
  return { number: n, records: (records ?? []).map(([part, data]) => ({ part, data })), snapshot };
}

/** The crc that a line says; `undefined` where it does not begin as a line. */
function crcWritten(bytes: Buffer, start: number): number | undefined {
  let crc = 0;
  for (let at = 0; at < HEAD_BYTES; at++) {
    const byte = bytes[start + at] ?? 0;
    const isDigit = at >= MARK.length && at < MARK.length + CRC_DIGITS;
    if (isDigit) {
      const digit = DIGITS.indexOf(byte);
      if (digit < 0) return undefined;
      crc = crc * DIGITS.length + digit;
    } else if (byte !== HEAD[at]) return undefined;
  }
  return crc;
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

/** Lines to be written, one after the other. */
export class LineBuffer {
  #bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Valid until the next change. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  clear(): void {
    this.#size = 0;
    if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
  }

  addDecision(number: number, records: readonly JournalRecord[]): void {
    let list = "";
    for (const { part, data } of records)
      list += `${list === "" ? "" : ","}[${JSON.stringify(part)},${JSON.stringify(data ?? null)}]`;
    this.#add(`"n":${number},"records":[${list}]}`);
  }

  addSnapshot(number: number, parts: JournalParts): void {
    const data = Object.entries(parts).map(([name, part]) => [name, part.snapshot()] as const);
    this.#add(`"n":${number},"snapshot":${JSON.stringify(Object.fromEntries(data))}}`);
  }

  /** One call writes the whole text: each call costs as much as a hundred bytes. */
  #add(body: string): void {
    const start = this.#size;
    this.#makeRoom(HEAD_BYTES + BYTES_PER_UNIT * body.length + 1);
    const bytes = this.#bytes;
    const end = start + HEAD_BYTES + bytes.write(body, start + HEAD_BYTES);
    for (let at = 0; at < HEAD_BYTES; at++) bytes[start + at] = HEAD[at] ?? 0;
    let crc = crc32(bytes, start + HEAD_BYTES, end);
    for (let at = CRC_DIGITS - 1; at >= 0; at--) {
      bytes[start + MARK.length + at] = DIGITS[crc & 15] ?? 0;
      crc >>>= 4;
    }
    bytes[end] = NEWLINE;
    this.#size = end + 1;
  }

  #makeRoom(more: number): void {
    if (this.#size + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#size + more));
    this.bytes.copy(larger);
    this.#bytes = larger;
  }
}

/** Reads parts of a file: a range of bytes, or lines in pieces. */
import type { FileHandle } from "node:fs/promises";
import { attempt } from "./disk.js";

const NEWLINE = 10;
/** Scanning a piece of this size takes a few milliseconds. */
const PIECE_BYTES = 1_000_000;

/**
 * The bytes between two positions in pieces of whole lines, so that a large file neither fills the memory nor holds the event
 * loop up. Only the last piece may end in a line that was cut short.
 */
export async function* linePieces(
  handle: FileHandle,
  path: string,
  start: number,
  to: number,
): AsyncGenerator<Buffer, void> {
  let rest: Buffer = Buffer.alloc(0);
  for (let from = start; from < to;) {
    const bytes = await readRange(handle, path, from, Math.min(to, from + PIECE_BYTES));
    const isLast = bytes.length === 0 || from + bytes.length >= to;
    const piece = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const end = isLast ? piece.length : piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) yield piece.subarray(0, end);
    if (isLast) return;
    rest = piece.subarray(end);
    from += bytes.length;
  }
}

/** The first bytes of a file in pieces of whole lines, the last piece first: only that one may end in a line that was cut short. */
export async function* piecesBackwards(
  handle: FileHandle,
  path: string,
  size: number,
): AsyncGenerator<Buffer, void> {
  // The end of a line that begins in an earlier piece.
  let rest: Buffer = Buffer.alloc(0);
  for (let to = size; to > 0;) {
    const from = Math.max(0, to - PIECE_BYTES);
    const bytes = await readRange(handle, path, from, to);
    const piece = rest.length === 0 ? bytes : Buffer.concat([bytes, rest]);
    const begin = from === 0 ? 0 : piece.indexOf(NEWLINE) + 1;
    to = from;
    if (from > 0 && (begin === 0 || begin === piece.length)) {
      rest = piece;
      continue;
    }
    yield piece.subarray(begin);
    rest = piece.subarray(0, begin);
  }
}

/** The bytes between two positions, or as many of them as are there. */
export async function readRange(handle: FileHandle, path: string, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from));
  for (let filled = 0; filled < bytes.length;) {
    const reading = handle.read(bytes, filled, bytes.length - filled, from + filled);
    const { bytesRead } = await attempt(path, "read", reading);
    if (bytesRead === 0) return bytes.subarray(0, filled);
    filled += bytesRead;
  }
  return bytes;
}

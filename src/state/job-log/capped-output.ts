/**
 * A job's output within a limit: its first half and its last half, and between them a line that says how much was
 * cut. Grows until the tail has been filled twice and is then compacted in place, so a crash loses nothing recent.
 */
import { StateError } from "../errors.js";
import type { JobOutput } from "./job-log.js";

/** What the output is kept in; one writer, and every position counts from the start. */
export interface OutputBytes {
  /** Fills the bytes from there on. Answers how many it had, fewer only at its end. */
  read(bytes: Uint8Array, position: number): Promise<number>;
  /** How many of the bytes were written, at least one. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** More than the longest line that says how much was cut. */
const MARKER_ROOM = 64;
const LONGEST_CHARACTER = 4;
/** The largest piece that is copied at once, and the largest buffer that is kept for the next write. */
const PIECE_BYTES = 262_144;

export class CappedOutput implements JobOutput {
  readonly #bytes: OutputBytes;
  readonly #onClosed: () => void;
  readonly #maxBytes: number;
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #size = 0;
  /** Where the cut is, once there is one: after the head, before the line that says so. */
  #cutAt: number | undefined;
  #markerBytes = 0;
  #bytesCut = 0;
  /** Whether there may be more than its size: what a failed write has left, or a tail that was moved. */
  #isEndStale = false;
  /** Copied to by the next write. One for each would be collected only when 32 MB of them wait for it. */
  #spare: Buffer | undefined;
  /** The same, for compacting. */
  #piece: Buffer | undefined;
  #last: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(bytes: OutputBytes, maxBytes: number, onClosed: () => void = () => {}) {
    this.#bytes = bytes;
    this.#onClosed = onClosed;
    this.#maxBytes = maxBytes;
    this.#headBytes = Math.floor(maxBytes / 2);
    this.#tailBytes = maxBytes - this.#headBytes;
  }

  /** One that failed, wherever and with whatever effect, may be made again. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#closing !== undefined) {
      throw new StateError("The output of this job is closed.", { code: "STATE_CLOSED" });
    }
    const length = Buffer.byteLength(chunk);
    const buffer = this.#takeBuffer(length);
    // A copy: the caller may use its buffer again before its turn has come.
    if (typeof chunk === "string") buffer.write(chunk);
    else buffer.set(chunk);
    try {
      await this.whenIdle(() => this.#append(buffer.subarray(0, length)));
    } finally {
      // A closed output may be remembered for long.
      if (buffer.length <= PIECE_BYTES && this.#closing === undefined) this.#spare = buffer;
    }
  }

  /** Cuts the output to its limit. Closed it is in any case, even where the disk refuses that. */
  close(): Promise<void> {
    this.#spare = undefined;
    this.#closing ??= this.whenIdle(async () => {
      try {
        // A first cut that is shorter than the line about it would make the output longer.
        const spareBytes = this.#cutAt === undefined ? MARKER_ROOM : this.#markerBytes;
        if (this.#size > this.#maxBytes + spareBytes) await this.#compact();
        // What is left of a failed write is the job's own, and may stay; what is left of a tail is there twice.
        else if (this.#cutAt !== undefined) await this.#cutEnd();
      } finally {
        this.#piece = undefined;
        this.#onClosed();
        await this.#bytes.close();
      }
    });
    return this.#closing;
  }

  /** Acts when all that was called before has been done, and before anything that is called later. */
  whenIdle<Result>(act: () => Promise<Result>): Promise<Result> {
    const acting = this.#last.then(act);
    this.#last = settled(acting);
    return acting;
  }

  #takeBuffer(length: number): Buffer {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare !== undefined && spare.length >= length ? spare : Buffer.allocUnsafe(length);
  }

  async #append(bytes: Uint8Array): Promise<void> {
    // The room of the line is left free as well, so that compacting never writes over the tail it copies.
    const fullSize = this.#headBytes + MARKER_ROOM + 2 * this.#tailBytes;
    let done = 0;
    try {
      await this.#cutEnd();
      while (done < bytes.length) {
        if (this.#size >= fullSize) await this.#compact();
        const piece = bytes.subarray(done, done + fullSize - this.#size);
        const written = await this.#bytes.write(piece, this.#size);
        this.#size += written;
        done += written;
      }
    } catch (error) {
      this.#takeBack(done);
      throw error;
    }
  }

  /** The last bytes are as if they had not been written; some may have been cut meanwhile. */
  #takeBack(count: number): void {
    const tailAt = this.#cutAt === undefined ? 0 : this.#cutAt + this.#markerBytes;
    const taken = Math.min(count, this.#size - tailAt);
    this.#size -= taken;
    this.#bytesCut -= count - taken;
    this.#isEndStale = true;
  }

  async #cutEnd(): Promise<void> {
    if (!this.#isEndStale) return;
    await this.#bytes.truncate(this.#size);
    this.#isEndStale = false;
  }

  /** One that failed is repeated: as a whole, unless only the end was still to be cut. */
  async #compact(): Promise<void> {
    // At once: a line that was written there would be taken for the end of the head.
    this.#cutAt ??= await this.#endOfHead();
    const cutAt = this.#cutAt;
    const tailAt = await this.#startOfTail();
    const bytesCut = this.#bytesCut + tailAt - cutAt - this.#markerBytes;
    const marker = Buffer.from(`\n[${bytesCut} bytes of output were cut here]\n`);
    await this.#writeAll(marker, cutAt);
    const bytesMoved = await this.#moveTail(tailAt, cutAt + marker.length);
    this.#bytesCut = bytesCut;
    this.#markerBytes = marker.length;
    this.#size = cutAt + marker.length + bytesMoved;
    this.#isEndStale = true;
    await this.#cutEnd();
  }

  /** Piece by piece from its front, towards the head: no piece is written over one that is still to be read. */
  async #moveTail(from: number, to: number): Promise<number> {
    this.#piece ??= Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.#tailBytes));
    let done = 0;
    while (from + done < this.#size) {
      const piece = this.#piece.subarray(0, this.#size - from - done);
      const bytesRead = await this.#bytes.read(piece, from + done);
      if (bytesRead === 0) break;
      await this.#writeAll(piece.subarray(0, bytesRead), to + done);
      done += bytesRead;
    }
    return done;
  }

  async #writeAll(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length;)
      done += await this.#bytes.write(bytes.subarray(done), position + done);
  }

  /** The head's limit, or less where a character would be split. */
  async #endOfHead(): Promise<number> {
    const from = Math.max(0, this.#headBytes - LONGEST_CHARACTER + 1);
    const around = await this.#read(from, this.#headBytes - from + 1);
    for (let at = this.#headBytes; at >= from; at--) if (!isInside(around[at - from])) return at;
    return this.#headBytes;
  }

  /** The tail's limit, or less where a character would be split. */
  async #startOfTail(): Promise<number> {
    const from = this.#size - this.#tailBytes;
    const around = await this.#read(from, LONGEST_CHARACTER);
    for (let at = 0; at < LONGEST_CHARACTER; at++) if (!isInside(around[at])) return from + at;
    return from;
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, await this.#bytes.read(bytes, position));
  }
}

/** Resolves when the promise has ended, in whatever way. */
async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise]);
}

/** Whether a byte continues a character that began before it. */
function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

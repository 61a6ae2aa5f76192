/**
 * A job's output within a limit: its first half and its last half, and between them a line that says how much was
 * cut. Grows until the tail has been filled twice and is then compacted in place, so a crash loses nothing recent.
 */
import { StateError } from "../errors.js";
import type { JobOutput } from "./job-log.js";

/** What the output is kept in; one writer, and every position counts from the start. */
export interface OutputBytes {
  read(position: number, length: number): Promise<Buffer>;
  /** How many of the bytes were written, at least one. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** More than the longest line that says how much was cut. */
const MARKER_ROOM = 64;
const LONGEST_CHARACTER = 4;

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
  #last: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(bytes: OutputBytes, maxBytes: number, onClosed: () => void = () => {}) {
    this.#bytes = bytes;
    this.#onClosed = onClosed;
    this.#maxBytes = maxBytes;
    this.#headBytes = Math.floor(maxBytes / 2);
    this.#tailBytes = maxBytes - this.#headBytes;
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#closing !== undefined) {
      throw new StateError("The output of this job is closed.", { code: "STATE_CLOSED" });
    }
    // A copy: the caller may use its buffer again before its turn has come.
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk);
    await this.whenIdle(() => this.#append(bytes));
  }

  /** Cuts the output to its limit. Closed it is in any case, even where the disk refuses that. */
  close(): Promise<void> {
    this.#closing ??= this.whenIdle(async () => {
      try {
        // A first cut that is shorter than the line about it would make the output longer.
        const spareBytes = this.#cutAt === undefined ? MARKER_ROOM : this.#markerBytes;
        if (this.#size > this.#maxBytes + spareBytes) await this.#compact();
      } finally {
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

  async #append(bytes: Uint8Array): Promise<void> {
    // The room of the line is left free as well, so that compacting never writes over the tail it copies.
    const fullSize = this.#headBytes + MARKER_ROOM + 2 * this.#tailBytes;
    for (let done = 0; done < bytes.length;) {
      if (this.#size >= fullSize) await this.#compact();
      const piece = bytes.subarray(done, done + fullSize - this.#size);
      const written = await this.#bytes.write(piece, this.#size);
      this.#size += written;
      done += written;
    }
  }

  /** Changes what is remembered only at its end: one that failed is repeated as a whole. */
  async #compact(): Promise<void> {
    const cutAt = this.#cutAt ?? (await this.#endOfHead());
    const tailAt = await this.#startOfTail();
    const bytesCut = this.#bytesCut + tailAt - cutAt - this.#markerBytes;
    const marker = Buffer.from(`\n[${bytesCut} bytes of output were cut here]\n`);
    const tail = await this.#bytes.read(tailAt, this.#size - tailAt);
    const kept = Buffer.concat([marker, tail]);
    for (let done = 0; done < kept.length;) {
      done += await this.#bytes.write(kept.subarray(done), cutAt + done);
    }
    await this.#bytes.truncate(cutAt + kept.length);
    this.#cutAt = cutAt;
    this.#bytesCut = bytesCut;
    this.#markerBytes = marker.length;
    this.#size = cutAt + kept.length;
  }

  /** The head's limit, or less where a character would be split. */
  async #endOfHead(): Promise<number> {
    const from = Math.max(0, this.#headBytes - LONGEST_CHARACTER + 1);
    const around = await this.#bytes.read(from, this.#headBytes - from + 1);
    for (let at = this.#headBytes; at >= from; at--) if (!isInside(around[at - from])) return at;
    return this.#headBytes;
  }

  /** The tail's limit, or less where a character would be split. */
  async #startOfTail(): Promise<number> {
    const from = this.#size - this.#tailBytes;
    const around = await this.#bytes.read(from, LONGEST_CHARACTER);
    for (let at = 0; at < LONGEST_CHARACTER; at++) if (!isInside(around[at])) return from + at;
    return from;
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

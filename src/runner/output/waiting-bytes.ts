/**
 * Bytes that wait to be written, in two buffers that take turns: one is filled while the other is written. They are
 * used again and again, because buffers that are left to be collected are so only when 32 MB of them wait for it.
 */

const NO_BYTES = Buffer.alloc(0);
const SMALLEST_BUFFER = 256;
/** A larger one, which only a burst needs, is not kept. */
const LARGEST_KEPT = 262_144;

export class WaitingBytes {
  #filled = NO_BYTES;
  #size = 0;
  #spare = NO_BYTES;

  get size(): number {
    return this.#size;
  }

  /** Copies them: the caller may use its buffer again. */
  add(chunk: string | Uint8Array, encoding: "utf8" | "latin1" = "utf8"): void {
    const length = typeof chunk === "string" ? Buffer.byteLength(chunk, encoding) : chunk.length;
    this.#makeRoom(length);
    if (typeof chunk === "string") this.#filled.write(chunk, this.#size, encoding);
    else this.#filled.set(chunk, this.#size);
    this.#size += length;
  }

  /** All that waits. It is the caller's until it takes the next. */
  take(): Buffer {
    const filled = this.#filled;
    const taken = filled.subarray(0, this.#size);
    this.#filled = this.#spare;
    this.#spare = filled.length <= LARGEST_KEPT ? filled : NO_BYTES;
    this.#size = 0;
    return taken;
  }

  #makeRoom(length: number): void {
    const wanted = this.#size + length;
    if (wanted <= this.#filled.length) return;
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.#filled.length, SMALLEST_BUFFER));
    this.#filled.copy(larger, 0, 0, this.#size);
    this.#filled = larger;
  }
}

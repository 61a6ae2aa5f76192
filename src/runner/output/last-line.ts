/** The last line of a stream that is not blank, in constant memory. */
import { stripVTControlCharacters } from "node:util";

const KEPT_BYTES = 8_192;
const LONGEST_LINE = 500;

export class LastLine {
  readonly #tail = Buffer.alloc(KEPT_BYTES);
  #size = 0;

  add(bytes: Uint8Array): void {
    const end = bytes.subarray(-KEPT_BYTES);
    const tooMany = Math.max(0, this.#size + end.length - KEPT_BYTES);
    this.#tail.copyWithin(0, tooMany, this.#size);
    this.#tail.set(end, this.#size - tooMany);
    this.#size += end.length - tooMany;
  }

  get text(): string | undefined {
    const lines = stripVTControlCharacters(this.#tail.toString("utf8", 0, this.#size)).split(/[\r\n]+/);
    const line = lines.findLast((text) => text.trim() !== "")?.trim();
    return line !== undefined && line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
  }
}
